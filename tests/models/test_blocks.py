"""Sparse rows in blocks of columns: there and back, what is refused, and pieces of any length."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models import hostc
from models.blocks import Blocks8
from models.checks import adversarial_inputs, check_device_model, check_kernel
from models.errors import InputError
from models.layouts import choices
from tests.models.device_models import integers, make


@settings(max_examples=40, deadline=None)
@given(
    rows=st.integers(1, 6),
    columns=st.integers(1, 400),
    density=st.sampled_from([0.0, 0.01, 0.2, 1.0]),
    seed=st.integers(0, 2**32 - 1),
)
def test_there_and_back(rows: int, columns: int, density: float, seed: int) -> None:
    matrix = integers(np.random.default_rng(seed), (rows, columns), density)
    arrays = Blocks8.encode(matrix)
    assert arrays["_blocks"].nbytes == Blocks8.size(matrix)
    assert (Blocks8.decode(arrays, columns) == matrix).all()


def test_bytes_by_hand() -> None:
    """The first block has all rows; in the second the last one is empty, and left out."""
    matrix = np.zeros((3, 300), dtype=np.int64)
    matrix[0, 2], matrix[1, 239], matrix[1, 240], matrix[1, 260] = -7, 100, 3, 1
    assert Blocks8.encode(matrix)["_blocks"].tolist() == [3, 1, 3, 249, 1, 240, 100, 0, 2, 0, 2, 1, 3, 20, 1]


def test_a_matrix_of_more_rows_than_a_byte_counts_is_not_cut() -> None:
    assert Blocks8.suits(np.ones((255, 3)))
    assert not Blocks8.suits(np.ones((256, 3)))


@pytest.mark.parametrize(
    ("stream", "columns", "words"),
    [
        ([1, 2, 1, 5], 10, "3 bytes of 5"),
        ([2, 0], 10, "0 bytes of 1"),
        ([1, 0, 0, 0], 300, "3 blocks, not 2"),
        ([0, 0], 300, "0 rows"),
        ([1, 0, 2, 0, 0], 300, "1 rows"),
        ([1, 1, 0, 5], 10, "outside"),
        ([1, 1, 11, 5], 10, "outside"),
        ([1, 1, 241, 5, 0], 300, "block 0"),
    ],
)
def test_streams_that_are_none_are_refused(stream: list[int], columns: int, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Blocks8.decode({"_blocks": np.array(stream, dtype=np.uint8)}, columns)


@pytest.mark.skipif(not hostc.available(), reason="needs gcc")
@pytest.mark.parametrize("family", ["linear", "protonn"])
def test_pieces_of_any_length_give_the_same_scores(family: str) -> None:
    model = make(family, "int8", features=300, density=0.1)
    blocks = next(variant for variant in model.variants(streaming=True) if "w_blocks" in variant.arrays)
    check_kernel(blocks, adversarial_inputs(model), ways=8)
    check_device_model(blocks, np.zeros((1, 300)))


def test_streaming_firmware_of_sparse_rows_is_fastest_in_blocks() -> None:
    model = make("protonn", "int8", features=784, classes=2, rows=16, prototypes=47, density=0.05)
    found = {choice.what.split(",")[0]: choice for choice in choices(model, streaming=True)}
    blocks, rows = found["16 × 784 sparse in blocks"], found["16 × 784 sparse"]
    assert blocks.cycles < rows.cycles
    assert blocks.flash_bytes > rows.flash_bytes
