"""INA219 and INA226, read by an Arduino that streams every conversion over a serial line.

`pio run -e meter-uno -t upload` in firmware/ makes the Arduino a meter: SDA and SCL to the chip, D8 to the
trigger pin of the board that is measured, grounds together. The chip's shunt is in the board's supply.

    ina219:/dev/ttyUSB0,shunt=0.1,range=40mV,conversion=532us,zero=0.2mA
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from serial import SerialBase, SerialException

from harness.errors import MeterError
from harness.link.frames import Decoder, Frame, encode
from harness.power import ina_wire as wire
from harness.power.base import MEASURED, Closing, Trace
from harness.power.ina_wire import Block, Kind, Status
from harness.power.registry import Options
from harness.targets.serialport import explain, open_port

ANSWER = 0.5
"""Seconds for an answer, before it is asked for again."""
ATTEMPTS = 6
"""An Arduino that was reset by the opening of its port listens after about two seconds."""
TICK = 0.02
LATE = 1.5
"""Of the usual time between two conversions: later than that, one was missed."""


@dataclass(frozen=True)
class Chip:
    """What differs between the two, from their data sheets."""

    shunt_volts: float
    """Of the lowest bit of the shunt register."""
    bus_volts: float
    bus_shift: int
    full_scale: int
    ready_register: int
    ready_mask: int
    clear_register: int
    conversions: dict[str, int]
    """Times that can be chosen, with their code."""
    usual: str


CHIPS = {
    # SBOS448: the flag CNVR stands in the bus register, and reading the power register takes it back.
    "ina219": Chip(
        shunt_volts=10e-6,
        bus_volts=4e-3,
        bus_shift=3,
        full_scale=32_000,
        ready_register=2,
        ready_mask=0x0002,
        clear_register=3,
        conversions={"84us": 0, "148us": 1, "276us": 2, "532us": 3, "1060us": 9, "2130us": 10, "4260us": 11},
        usual="532us",
    ),
    # SBOS547: the flag CVRF stands in the mask register, and reading that takes it back.
    "ina226": Chip(
        shunt_volts=2.5e-6,
        bus_volts=1.25e-3,
        bus_shift=0,
        full_scale=32_767,
        ready_register=6,
        ready_mask=0x0008,
        clear_register=wire.NOTHING,
        conversions={"140us": 0, "204us": 1, "332us": 2, "588us": 3, "1100us": 4, "2116us": 5, "4156us": 6},
        usual="588us",
    ),
}
RANGES = {"40mV": 0, "80mV": 1, "160mV": 2, "320mV": 3}
"""Of the INA219's shunt, which clips beyond."""


@dataclass(frozen=True)
class Setup:
    """A chip as it is wired and set."""

    kind: str
    place: str
    address: int
    shunt_ohm: float
    zero: float
    """Amperes it shows when none flow."""
    configuration: int
    limit: int
    """The shunt register's value at the end of the range."""
    seconds: float
    """Between two samples: a conversion of the shunt, then one of the bus."""

    @property
    def chip(self) -> Chip:
        return CHIPS[self.kind]

    @classmethod
    def of(cls, options: Options) -> Setup:
        chip = CHIPS[options.kind]
        if not options.place:
            raise options.wrong("its port is missing", f"Write {options.kind}:/dev/ttyUSB0, for example.")
        time = options.text("conversion", chip.usual)
        code = options.one_of("conversion", chip.conversions, chip.usual)
        if options.kind == "ina219":
            span = options.one_of("range", RANGES, "320mV")
            configuration = span << 11 | code << 7 | code << 3 | 7
            limit = 4_000 << span
        else:
            configuration = 0x4000 | code << 6 | code << 3 | 7
            limit = chip.full_scale
        shunt = options.number("shunt", "ohm", 0.1)
        if shunt <= 0:
            raise options.wrong("its shunt has no resistance", "Give it in ohms: shunt=0.1.")
        setup = cls(
            kind=options.kind,
            place=options.place,
            address=int(options.text("address", "0x40"), 0),
            shunt_ohm=shunt,
            zero=options.number("zero", "A", 0.0),
            configuration=configuration,
            limit=min(limit, chip.full_scale),
            seconds=2e-6 * int(time.removesuffix("us")),
        )
        options.finish()
        return setup


