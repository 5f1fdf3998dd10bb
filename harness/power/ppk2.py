"""Nordic's Power Profiler Kit II, through the package ppk2-api.

    ppk2:/dev/ttyACM0,volts=3.0,mode=source,trigger=D0

It measures current, 100,000 times a second; the voltage is stated: as ammeter what the board's own supply
gives, as source what the PPK2 itself supplies. The board's trigger pin goes to one of its logic inputs D0 to
D7, whose VCC and GND must be connected.
"""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np

from harness.errors import MeterError, PortError, SetupError
from harness.power.base import MEASURED, Closing, Trace
from harness.power.registry import Options

RATE = 100_000.0
BYTES = 4
PAUSE = 0.005
LAST_BYTES = 0.1
"""Seconds of silence after which nothing more will come."""
COUNTER_SHIFT, COUNTER_BITS = 18, 6
LOGIC_SHIFT = 24
"""A sample has 32 bits: 14 of the converter, 3 of the range, one unused, 6 of a counter, 8 logic inputs."""
MODES = {"ampere": 0, "source": 1}
INPUTS = {f"D{number}": number for number in range(8)}
LOWEST, HIGHEST = 0.8, 5.0
SETTLE = 5e-5
"""Seconds: the range switches, and the library smooths three samples after that."""


class Ppk2Meter(Closing):
    kind = MEASURED
    rate = RATE

    def __init__(self, device: Any, place: str, volts: float, pin: int) -> None:
        self.name = f"PPK2 at {place}"
        self._device = device
        self._volts = volts
        self._pin = pin
        self._data = bytearray()
        self._reader: threading.Thread | None = None
        self._ending = threading.Event()
        self._failure: Exception | None = None

    def __enter__(self) -> Ppk2Meter:
        return self

    def start(self) -> None:
        if self._device is None or self._reader is not None:
            raise MeterError(f"The {self.name} is closed, or records already.", "Open it, or stop it first.")
        self._data.clear()
        self._failure = None
        self._ending.clear()
        # The library keeps the rest of a sample, and the range of the one before, from one call to the next.
        self._device.remainder = {"sequence": b"", "len": 0}
        self._device.prev_range = self._device.rolling_avg = self._device.rolling_avg4 = None
        self._device.start_measuring()
        self._reader = threading.Thread(target=self._collect, name="kilobench-meter", daemon=True)
        self._reader.start()
        deadline = time.monotonic() + 1
        while not self._data and time.monotonic() < deadline:
            time.sleep(PAUSE)

    def stop(self) -> Trace:
        if self._reader is None:
            raise MeterError(f"The {self.name} does not record.", "Call start before stop.")
        self._halt()
        if self._failure is not None:
            raise MeterError(f"The {self.name} failed: {self._failure}.", "Check its cable.")
        usable = len(self._data) - len(self._data) % BYTES
        if not usable:
            raise MeterError(f"The {self.name} sent no samples.", "Switch it off and on again.")
        return self._trace(bytes(self._data[:usable]))

    def close(self) -> None:
        if self._reader is not None:
            self._halt()
        device, self._device = self._device, None
        if device is not None:
            device.ser.close()

    def _halt(self) -> None:
        self._device.stop_measuring()
        before = -1
        while len(self._data) > before:  # what was sent before the stop is still on its way
            before = len(self._data)
            time.sleep(LAST_BYTES)
        self._ending.set()
        if self._reader is not None:
            self._reader.join()
        self._reader = None

    def _collect(self) -> None:
        try:
            while not self._ending.is_set():
                self._data += self._device.get_data()
                time.sleep(PAUSE)
            self._data += self._device.get_data()
        except Exception as error:  # whatever pyserial and the library make of a cable that was pulled
            self._failure = error

    def _trace(self, data: bytes) -> Trace:
        microamperes, _ = self._device.get_samples(data)
        words = np.frombuffer(data, "<u4")
        if len(microamperes) != len(words):
            raise MeterError(f"The {self.name} sent values beyond its range.", "Calibrate it, or restart it.")
        counter = (words >> COUNTER_SHIFT & (1 << COUNTER_BITS) - 1).astype(np.int64)
        lost = np.concatenate(([0], (np.diff(counter) - 1) % (1 << COUNTER_BITS)))
        number = np.arange(len(words)) + np.cumsum(lost)
        return Trace(
            time=number / RATE,
            current=1e-6 * np.array(microamperes, np.float64),
            voltage=np.full(len(words), self._volts),
            end=float((number[-1] + 1) / RATE),
            rate=RATE,
            kind=MEASURED,
            trigger=(words >> (LOGIC_SHIFT + self._pin) & 1).astype(np.float64),
            lost=lost,
            settle=SETTLE,
            volts_stated=True,
        )


def open_ppk2(options: Options) -> Ppk2Meter:
    if not options.place:
        raise options.wrong("its port is missing", "Write ppk2:/dev/ttyACM0,volts=3.0, for example.")
    volts = options.number("volts", "V", 0.0)
    source = options.one_of("mode", MODES, "ampere")
    pin = options.one_of("trigger", INPUTS, "D0")
    options.finish()
    if not LOWEST <= volts <= HIGHEST:
        raise options.wrong(
            "it does not measure voltage", f"State it, from {LOWEST} to {HIGHEST} V: volts=3.0."
        )
    return Ppk2Meter(_connect(options.place, volts, bool(source)), options.place, volts, pin)


def _connect(place: str, volts: float, source: bool) -> Any:
    try:
        from ppk2_api.ppk2_api import PPK2_API
    except ImportError as error:
        raise SetupError(
            "The package ppk2-api is not installed.", "Install it: pip install 'kilobench[ppk2]'"
        ) from error
    try:
        device = PPK2_API(place, timeout=1, exclusive=True)
    except (OSError, ValueError) as error:
        raise PortError(f"The PPK2 at {place} cannot be opened: {error}.", "Check port and cable.") from error
    # One that was left measuring would answer with samples.
    device.stop_measuring()
    time.sleep(LAST_BYTES)
    device.get_data()
    if not device.get_modifiers():
        device.ser.close()
        raise MeterError(f"What is at {place} does not tell a PPK2's calibration.", "Is it the right port?")
    (device.use_source_meter if source else device.use_ampere_meter)()
    device.set_source_voltage(round(1000 * volts))
    if source:
        device.toggle_DUT_power("ON")
    return device
