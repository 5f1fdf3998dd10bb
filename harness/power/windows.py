"""From a trace to energies: where the windows are, what was used in them, and what an idle board would use.

Everything is an integral between two moments, and moments need not be sample boundaries: the integral up to a
moment is piecewise linear between them, which is exact for samples that are means.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from harness.errors import MeterError
from harness.power.base import Counts, Floats, Trace

GUARD = 0.005
"""Seconds beside a window that are not called idle: the request before it and the answer after it."""
MOST_DROPPED = 0.001
"""The share of samples that a window may lack."""


class Span(NamedTuple):
    """From one moment to another, on the meter's clock."""

    start: float
    end: float

    @property
    def seconds(self) -> float:
        return self.end - self.start


@dataclass(frozen=True)
class WindowEnergy:
    """What was used in one window."""

    span: Span
    gross: float
    """Joules, all that the supply delivered."""
    net: float
    """Joules above what the idle board would have used in that time."""
    dropped: float
    """The share of its samples that is missing."""

    @property
    def complete(self) -> bool:
        return self.dropped <= MOST_DROPPED


@dataclass(frozen=True)
class Energies:
    windows: tuple[WindowEnergy, ...]
    idle_before: float
    """Watts, at the begin of the trace."""
    idle_after: float
    """Watts, at its end."""
    noise: float
    """Watts, standard deviation of one idle sample."""
    idle_seconds: float
    """In all, beside the windows."""


class Integral:
    """Energy, and samples that should be there, from the beginning of a trace to any moment."""

    def __init__(self, trace: Trace) -> None:
        self._edges = trace.edges
        self._durations = np.diff(self._edges)
        self._power = trace.current * trace.voltage
        self._lost = np.zeros(len(trace.time), np.int64) if trace.lost is None else trace.lost

    @cached_property
    def _energy(self) -> Floats:
        return np.concatenate(([0.0], np.cumsum(self._power * self._durations)))

    @cached_property
    def _lost_until(self) -> Counts:
        return np.concatenate(([0], np.cumsum(self._lost)))

    def energy(self, span: Span) -> float:
        """Joules."""
        until = np.interp(span, self._edges, self._energy)
        return float(until[1] - until[0])

    def dropped(self, span: Span) -> float:
        """The share of samples that is missing between these moments.

        Samples are missing before the one that came after them, so the first beyond the end counts too.
        """
        first, last = np.searchsorted(self._edges[:-1], span, side="right")
        last = min(last, len(self._lost) - 1)
        missing = int(self._lost_until[last + 1] - self._lost_until[first])
        return missing / (missing + max(1, int(last - first)))


def triggered(trace: Trace) -> list[Span]:
    """The whole windows of the trigger pin; one that was open at either end of the trace is none.

    The sample in which the pin rose was high in its later part, the one in which it fell in its earlier.
    """
    if trace.trigger is None or not len(trace.time):
        return []
    share = trace.trigger
    high = np.concatenate(([False], share > 0, [False]))
    rises = np.flatnonzero(~high[:-1] & high[1:])
    falls = np.flatnonzero(high[:-1] & ~high[1:]) - 1
    edges = trace.edges
    spans = []
    for first, last in zip(rises.tolist(), falls.tolist(), strict=True):
        if first == 0 or last == len(share) - 1:
            continue
        end = edges[last] + share[last] * (edges[last + 1] - edges[last])
        start = (
            edges[first]
            if first == last
            else edges[first + 1] - share[first] * (edges[first + 1] - edges[first])
        )
        spans.append(Span(float(start), float(end)))
    return spans


def matching(
    spans: Sequence[Span], seconds: Sequence[float], tolerance: Sequence[float]
) -> list[Span] | None:
    """Those spans that last as long as told, in order, strangers left out; None if one is not found."""
    found: list[Span] = []
    left = iter(spans)
    for wanted, slack in zip(seconds, tolerance, strict=True):
        span = next((span for span in left if abs(span.seconds - wanted) <= slack), None)
        if span is None:
            return None
        found.append(span)
    return found


def energies(trace: Trace, spans: Sequence[Span], idle_before: float | None = None) -> Energies:
    """What each window used.

    idle_before: the idle power of an earlier trace, where this one continues a measurement; else its own.

    The idle power is a straight line through all idle stretches, before, between and after the windows:
    what it rises or falls is the drift of meter and board. Net energy is what was used above that line.
    Gross energy is the net one and the line's value before the first window, so that drift is out of it
    too. Net energy is taken from a little before the window to a little after, so that it depends neither
    on samples that are half in it nor on how far the current lags behind the pin.
    """
    integral = Integral(trace)
    stretches = _idle_stretches(trace, spans)
    levels = [integral.energy(stretch) / stretch.seconds for stretch in stretches]
    centres = np.array([(stretch.start + stretch.end) / 2 for stretch in stretches])
    lengths = np.array([stretch.seconds for stretch in stretches])
    # Power is a mean over a stretch, so its certainty grows with the length; polyfit squares its weights.
    begin = float(trace.time[0])
    slope, height = np.polyfit(centres - begin, levels, 1, w=np.sqrt(lengths))
    margin = trace.settle + 1 / trace.rate
    windows = []
    for span in spans:
        wide = Span(span.start - margin, span.end + margin)
        idle = height + slope * ((wide.start + wide.end) / 2 - begin)
        net = integral.energy(wide) - idle * wide.seconds
        gross = net + (height if idle_before is None else idle_before) * span.seconds
        windows.append(WindowEnergy(span, float(gross), float(net), integral.dropped(wide)))
    after = float(height + slope * (trace.end - begin))
    noise = _noise(trace, stretches, height, slope)
    return Energies(tuple(windows), float(height), after, noise, float(lengths.sum()))


def _noise(trace: Trace, stretches: Sequence[Span], height: float, slope: float) -> float:
    """How far idle samples lie from the line."""
    power = trace.current * trace.voltage - (height + slope * (trace.time - trace.time[0]))
    idle = np.zeros(len(power), bool)
    for stretch in stretches:
        idle |= (trace.time >= stretch.start) & (trace.time < stretch.end)
    return float(np.std(power[idle]))


def _idle_stretches(trace: Trace, spans: Sequence[Span]) -> list[Span]:
    """Before, between and after the windows, well away from them."""
    guard = trace.settle + GUARD
    starts = [float(trace.time[0]), *(span.end + guard for span in spans)]
    ends = [*(span.start - guard for span in spans), trace.end]
    stretches = [Span(start, end) for start, end in zip(starts, ends, strict=True)]
    shortest = min(stretch.seconds for stretch in stretches)
    if shortest <= 0 or shortest * trace.rate < 1:
        raise MeterError(
            "There is no idle time between two windows of the trace, or before or after them.",
            "Let the recording begin before the first window and end after the last.",
        )
    return stretches