class InaMeter(Closing):
    """Records in a thread of its own, for as long as the host measures."""

    kind = MEASURED

    def __init__(self, setup: Setup, port: SerialBase) -> None:
        self.name = f"{setup.kind} at {setup.place}"
        self.rate = 1 / setup.seconds
        self._setup = setup
        self._port = port
        port.timeout = TICK
        self._decoder = Decoder()
        self._seq = 0
        self._blocks: list[Block] = []
        self._reader: threading.Thread | None = None
        self._ending = threading.Event()
        self._failure: Exception | None = None
        self._taken = 0
        self._ticks_a_second = self._greet()

    def __enter__(self) -> InaMeter:
        return self

    def start(self) -> None:
        if self._reader is not None:
            raise MeterError(f"The {self.name} records already.", "Call stop before start.")
        if not self._port.is_open:
            raise MeterError(f"The {self.name} is closed.", "Open it again.")
        setup, chip = self._setup, self._setup.chip
        payload = wire.START.pack(
            *(setup.address, setup.configuration, chip.ready_register, chip.ready_mask, chip.clear_register)
        )
        self._blocks = []
        (status,) = wire.START_REPLY.unpack(self._ask(Kind.START, payload, wire.START_REPLY.size))
        if status != Status.OK:
            what = (
                f"no chip answers at address {setup.address:#04x}"
                if status == Status.NO_CHIP
                else f"what answers at address {setup.address:#04x} does not keep its configuration"
            )
            raise MeterError(
                f"The {self.name} cannot measure: {what}.", "Check SDA, SCL, supply and address."
            )
        self._ending.clear()
        self._failure = None
        self._reader = threading.Thread(target=self._collect, name="kilobench-meter", daemon=True)
        self._reader.start()

    def stop(self) -> Trace:
        if self._reader is None:
            raise MeterError(f"The {self.name} does not record.", "Call start before stop.")
        self._halt()
        if self._failure is not None:
            raise MeterError(
                f"The {self.name} failed: {self._failure}.", "Check its cable."
            ) from self._failure
        answer = self._ask(Kind.STOP, b"", wire.STOP_REPLY.size)
        (self._taken,) = wire.STOP_REPLY.unpack(answer)
        return trace_of(self._blocks, self._taken, self._ticks_a_second, self._setup)

    def close(self) -> None:
        if self._reader is not None:
            self._halt()
            with contextlib.suppress(MeterError):  # one that was unplugged
                self._write(encode(Kind.STOP, 0))  # so that it does not stream to nobody
        self._port.close()

    def _halt(self) -> None:
        self._ending.set()
        if self._reader is not None:
            self._reader.join()
        self._reader = None

    def _collect(self) -> None:
        try:
            while not self._ending.is_set():
                self._take(self._read())
        except MeterError as error:
            self._failure = error

    def _take(self, frames: list[Frame]) -> None:
        self._blocks += [Block.parse(frame.payload) for frame in frames if frame.kind == Kind.SAMPLES]

    def _greet(self) -> int:
        # What an earlier host has started would go on.
        self._write(encode(Kind.STOP, 0))
        version, ticks = wire.HELLO_REPLY.unpack(self._ask(Kind.HELLO, b"", wire.HELLO_REPLY.size))
        if version != wire.VERSION:
            raise MeterError(
                f"The {self.name} speaks version {version} of its protocol, and this is {wire.VERSION}.",
                "Upload its firmware again: pio run -e meter-uno -t upload in firmware/.",
            )
        return int(ticks)

    def _ask(self, kind: Kind, payload: bytes, size: int) -> bytes:
        """The answer; samples that come before it are kept."""
        self._seq = (self._seq + 1) & 0xFF
        for _ in range(ATTEMPTS):
            self._write(encode(kind, self._seq, payload))
            for _ in range(round(ANSWER / TICK)):
                frames = self._read()
                self._take(frames)
                for frame in frames:
                    if (frame.kind, frame.seq, len(frame.payload)) == (kind | wire.REPLY, self._seq, size):
                        return frame.payload
        raise MeterError(
            f"The {self.name} does not answer a {kind.name}.",
            "Is its firmware uploaded (pio run -e meter-uno -t upload in firmware/), and this its port?",
        )

    def _read(self) -> list[Frame]:
        # One byte with patience, then what has come with it: waiting for many would hold up an answer.
        first = self._guard(lambda: self._port.read(1))
        waiting = getattr(self._port, "in_waiting", 0) if first else 0
        return self._decoder.feed(first + (self._guard(lambda: self._port.read(waiting)) if waiting else b""))

    def _write(self, data: bytes) -> None:
        self._guard(lambda: self._port.write(data))

    def _guard(self, action: Callable[[], object]) -> bytes:
        try:
            result = action()
        except (SerialException, OSError, TypeError) as error:
            # TypeError: pyserial's, when the port is closed under a read.
            raise MeterError(str(explain(self._setup.place, error)), "Check the meter's cable.") from error
        return result if isinstance(result, bytes) else b""


