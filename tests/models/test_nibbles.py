from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models import encoding, nibbles
from models.device import Array
from models.errors import InputError


@given(st.integers(1, 5), st.integers(1, 300), st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_all_layouts_give_the_matrix_back_in_the_bytes_they_promised(
    rows: int, columns: int, density: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-7, 8, size=(rows, columns)) * (rng.random((rows, columns)) < density)
    for layout in nibbles.FOUR_BITS:
        arrays = encoding.encode("w", matrix, layout)
        assert sum(a.nbytes for a in arrays.values()) == layout.size(matrix)
        assert nibbles.layout_of("w", arrays) is layout
        assert np.array_equal(nibbles.decode("w", arrays, columns), matrix)


def test_bytes_of_a_dense_row_by_hand() -> None:
    arrays = nibbles.Dense4.encode(np.array([[1, -1, 7]]))
    assert arrays["_packed"].tolist() == [[0x1F, 0x70]]


def test_bytes_of_a_sparse_row_by_hand() -> None:
    """Value above, gap less one below; 20 columns take a filler of 16 and a gap of 4."""
    row = np.zeros((1, 30), dtype=int)
    row[0, 2], row[0, 22] = -7, 3
    arrays = nibbles.Rows4.encode(row)
    assert arrays["_nibbles"].tolist() == [0x92, 0x0F, 0x33]
    assert arrays["_counts"].tolist() == [3]


def test_bytes_of_blocks_by_hand() -> None:
    """Two rows in two blocks: of each a count, then its bytes; gaps begin anew with the block."""
    matrix = np.zeros((2, 252), dtype=int)
    matrix[0, 2], matrix[1, 242], matrix[1, 251] = -7, 3, 1
    arrays = nibbles.Blocks4.encode(matrix)
    assert arrays["_nibble_blocks"].tolist() == [2, 1, 0x92, 0, 2, 0, 2, 0x32, 0x18]


@pytest.mark.parametrize(
    ("stream", "said"),
    [([1, 2, 0x10], "2 bytes of 3"), ([1, 0, 0, 0], "3 blocks"), ([1, 0, 1, 1, 0x1F], "outside")],
)
def test_damaged_blocks_are_refused(stream: list[int], said: str) -> None:
    with pytest.raises(InputError, match=said):
        nibbles.Blocks4.decode({"_nibble_blocks": np.array(stream, "u1")}, 242)


def test_four_bits_are_for_small_integers_only() -> None:
    with pytest.raises(InputError, match="±7"):
        nibbles.Rows4.encode(np.array([[8]]))
    assert nibbles.smallest(np.ones((2, 9)), limit=127) is encoding.Dense8
    assert nibbles.smallest(np.ones((2, 9)), limit=7) is nibbles.Dense4


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"_nibbles": np.array([0x1F], "u1"), "_counts": np.array([1], "u1")}, "outside"),
        ({"_nibbles": np.array([0x10], "u1"), "_counts": np.array([2], "u1")}, "add up"),
        ({"_nibbles": np.array([0x80], "u1"), "_counts": np.array([1], "u1")}, "±7"),
    ],
)
def test_damaged_rows_are_refused(arrays: dict[str, Array], said: str) -> None:
    with pytest.raises(InputError, match=said):
        nibbles.Rows4.decode(arrays, 10)
