"""Statistics of a measurement. Pure: numbers in, numbers out."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple, overload

Z95 = 1.959963984540054
"""The two-sided 95 % point of the normal distribution."""


class Interval(NamedTuple):
    low: float
    high: float


class Summary(NamedTuple):
    """Cycles are summed up by their median: one disturbed prediction moves a mean, and not a median."""

    median: float
    minimum: float
    maximum: float
    interval: Interval
    """Of the median, 95 %."""


class Counted(Sequence[float]):
    """Values in ascending order, of which equal ones take no room: each is given with its number."""

    def __init__(self, numbers: Mapping[int, int]) -> None:
        self._values = sorted(numbers)
        self._ends = list(accumulate(numbers[value] for value in self._values))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @overload
    def __getitem__(self, at: int) -> float: ...
    @overload
    def __getitem__(self, at: slice) -> list[float]: ...
    def __getitem__(self, at: int | slice) -> float | list[float]:
        places = range(len(self))[at]
        if isinstance(places, range):
            return [self[place] for place in places]
        return self._values[bisect_right(self._ends, places)]


def _ordered(values: Sequence[float]) -> Sequence[float]:
    return values if isinstance(values, Counted) else sorted(values)


def median(values: Sequence[float]) -> float:
    ordered = _ordered(values)
    if not ordered:
        raise ValueError("the median of nothing")
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2


def summary(values: Sequence[float]) -> Summary:
    ordered = _ordered(values)
    return Summary(median(ordered), ordered[0], ordered[-1], median_interval(ordered))


def median_interval(values: Sequence[float], confidence: float = 0.95) -> Interval:
    """Where the median lies, from order statistics: true for any distribution, and wide for few values.

    Of n independent values the number below the true median is binomial (n, 1/2). The interval from the k-th
    smallest to the k-th largest misses it with probability 2·P(number < k); the largest k that keeps this
    below 1 - confidence is taken. Below six values no k does, and the whole range is given.
    """
    ordered = _ordered(values)
    n = len(ordered)
    if not n:
        raise ValueError("the interval of nothing")
    allowed = (1 - confidence) / 2
    term = math.log(0.5) * n  # log of P(number = 0)
    below = 0.0
    k = 0
    while k < n // 2:
        below += math.exp(term)  # P(number <= k)
        if below > allowed:
            break
        term += math.log(n - k) - math.log(k + 1)
        k += 1
    first = max(k - 1, 0)
    return Interval(ordered[first], ordered[n - 1 - first])


def fraction_interval(hits: int, total: int, z: float = Z95) -> Interval:
    """Wilson's interval of a proportion such as accuracy: sensible at 100 % and for few samples."""
    if not 0 <= hits <= total or total == 0:
        raise ValueError(f"{hits} of {total} is no proportion")
    share = hits / total
    weight = z * z / total
    centre = (share + weight / 2) / (1 + weight)
    half = z / (1 + weight) * math.sqrt(share * (1 - share) / total + weight / (4 * total))
    return Interval(max(0.0, centre - half), min(1.0, centre + half))


def sign_test(losses: int, wins: int) -> float:
    """How likely chance alone parts the pairs at least so unevenly: McNemar's test, exact, two-sided."""
    n = losses + wins
    if n == 0:
        return 1.0
    fewer = min(losses, wins)
    log_half = n * math.log(0.5)
    tail = sum(
        math.exp(math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) + log_half)
        for k in range(fewer + 1)
    )
    return min(1.0, 2 * tail)