def open_ina(options: Options) -> InaMeter:
    setup = Setup.of(options)
    port = open_port(setup.place, wire.BAUD)
    try:
        return InaMeter(setup, port)
    except BaseException:
        port.close()
        raise


def trace_of(blocks: list[Block], taken: int, ticks_a_second: int, setup: Setup) -> Trace:
    """Amperes and volts from registers; frames that were lost are counted by the numbers around them."""
    blocks = [block for block in blocks if block.samples]
    if not blocks:
        raise MeterError(
            f"The {setup.kind} at {setup.place} took {taken} samples, and none arrived.",
            "Check the chip's supply, and the cable.",
        )
    chip = setup.chip
    table = np.array([sample for block in blocks for sample in block.samples], np.int64)
    ticks, high, shunt, bus = table.T
    numbers = np.concatenate([block.first + np.arange(len(block.samples)) for block in blocks])
    if np.any(np.abs(shunt) >= setup.limit):
        amperes = setup.limit * chip.shunt_volts / setup.shunt_ohm
        raise MeterError(
            f"The current went beyond the {amperes:.3g} A that the {setup.kind} can show with this shunt.",
            "Choose a larger range, or a smaller shunt.",
        )
    begins = np.concatenate(
        [block.ticks + np.cumsum([0, *(sample[0] for sample in block.samples[:-1])]) for block in blocks]
    )
    lost = np.diff(np.concatenate(([-1], numbers))) - 1
    usual = float(np.median(ticks))
    missed = np.where(ticks > LATE * usual, np.round(ticks / usual) - 1, 0).astype(np.int64)
    begins = _unwrapped(begins)
    return Trace(
        time=begins / ticks_a_second,
        current=shunt * chip.shunt_volts / setup.shunt_ohm - setup.zero,
        voltage=(bus >> chip.bus_shift) * chip.bus_volts,
        end=float((begins[-1] + ticks[-1]) / ticks_a_second),
        rate=ticks_a_second / usual,
        kind=MEASURED,
        trigger=high / ticks,
        lost=lost + missed,
        # A conversion of the shunt is over, and then one of the bus, before the sample is read.
        settle=2 * usual / ticks_a_second,
    )


def _unwrapped(
    ticks: np.ndarray[tuple[int], np.dtype[np.int64]],
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The counter of 32 bits begins anew every 36 minutes."""
    return ticks + (np.cumsum(np.diff(ticks, prepend=ticks[0]) < 0) << 32)
