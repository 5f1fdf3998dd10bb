from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models import budget
from models.errors import BudgetError


@pytest.mark.parametrize(
    ("text", "size"),
    [("512B", 512), ("2kB", 2048), ("1.5kB", 1536), (" 2 KB ", 2048), ("100", 100), ("16k", 16384)],
)
def test_sizes_are_read_in_the_usual_spellings(text: str, size: int) -> None:
    assert budget.parse(text) == size


@pytest.mark.parametrize("text", ["", "kB", "-1kB", "2MB", "0", "0.5B", "1e3", "nan"])
def test_what_is_no_size_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(BudgetError, match="Write"):
        budget.parse(text)


@given(st.integers(1, 10_000_000))
def test_what_is_shown_can_be_read_back(size: int) -> None:
    assert budget.parse(budget.show(size)) == size


def test_round_sizes_are_shown_in_kilobytes() -> None:
    assert [budget.show(s) for s in (512, 1024, 1536, 2000, 16384)] == [
        "512B",
        "1kB",
        "1.5kB",
        "2000B",
        "16kB",
    ]
