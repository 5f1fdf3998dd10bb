"""Non-linear conjugate gradients (Polak–Ribière), as SNC and NPC ask for.

scipy's own needs three to four evaluations an iteration with these objectives, whose every evaluation passes
over the whole training set; the step that the last iteration ended with, carried over as the first trial of
the next, brings that down to less than two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from models.device import Array

Objective = Callable[[Array], tuple[float, Array]]
"""Value and gradient at a point."""

SUFFICIENT = 1e-4
"""Wolfe's first condition: the part of the decrease promised by the slope that a step must deliver."""
CURVATURE = 0.3
"""Wolfe's second: the part of the slope that may be left. Conjugacy wants the line searched rather well."""
TRIALS = 12
"""Evaluations a line search may take."""
STRETCH = 4.0
"""How far beyond the last trial a line search may reach."""


@dataclass(frozen=True)
class Descent:
    """Where the descent ended: the lowest point that was met."""

    point: Array
    value: float
    iterations: int
    evaluations: int
    interrupted: bool
    """Whether Ctrl-C ended it."""


@dataclass(frozen=True)
class _Trial:
    """The objective at one point of a line."""

    step: float
    value: float
    slope: float
    point: Array
    gradient: Array


def minimise(
    objective: Objective,
    start: Array,
    *,
    iterations: int = 100,
    tolerance: float = 1e-6,
    after: Callable[[int, float], None] | None = None,
) -> Descent:
    """Descend from `start` until an iteration gains less than `tolerance` of the value, or Ctrl-C.

    `after` hears of each iteration's number and value.
    """
    search = _Search(objective)
    done = 0
    interrupted = False
    best = start
    value = float("inf")
    try:
        value, gradient = search.evaluate(start)
        direction = -gradient
        step = 0.0
        while done < iterations:
            slope = _dot(gradient, direction)
            if slope >= 0.0:  # rounding has spoilt the conjugacy
                direction, slope, step = -gradient, -_dot(gradient, gradient), 0.0
            if slope == 0.0:
                break
            first = step or min(1.0, 0.1 * max(abs(value), 1e-12) / -slope)
            found = search.along(_Trial(0.0, value, slope, best, gradient), direction, first)
            if found is None:
                if step == 0.0:
                    break
                direction, step = -gradient, 0.0
                continue
            done += 1
            gain = value - found.value
            turn = max(0.0, _dot(found.gradient, found.gradient - gradient) / _dot(gradient, gradient))
            direction = turn * direction - found.gradient
            best, value, gradient = found.point, found.value, found.gradient
            ahead = _dot(gradient, direction)
            step = found.step * min(STRETCH, slope / ahead) if ahead < 0.0 else 0.0
            if after is not None:
                after(done, value)
            if gain <= tolerance * max(abs(value), 1e-12):
                break
    except KeyboardInterrupt:
        interrupted = True
    return Descent(best, value, done, search.evaluations, interrupted)


class _Search:
    """Line searches that count their evaluations."""

    def __init__(self, objective: Objective) -> None:
        self._objective = objective
        self.evaluations = 0

    def evaluate(self, point: Array) -> tuple[float, Array]:
        self.evaluations += 1
        return self._objective(point)

    def along(self, origin: _Trial, direction: Array, first: float) -> _Trial | None:
        """A step that meets Wolfe's strong conditions, else the lowest found, or None if none is lower."""
        low, high = origin, None
        lowest: _Trial | None = None
        step = first
        for _ in range(TRIALS):
            point = origin.point + direction.dtype.type(step) * direction
            value, gradient = self.evaluate(point)
            trial = _Trial(step, value, _dot(gradient, direction), point, gradient)
            if not np.isfinite(value):
                high, step = trial, 0.5 * (low.step + step)
                continue
            if value < (lowest or origin).value:
                lowest = trial
            short = value > origin.value + SUFFICIENT * step * origin.slope or value > low.value
            if not short and abs(trial.slope) <= -CURVATURE * origin.slope:
                return trial
            if short or trial.slope > 0.0:
                high = trial
            else:
                low = trial
            step = _between(low, high) if high is not None else _beyond(origin, low)
        return lowest


def _between(low: _Trial, high: _Trial) -> float:
    """The minimum of the cubic through both ends, kept off the ends themselves."""
    width = high.step - low.step
    if not np.isfinite(high.value):
        return low.step + 0.5 * width
    third = 3.0 * (low.value - high.value) / width + low.slope + high.slope
    under = third * third - low.slope * high.slope
    part = 0.5
    if under >= 0.0:
        root = float(np.sqrt(under))
        divisor = high.slope - low.slope + 2.0 * root
        if divisor:
            part = 1.0 - (high.slope + root - third) / divisor
    return low.step + width * min(0.9, max(0.1, part))


def _beyond(origin: _Trial, last: _Trial) -> float:
    """Where the slope, continued as a straight line, is zero; at most STRETCH times as far."""
    change = last.slope - origin.slope
    reach = -origin.slope / change if change > 0.0 else STRETCH
    return last.step * min(STRETCH, max(1.3, reach))


def _dot(a: Array, b: Array) -> float:
    """In double precision: the terms of large gradients in float32 would cancel badly."""
    return float(np.einsum("i,i->", a.ravel(), b.ravel(), dtype=np.float64))
