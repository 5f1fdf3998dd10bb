from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from harness import stats

numbers = st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=60)


@given(numbers)
def test_median_is_numpys(values: list[float]) -> None:
    assert stats.median(values) == pytest.approx(float(np.median(values)))


@given(numbers)
def test_a_summary_is_in_order_and_of_the_values(values: list[float]) -> None:
    s = stats.summary(values)
    assert s.minimum <= s.interval.low <= s.median <= s.interval.high <= s.maximum
    assert (s.minimum, s.maximum) == (min(values), max(values))


@given(numbers)
def test_order_does_not_matter(values: list[float]) -> None:
    shuffled = random.Random(0).sample(values, len(values))
    assert stats.summary(shuffled) == stats.summary(values)


@pytest.mark.parametrize("n", [6, 7, 10, 25, 100, 450, 2007])
def test_the_interval_covers_what_it_promises_and_is_the_narrowest_that_does(n: int) -> None:
    low, high = stats.median_interval([float(i) for i in range(n)])
    first = int(low)
    assert high == n - 1 - first
    missed = 2 * scipy_stats.binom.cdf(first, n, 0.5)
    narrower = 2 * scipy_stats.binom.cdf(first + 1, n, 0.5)
    assert missed <= 0.05 < narrower


def test_five_values_give_their_range() -> None:
    assert stats.median_interval([5.0, 1.0, 2.0, 4.0, 3.0]) == (1.0, 5.0)


@pytest.mark.parametrize(("hits", "total"), [(0, 10), (10, 10), (437, 450), (1, 2), (1900, 2007)])
def test_wilsons_interval_is_scipys(hits: int, total: int) -> None:
    theirs = scipy_stats.binomtest(hits, total).proportion_ci(method="wilson")
    ours = stats.fraction_interval(hits, total)
    assert ours.low == pytest.approx(theirs.low, abs=1e-12)
    assert ours.high == pytest.approx(theirs.high, abs=1e-12)


def test_nothing_has_no_statistics() -> None:
    with pytest.raises(ValueError, match="nothing"):
        stats.median([])
    with pytest.raises(ValueError, match="nothing"):
        stats.median_interval([])
    with pytest.raises(ValueError, match="3 of 2"):
        stats.fraction_interval(3, 2)


@pytest.mark.parametrize(
    ("losses", "wins", "chance"),
    [(0, 0, 1.0), (5, 5, 1.0), (3, 0, 0.25), (0, 9, 2 / 2**9), (1, 9, 22 / 2**10)],
)
def test_an_uneven_parting_of_pairs_is_unlikely(losses: int, wins: int, chance: float) -> None:
    assert stats.sign_test(losses, wins) == pytest.approx(chance)
