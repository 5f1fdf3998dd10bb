"""Currents that are known exactly, and what a meter would make of them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from harness.power.base import Floats, Trace
from harness.power.windows import Span

IDLE, ACTIVE, VOLTS = 2.3e-3, 9.2e-3, 5.0


@dataclass(frozen=True)
class Waveform:
    """A board that draws ACTIVE in its windows and IDLE otherwise."""

    spans: tuple[Span, ...]
    seconds: float
    idle: float = IDLE
    active: float = ACTIVE

    @property
    def gross(self) -> float:
        """Joules of a window; all are alike."""
        return VOLTS * self.active * self.spans[0].seconds

    @property
    def net(self) -> float:
        return VOLTS * (self.active - self.idle) * self.spans[0].seconds

    def high(self, moments: Floats) -> Floats:
        """Seconds with the pin high until each moment."""
        total = np.zeros_like(moments)
        for span in self.spans:
            total += np.clip(moments, span.start, span.end) - span.start
        return total


@dataclass
class Instrument:
    """Turns a waveform into a trace, with an instrument's faults."""

    rate: float = 1000.0
    noise: float = 0.0
    """Amperes, standard deviation."""
    offset: float = 0.0
    drift: float = 0.0
    """Amperes that the offset grows from begin to end."""
    lag: float = 0.0
    """Seconds by which the current comes late."""
    ppm: float = 0.0
    """By which its clock is fast."""
    trigger: bool = True
    phase: float = 0.37
    """Of its samples against the waveform, in samples."""
    lost: tuple[int, ...] = ()
    """Samples that never arrive."""
    settle: float = 0.0
    seed: int = 0
    counts: dict[str, int] = field(default_factory=dict)

    def record(self, wave: Waveform) -> Trace:
        edges = np.arange(self.phase / self.rate, wave.seconds, 1 / self.rate)
        durations = np.diff(edges)
        on = np.diff(wave.high(edges - self.lag)) / durations
        current = wave.idle + (wave.active - wave.idle) * on
        progress = np.linspace(0, 1, len(current))
        random = np.random.default_rng(self.seed)
        current += self.offset + self.drift * progress + self.noise * random.normal(size=len(current))
        share = np.clip(np.diff(wave.high(edges)) / durations, 0, 1)
        share[share < 1e-9] = 0.0
        keep = np.setdiff1d(np.arange(len(current)), self.lost)
        missing = np.diff(np.concatenate(([-1], keep))) - 1
        clock = 1 + self.ppm * 1e-6
        return Trace(
            time=edges[:-1][keep] * clock,
            current=current[keep],
            voltage=np.full(len(keep), VOLTS),
            end=float(edges[keep[-1] + 1] * clock),
            rate=self.rate,
            kind="measured",
            trigger=share[keep] if self.trigger else None,
            lost=missing,
            settle=self.settle,
        )


def windows(count: int = 6, length: float = 0.5, gap: float = 0.15, idle: float = 0.5) -> Waveform:
    spans = []
    at = idle
    for _ in range(count):
        spans.append(Span(at, at + length))
        at += length + gap
    return Waveform(tuple(spans), at - gap + idle)
