"""A Power Profiler Kit II in memory: its commands, its calibration, its samples of four bytes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from harness.power.windows import Span
from tests.harness.power.waveforms import ACTIVE, IDLE, Waveform

RATE = 100_000
START, STOP, META, VOLTAGE, MODE, POWER = 0x06, 0x07, 0x19, 0x0D, 0x11, 0x0C
LENGTHS = {START: 1, STOP: 1, META: 1, VOLTAGE: 3, MODE: 2, POWER: 2}
RANGE = 2
OHMS, OFFSET, GAIN, STRAY, BIAS, USER = 10.1573, 112.0, 0.9731, 2e-6, -4e-6, 1.01
"""Of the range that is used. No two are alike or neutral, so that none can be left out unnoticed."""
VOLTS_A_BIT = 1.8 / 163_840


def calibration() -> bytes:
    lines = ["Calibrated: 0"]
    own = {"R": OHMS, "O": OFFSET, "GI": GAIN, "GS": 0.0, "S": STRAY, "I": BIAS, "UG": USER}
    for key, value in own.items():
        lines += [f"{key}{number}: {value if number == RANGE else 1.0}" for number in range(5)]
    return ("\n".join([*lines, "HW: 9173", "mode: 1", "IA: 56", "END"]) + "\n").encode()


@dataclass
class EmulatedPpk2:
    windows: Callable[[], list[Span]] = list
    clock: Callable[[], float] = time.monotonic
    noise: float = 5e-6
    lose: range = field(default_factory=lambda: range(0))
    """Numbers of samples that never leave it."""
    answers: bool = True
    commands: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._rest = b""
        self._began: float | None = None
        self._sent = 0
        self._volts = 0.0
        self._random = np.random.default_rng(3)

    def see(self, windows: list[Span]) -> None:
        self.windows = lambda: windows

    def receive(self, data: bytes) -> bytes:
        self._rest += data
        answer = b""
        while self._rest and len(self._rest) >= LENGTHS[self._rest[0]]:
            length = LENGTHS[self._rest[0]]
            command, self._rest = self._rest[:length], self._rest[length:]
            self.commands.append(command)
            answer += self._obey(command)
        return answer

    def _obey(self, command: bytes) -> bytes:
        if command[0] == META:
            return calibration() if self.answers else b"?"
        if command[0] == VOLTAGE:
            self._volts = int.from_bytes(command[1:], "big") / 1000
        elif command[0] == START:
            self._began, self._sent = self.clock(), 0
        elif command[0] == STOP:
            rest, self._began = self.emit(), None
            return rest
        return b""

    def emit(self) -> bytes:
        if self._began is None:
            return b""
        count = int((self.clock() - self._began) * RATE) - self._sent
        if count <= 0:
            return b""
        numbers = np.arange(self._sent, self._sent + count)
        self._sent += count
        moments = self._began + numbers / RATE
        wave = Waveform(tuple(self.windows()), 0.0)
        high = np.diff(wave.high(np.append(moments, moments[-1] + 1 / RATE))) * RATE > 0.5
        current = np.where(high, ACTIVE, IDLE) + self.noise * self._random.normal(size=count)
        plain = (current / USER - (STRAY * self._volts + BIAS)) / GAIN
        converted = np.round((plain * OHMS / VOLTS_A_BIT + OFFSET) / 4).astype(np.uint32)
        counter = (numbers % 64).astype(np.uint32)
        # D0 is the trigger; D3 is high always, and not to be mistaken for it.
        logic = high.astype(np.uint32) | 1 << 3
        words = converted | RANGE << 14 | counter << 18 | logic << 24
        kept = np.isin(numbers, np.array(self.lose), invert=True)
        return words[kept].astype("<u4").tobytes()
