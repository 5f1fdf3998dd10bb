"""What a job's samples say together. None is kept: a night's run takes no more memory than a minute's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from harness import stats
from harness.stats import Summary


class Sample(NamedTuple):
    """One line of samples.csv. Classes are the dataset's labels, not indices."""

    number: int
    label: str
    device_class: str
    host_class: str
    cycles: int


class Tally:
    """Counts of samples; what it keeps grows with how many different cycle counts there are."""

    def __init__(self, samples: Iterable[Sample] = ()) -> None:
        self.n = 0
        self.right = 0
        self.strays = 0
        """Samples on which device and host disagree."""
        self.first_stray: Sample | None = None
        self._cycles: dict[int, int] = {}
        self._first: dict[int, int] = {}
        for sample in samples:
            self.add(sample)

    def add(self, sample: Sample) -> None:
        number, label, device_class, host_class, cycles = sample
        self.n += 1
        self.right += device_class == label
        if device_class != host_class:
            self.strays += 1
            self.first_stray = self.first_stray or sample
        if cycles in self._cycles:
            self._cycles[cycles] += 1
        else:
            self._cycles[cycles] = 1
            self._first[cycles] = number

    @property
    def accuracy(self) -> float:
        return self.right / self.n

    @property
    def agreement(self) -> float:
        return (self.n - self.strays) / self.n

    @property
    def cycles(self) -> Summary:
        return stats.summary(stats.Counted(self._cycles))

    @property
    def typical(self) -> int:
        """The number of the first sample whose cycles are nearest to the median."""
        median = self.cycles.median
        return min((abs(cycles - median), number) for cycles, number in self._first.items())[1]
