"""Finds the windows in a trace without a trigger, by the pattern in which they were made.

The host knows when it asked for each window and how long each lasted, but not where that is on the meter's
clock. The pattern is slid along the current until they fit best; then each edge is looked for where it should
be. A current that does not follow the pattern is refused: a wrong window gives a wrong energy that looks like
a right one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from harness.errors import MeterError
from harness.power.base import Floats, Trace
from harness.power.windows import Span

LEAST_CORRELATION = 0.7
"""Between current and pattern. White noise as strong as the step itself still leaves 0.7 at equal shares."""
CLEAR_LEAD = 0.05
"""By which the best place must beat every other that is not its neighbour."""
CLOSE = 6
"""Samples to either side in which an edge is looked for at last."""
FINEST_STEPS = 20_000
"""Points the trace is thinned to for the search; edges are looked for in the whole of it."""


def find(trace: Trace, pattern: Sequence[Span]) -> list[Span]:
    """The spans of the pattern on the trace's clock; MeterError if they are not there."""
    step = max(trace.seconds / FINEST_STEPS, 1 / trace.rate)
    grid = np.arange(trace.time[0], trace.end, step)
    current = _resampled(trace, grid, step)
    offset = _offset(current, step, pattern)
    begin = float(trace.time[0]) + offset - pattern[0].start
    lengths = [span.seconds for span in pattern]
    gaps = [after.start - before.end for before, after in pairwise(pattern)]
    reach = min(lengths + gaps)
    return [
        Span(
            _edge(grid, current, begin + span.start, reach / 3, rising=True),
            _edge(grid, current, begin + span.end, reach / 3, rising=False),
        )
        for span in pattern
    ]


def _resampled(trace: Trace, grid: Floats, step: float) -> Floats:
    """The mean current in each step."""
    edges = trace.edges
    charge = np.concatenate(([0.0], np.cumsum(trace.current * np.diff(edges))))
    bounds = np.append(grid, grid[-1] + step).clip(max=trace.end)
    moved: Floats = np.diff(np.interp(bounds, edges, charge)) / np.diff(bounds)
    return moved


def _offset(current: Floats, step: float, pattern: Sequence[Span]) -> float:
    """Seconds from the trace's begin to the pattern's, where they correlate best."""
    length = int(np.ceil((pattern[-1].end - pattern[0].start) / step))
    if length >= len(current):
        raise _not_found("the recording is shorter than the measurement")
    ticks = (np.arange(length) + 0.5) * step + pattern[0].start
    high = np.zeros(length)
    for span in pattern:
        high[(ticks >= span.start) & (ticks < span.end)] = 1.0
    high -= high.mean()
    scores = _correlation(current, high)
    best = int(np.argmax(scores))
    if scores[best] < LEAST_CORRELATION:
        raise _not_found(f"current and pattern correlate by {scores[best]:.2f} at best")
    width = int(min(span.seconds for span in pattern) / step)
    others = np.concatenate((scores[: max(0, best - width)], scores[best + width :]))
    if len(others) and scores[best] - others.max() < CLEAR_LEAD:
        raise _not_found("it fits in more than one place")
    return best * step


def _correlation(current: Floats, pattern: Floats) -> Floats:
    """Pearson's, of the pattern with the current at every place."""
    from scipy.signal import fftconvolve

    n = len(pattern)
    centred = current - current.mean()
    product = fftconvolve(centred, pattern[::-1], mode="valid")
    ones = np.ones(n)
    total = fftconvolve(centred, ones, mode="valid")
    squares = fftconvolve(centred**2, ones, mode="valid") - total**2 / n
    norm = np.sqrt(np.maximum(squares, 0) * float(pattern @ pattern))
    scale = float(norm.max())
    if scale == 0:
        raise _not_found("the current never changes")
    score: Floats = np.where(norm > 1e-9 * scale, product / np.maximum(norm, 1e-9 * scale), 0.0)
    return score


def _edge(grid: Floats, current: Floats, near: float, reach: float, *, rising: bool) -> float:
    """Where the step is: with the levels of both sides, the charge between tells it to a part of a sample.

    First in all of the reach, as the host's clock is only roughly right; then in the few samples around, as
    the noise of every sample that is summed up moves the edge.
    """
    step = grid[1] - grid[0]
    first, last = np.searchsorted(grid, (near - reach, near + reach))
    piece = current[first:last]
    quarter = len(piece) // 4
    if quarter == 0:
        return near
    left, right = float(piece[:quarter].mean()), float(piece[-quarter:].mean())
    if (right - left) * (1 if rising else -1) <= 0:
        raise _not_found("a window has no edge where one should be")
    rough = float(np.sum(piece - right)) / (left - right)
    begin = int(np.clip(round(rough) - CLOSE, 0, len(piece)))
    around = piece[begin : begin + 2 * CLOSE]
    exact = begin + float(np.sum(around - right)) / (left - right)
    return float(grid[first] + exact * step)


def _not_found(why: str) -> MeterError:
    return MeterError(
        f"The windows of the measurement are not found in the meter's trace: {why}.",
        "Connect the trigger pin to the meter, or see that nothing else draws current from the same supply.",
    )
