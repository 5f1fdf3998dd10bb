"""The meter's Arduino with an INA219 or INA226, in memory: the bytes that firmware/meter would send."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from harness.link.frames import Decoder, Frame, encode
from harness.power import ina_wire as wire
from harness.power.ina_chip import CHIPS
from harness.power.ina_wire import Block, Kind, Status
from harness.power.windows import Span
from tests.harness.power.waveforms import ACTIVE, IDLE, VOLTS, Waveform

TICKS = 2_000_000


@dataclass
class EmulatedIna:
    """Takes its current from a board's windows, and quantizes as the chip does."""

    windows: Callable[[], list[Span]] = list
    """The trigger windows so far, in seconds on `clock`."""
    clock: Callable[[], float] = time.monotonic
    live: bool = True
    """Streams while it records; otherwise all is sent at the stop, for a clock that nobody may ask before."""
    kind: str = "ina219"
    shunt_ohm: float = 0.1
    seconds: float = 1064e-6
    noise: float = 0.2e-3
    offset: float = 0.0
    drift: float = 0.0
    """Amperes a second."""
    ppm: float = 0.0
    idle: float = IDLE
    active: float = ACTIVE
    chip_present: bool = True
    version: int = wire.VERSION
    lose: Callable[[int], bool] = lambda _: False
    """Whether the frame that begins with that sample never arrives."""
    damage: Callable[[int], bool] = lambda _: False
    silent_starts: int = 0
    """Starts that are obeyed, and whose answer is lost."""
    seed: int = 1
    asked: list[Kind] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._decoder = Decoder()
        self._random = np.random.default_rng(self.seed)
        self._began: float | None = None
        self._sent = 0

    def see(self, windows: list[Span]) -> None:
        self.windows = lambda: windows

    def receive(self, data: bytes) -> bytes:
        return b"".join(self._answer(frame) for frame in self._decoder.feed(data))

    def emit(self) -> bytes:
        return self._new() if self.live and self._began is not None else b""

    def _answer(self, frame: Frame) -> bytes:
        kind = Kind(frame.kind)
        self.asked.append(kind)
        before = b""
        if kind is Kind.HELLO:
            payload = wire.HELLO_REPLY.pack(self.version, TICKS)
        elif kind is Kind.START:
            self.setup = wire.START.unpack(frame.payload)
            self._began, self._sent = self.clock(), 0
            if self.silent_starts:
                self.silent_starts -= 1
                return b""
            payload = wire.START_REPLY.pack(Status.OK if self.chip_present else Status.NO_CHIP)
        else:
            before = self._new() if self._began is not None else b""
            self._began = None
            payload = wire.STOP_REPLY.pack(self._sent)
        return before + encode(kind | wire.REPLY, frame.seq, payload)

    def _new(self) -> bytes:
        """Whole frames of what has been sampled since the last."""
        assert self._began is not None
        count = int((self.clock() - self._began) / self.seconds) - self._sent
        count -= count % wire.MOST_SAMPLES
        if count <= 0:
            return b""
        first = self._sent
        self._sent += count
        edges = self._began + self.seconds * np.arange(first, first + count + 1, dtype=np.float64)
        wave = Waveform(tuple(self.windows()), 0.0)
        share = np.clip(np.diff(wave.high(edges)) / self.seconds, 0, 1)
        current = self.idle + (self.active - self.idle) * share + self.offset
        current += self.drift * (edges[:-1] - self._began) + self.noise * self._random.normal(size=count)
        chip = CHIPS[self.kind]
        shunt = np.round(current * self.shunt_ohm / chip.shunt_volts).astype(int)
        bus = int(VOLTS / chip.bus_volts) << chip.bus_shift | chip.ready_mask * (chip.bus_shift > 0)
        ticks = np.round(np.arange(first, first + count + 1) * self.seconds * TICKS * (1 + self.ppm * 1e-6))
        lasted = np.diff(ticks).astype(int)
        high = np.round(share * lasted).astype(int)
        data = b""
        for at in range(0, count, wire.MOST_SAMPLES):
            rows = range(at, at + wire.MOST_SAMPLES)
            samples = [(int(lasted[i]), int(high[i]), int(shunt[i]), bus) for i in rows]
            frame = encode(Kind.SAMPLES, 0, Block(first + at, int(ticks[at]) & 0xFFFFFFFF, samples).pack())
            if self.lose(first + at):
                continue
            middle = len(frame) // 2
            data += frame[:middle] + b"\x00" + frame[middle:] if self.damage(first + at) else frame
        return data
