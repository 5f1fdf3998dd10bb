"""INA219 and INA226, read by an Arduino that streams every conversion over a serial line.

`pio run -e meter-uno -t upload` in firmware/ makes the Arduino a meter: SDA and SCL to the chip, D8 to the
trigger pin of the board that is measured, grounds together. The chip's shunt is in the board's supply.

    ina219:/dev/ttyUSB0,shunt=0.1,range=40mV,conversion=532us,zero=0.2mA
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable

from serial import SerialBase, SerialException

from harness.errors import MeterError
from harness.link.frames import Decoder, Frame, encode
from harness.power import ina_wire as wire
from harness.power.base import MEASURED, Closing, Trace
from harness.power.ina_chip import Setup, trace_of
from harness.power.ina_wire import Block, Kind, Status
from harness.power.registry import Options
from harness.targets.serialport import explain, open_port

ANSWER = 0.5
"""Seconds for an answer, before it is asked for again."""
ATTEMPTS = 6
"""An Arduino that was reset by the opening of its port listens after about two seconds."""
TICK = 0.02


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
                for number, frame in enumerate(frames):
                    if (frame.kind, frame.seq, len(frame.payload)) == (kind | wire.REPLY, self._seq, size):
                        if kind is Kind.START:  # asked for twice, it has begun twice
                            self._blocks.clear()
                        self._take(frames[number:])
                        return frame.payload
                    self._take([frame])
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
