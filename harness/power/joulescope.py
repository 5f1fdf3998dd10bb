"""Joulescope JS220 and JS110, through their maker's driver, the package pyjoulescope_driver.

    joulescope:SERIAL,rate=10000,trigger=0

Current, voltage and a general-purpose input come as separate streams of one sample clock, each piece with the
number of its first sample: so what was lost is known, and they can be put together again. Without a serial
number the only instrument that is connected is taken.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from harness.errors import MeterError, SetupError
from harness.power.base import MEASURED, Closing, Counts, Floats, Trace
from harness.power.registry import Options

PATIENCE = 2.0
"""Seconds for the first piece of every stream."""
LAST_PIECES = 0.1
CURRENT, VOLTAGE = "s/i", "s/v"


class Stream:
    """The pieces of one signal."""

    def __init__(self) -> None:
        self.pieces: list[tuple[int, Floats]] = []
        self.rate = 0.0

    def add(self, value: Mapping[str, Any]) -> None:
        """A message of the driver. Numbers count the instrument's clock, `decimate_factor` to a value."""
        factor = int(value["decimate_factor"])
        self.rate = float(value["sample_rate"]) / factor
        data = np.asarray(value["data"])
        if data.dtype == np.uint8:
            data = np.unpackbits(data, bitorder="little")
        self.pieces.append((int(value["sample_id"]) // factor, data.astype(np.float64)))

    def numbered(self) -> tuple[Counts, Floats]:
        """Bits come eight to a byte, and the last byte of a piece may be filled up: the next one knows."""
        ends = [first for first, _ in self.pieces[1:]] + [self.pieces[-1][0] + len(self.pieces[-1][1])]
        kept = [(first, data[: end - first]) for (first, data), end in zip(self.pieces, ends, strict=True)]
        numbers = np.concatenate([first + np.arange(len(data)) for first, data in kept])
        return numbers, np.concatenate([data for _, data in kept])


class JoulescopeMeter(Closing):
    kind = MEASURED

    def __init__(self, driver: Any, path: str, rate: float, pin: int) -> None:
        self.name = f"Joulescope {path.removeprefix('u/')}"
        self.rate = rate
        self._driver = driver
        self._path = path
        self._signals = (CURRENT, VOLTAGE, f"s/gpi/{pin}")
        self._lock = threading.Lock()
        self._streams: dict[str, Stream] | None = None

    def __enter__(self) -> JoulescopeMeter:
        return self

    def start(self) -> None:
        if self._driver is None or self._streams is not None:
            raise MeterError(f"The {self.name} is closed, or records already.", "Open it, or stop it first.")
        self._streams = {f"{self._path}/{signal}/!data": Stream() for signal in self._signals}
        for topic in self._streams:
            self._driver.subscribe(topic, ["pub"], self._take)
        for signal in self._signals:
            self._driver.publish(f"{self._path}/{signal}/ctrl", 1)
        deadline = time.monotonic() + PATIENCE
        while not all(stream.pieces for stream in self._streams.values()):
            if time.monotonic() > deadline:
                self._halt()
                raise MeterError(f"The {self.name} sends no samples.", "Unplug it and plug it in again.")
            time.sleep(0.005)

    def stop(self) -> Trace:
        if self._streams is None:
            raise MeterError(f"The {self.name} does not record.", "Call start before stop.")
        time.sleep(LAST_PIECES)  # what has happened by now is still on its way
        return self._trace(list(self._halt().values()))

    def close(self) -> None:
        driver, self._driver = self._driver, None
        if driver is None:
            return
        if self._streams is not None:
            self._driver = driver
            self._halt()
            self._driver = None
        driver.close(self._path)
        driver.finalize()

    def _halt(self) -> dict[str, Stream]:
        streams, self._streams = self._streams or {}, None
        for signal in self._signals:
            self._driver.publish(f"{self._path}/{signal}/ctrl", 0)
        for topic in streams:
            self._driver.unsubscribe(topic, self._take)
        return streams

    def _take(self, topic: str, value: Mapping[str, Any]) -> None:
        """Called by the driver, in its own thread."""
        with self._lock:
            if self._streams is not None and topic in self._streams:
                self._streams[topic].add(value)

    def _trace(self, streams: list[Stream]) -> Trace:
        rate = streams[0].rate
        if any(stream.rate != rate for stream in streams):
            raise MeterError(f"The {self.name} samples its signals at different rates.", "Restart it.")
        (numbers, current), *others = (stream.numbered() for stream in streams)
        shared = numbers
        for found, _ in others:
            shared = np.intersect1d(shared, found)
        if not len(shared):
            raise MeterError(f"The {self.name} gave no samples of all signals at once.", "Restart it.")
        aligned = [values[np.searchsorted(found, shared)] for found, values in ((numbers, current), *others)]
        # The instrument marks samples that it could not measure, while it switches its range, as NaN.
        good = np.isfinite(aligned[0]) & np.isfinite(aligned[1])
        shared, (amperes, volts, pin) = shared[good], (values[good] for values in aligned)
        return Trace(
            time=(shared - shared[0]) / rate,
            current=amperes,
            voltage=volts,
            end=float((shared[-1] - shared[0] + 1) / rate),
            rate=rate,
            kind=MEASURED,
            trigger=pin,
            lost=np.diff(shared, prepend=shared[0] - 1) - 1,
            settle=1 / rate,
        )


def open_joulescope(options: Options) -> JoulescopeMeter:
    rate = options.number("rate", "Hz", 10_000.0)
    pin = options.one_of("trigger", {"0": 0, "1": 1, "2": 2, "3": 3}, "0")
    options.finish()
    try:
        from pyjoulescope_driver import Driver
    except ImportError as error:
        raise SetupError(
            "The package pyjoulescope_driver is not installed.",
            "Install it: pip install 'kilobench[joulescope]'",
        ) from error
    driver = Driver()
    try:
        path = _choose(driver.device_paths(), options.place)
        driver.open(path)
        driver.publish(f"{path}/h/fs", int(rate))
        if "js110" in path:
            driver.publish(f"{path}/s/i/range/select", "auto")
        else:
            driver.publish(f"{path}/s/i/range/mode", "auto")
    except BaseException:
        driver.finalize()
        raise
    return JoulescopeMeter(driver, path, rate, pin)


def _choose(paths: list[str], serial_number: str) -> str:
    fitting = [path for path in paths if path.endswith(serial_number)]
    if len(fitting) == 1:
        return fitting[0]
    if not paths:
        raise MeterError("No Joulescope is connected.", "Is it plugged in, and may you use it (udev rules)?")
    known = ", ".join(path.removeprefix("u/") for path in paths)
    which = f"{len(fitting)} of them are named {serial_number!r}" if serial_number else "one has to be chosen"
    raise MeterError(
        f"These Joulescopes are connected: {known}; {which}.", "Write joulescope:SERIAL with one of them."
    )
