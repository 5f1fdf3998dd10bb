"""Lists of signs: there and back, what is refused, and the kernel on pieces of any length."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models import hostc
from models.checks import adversarial_inputs, check_kernel
from models.device import Array
from models.errors import InputError
from models.layouts import choices
from models.linear_device import LinearInt8
from models.ternary import Signs8
from tests.models.device_models import INT8


def ternary(rows: int, columns: int, level: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).integers(-1, 2, size=(rows, columns)) * level


@settings(max_examples=40, deadline=None)
@given(
    rows=st.integers(1, 6),
    columns=st.integers(4, 200),
    level=st.integers(1, 127),
    seed=st.integers(0, 2**32 - 1),
)
def test_there_and_back(rows: int, columns: int, level: int, seed: int) -> None:
    matrix = ternary(rows, columns, level, seed)
    matrix[0, 1] = level
    arrays = Signs8.encode(matrix)
    assert arrays["_signs"].nbytes == Signs8.size(matrix)
    assert Signs8.switches(arrays) == {"level": level}
    assert (Signs8.decode(arrays, columns) == matrix).all()


def far_apart() -> Array:
    matrix = np.zeros((1, 600), dtype=np.int64)
    matrix[0, 599] = 5
    return matrix


@pytest.mark.parametrize(
    "matrix",
    [np.array([[1, -2]]), np.zeros((2, 2), dtype=np.int64), np.ones((1, 256), dtype=np.int64), far_apart()],
    ids=["two magnitudes", "no weight", "more than a byte counts", "a gap beyond a byte"],
)
def test_other_matrices_do_not_suit(matrix: Array) -> None:
    assert not Signs8.suits(matrix)
    with pytest.raises(InputError, match="magnitude"):
        Signs8.encode(matrix)


@pytest.mark.parametrize(
    ("stream", "words"),
    [
        ([5, 2, 1], "2 bytes of 3"),
        ([5, 1, 1], "two a row"),
        ([5, 1, 0, 0], "outside"),
        ([5, 1, 11, 0], "outside"),
        ([5, 1, 3, 1, 3], "both"),
    ],
)
def test_streams_that_are_none_are_refused(stream: list[int], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Signs8.decode({"_signs": np.array(stream, dtype=np.uint8)}, 10)


@pytest.mark.skipif(not hostc.available(), reason="needs gcc")
def test_ternary_models_are_offered_as_lists_and_score_alike() -> None:
    model = LinearInt8.from_integers(ternary(4, 150, 9), np.arange(4), INT8, range(4))
    found = {choice.what.split(",")[0]: choice for choice in choices(model, streaming=False)}
    lists = found["4 × 150 ternary"]
    assert lists.flash_bytes == min(choice.flash_bytes for choice in found.values())
    assert lists.cycles < found["4 × 150 sparse"].cycles
    check_kernel(lists.model, adversarial_inputs(model), ways=6)
