from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models import encoding
from models.device import Array
from models.encoding import Dense8, Dense32, Layout, Rows8, Rows32
from models.errors import InputError
from tests.models.device_models import integers


@settings(deadline=None, max_examples=150)
@given(
    rows=st.integers(1, 6),
    columns=st.integers(1, 1500),
    density=st.sampled_from([0.0, 0.001, 0.01, 0.2, 1.0]),
    seed=st.integers(0, 2**32 - 1),
)
def test_every_layout_gives_the_matrix_back_in_the_size_it_said(
    rows: int, columns: int, density: float, seed: int
) -> None:
    matrix = integers(np.random.default_rng(seed), (rows, columns), density)
    for layout in encoding.LAYOUTS:
        values = matrix.astype(layout.dtype)
        if not layout.suits(values):
            continue
        arrays = layout.encode(values)
        assert tuple(arrays) == layout.parts
        assert np.array_equal(layout.decode(arrays, columns), values)
        assert sum(array.nbytes for array in arrays.values()) == layout.size(values)
        assert all(array.size for array in arrays.values())


def test_pairs_are_gaps_and_values() -> None:
    matrix = np.zeros((3, 600), dtype=np.int64)
    matrix[0, [0, 2]] = 5, -7
    matrix[2, 599] = 9
    arrays = Rows8.encode(matrix)
    # row 2: 599 is the 600th column, two fillers of 255 columns and then 90 more
    assert arrays["_pairs"].tolist() == [[1, 5], [2, 249], [255, 0], [255, 0], [90, 9]]
    assert arrays["_counts"].tolist() == [2, 0, 3]
    assert arrays["_counts"].dtype == np.uint8


def test_counts_take_two_bytes_only_where_needed() -> None:
    matrix = np.zeros((2, 256), dtype=np.int64)
    matrix[0, :255] = 1
    assert Rows8.encode(matrix)["_counts"].dtype == np.uint8
    matrix[0, 255] = 1
    assert Rows8.encode(matrix)["_counts"].dtype == np.uint16
    assert Rows8.size(matrix) == 2 * 256 + 2 * 2


@pytest.mark.parametrize(
    ("density", "kind", "layout"),
    [(1.0, "i8", Dense8), (0.1, "i8", Rows8), (1.0, "f8", Dense32), (0.1, "f8", Rows32), (0.6, "f4", Rows32)],
)
def test_the_smallest_layout_is_chosen(density: float, kind: str, layout: type[Layout]) -> None:
    matrix = integers(np.random.default_rng(0), (4, 200), density).astype(kind)
    assert encoding.best(matrix) is layout
    arrays = encoding.encode("w", matrix)
    assert sum(array.nbytes for array in arrays.values()) == encoding.best_bytes(matrix)
    assert encoding.layout_of("w", arrays, layout.dtype) is layout
    assert np.array_equal(encoding.decode("w", arrays, 200, layout.dtype), matrix)
    assert encoding.c_sizes("w", arrays, layout.dtype)[f"w_{layout.name}"] == 1


def test_of_equal_sizes_the_dense_one_is_chosen() -> None:
    matrix = np.zeros((1, 9), dtype=np.int64)
    matrix[0, :4] = 1  # 9 bytes dense, 4 pairs and a count sparse
    assert Rows8.size(matrix) == Dense8.size(matrix)
    assert encoding.best(matrix) is Dense8


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        (np.array([[1, 128]]), "The weight 128 is beyond ±127."),
        (np.array([[-128, 5]]), "The weight -128 is beyond ±127."),
        (np.array([1, 2]), "shape (2,)"),
        (np.zeros((0, 3), dtype=int), "shape (0, 3)"),
        (np.array([[1.0, np.nan]]), "NaN"),
        (np.array([[1e300]]), "beyond float32"),
        (np.array([[True]]), "bool"),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
def test_refuses_what_it_cannot_store(matrix: Array, words: str) -> None:
    with pytest.raises(InputError) as error:
        encoding.best_bytes(matrix)
    assert words in str(error.value)


def test_refuses_arrays_that_lead_astray() -> None:
    good = Rows8.encode(np.array([[0, 3, 0, 4], [0, 0, 0, 5]]))
    pairs, counts = good["_pairs"], good["_counts"]
    too_far, standing, short = pairs.copy(), pairs.copy(), counts.copy()
    too_far[2, 0], standing[0, 0], short[0] = 5, 0, 1
    for wrong, words in (
        ({"_pairs": too_far, "_counts": counts}, "outside"),
        ({"_pairs": standing, "_counts": counts}, "outside"),
        ({"_pairs": pairs, "_counts": short}, "add up to 2, but there are 3"),
        ({"_pairs": pairs.astype(np.int16), "_counts": counts}, "bytes in twos"),
        ({"_pairs": pairs, "_counts": counts.astype(np.int32)}, "row counts are int32"),
    ):
        with pytest.raises(InputError) as error:
            Rows8.decode(wrong, 4)
        assert words in str(error.value)
    with pytest.raises(InputError, match="hold no matrix"):
        encoding.layout_of("w", {"b": pairs}, np.int8)
