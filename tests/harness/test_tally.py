from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import stats
from harness.tally import Sample, Tally

CYCLES = st.lists(st.integers(1, 6), min_size=1, max_size=40)


def samples(cycles: list[int]) -> list[Sample]:
    return [Sample(number, "a", "a", "a", each) for number, each in enumerate(cycles)]


@given(CYCLES)
def test_the_summary_is_that_of_all_values(cycles: list[int]) -> None:
    assert Tally(samples(cycles)).cycles == stats.summary(cycles)


@given(CYCLES)
def test_the_typical_sample_is_the_first_of_those_nearest_to_the_median(cycles: list[int]) -> None:
    middle = stats.median(cycles)
    nearest = min(range(len(cycles)), key=lambda number: abs(cycles[number] - middle))
    assert Tally(samples(cycles)).typical == nearest


def test_right_and_stray_samples_are_counted_apart() -> None:
    tally = Tally([Sample(0, "a", "a", "a", 1), Sample(1, "a", "b", "a", 1), Sample(2, "a", "b", "b", 1)])
    assert (tally.n, tally.right, tally.strays) == (3, 1, 1)
    assert tally.first_stray is not None and tally.first_stray.number == 1
    assert (tally.accuracy, tally.agreement) == (1 / 3, 2 / 3)


def test_counted_values_are_those_in_order() -> None:
    counted = stats.Counted({7: 2, 3: 1, 9: 3})
    assert list(counted) == counted[:] == [3, 7, 7, 9, 9, 9]
    assert (counted[-1], counted[0], len(counted)) == (9, 3, 6)
    with pytest.raises(IndexError):
        counted[6]
