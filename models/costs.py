"""Where a prediction's cycles go on an AVR, told from the model alone, stage by stage.

The kernels' loops are assembly with the cycles beside each line (firmware/lib/kernels/avr_*.h), so most of a
prediction can be counted without running it. What the compiler puts between the loops (calls, rounding,
biases) was fitted to its output and to measured totals, for one compiler. How many prototypes are near
depends on the sample: without samples that part is an estimate. tests/firmware/test_costs.py holds the sums
to what a simulated board measures.

The floor of a stage is what the best loop known for its number format and layout needs for the terms alone,
unrolled eight times: no call, no row and no rounding around it. Where features come piece by piece, sums wait
in RAM: sparse rows have a higher floor then, and blocks of them the loads and stores of the sums on top of
that of a vector in RAM. Straight-line code has one that follows from its instructions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil

import numpy as np

from models.inputs import Array

PIECE_FEATURES = 240
"""Features of one frame: streaming firmware folds that many int8 features at a time."""

DENSE_FLOOR = {2: 9.5, 3: 11.5, 4: 12.5}
"""Cycles a weight, by the bytes of the sum."""
SPARSE_FLOOR = {2: 12.5, 3: 14.5, 4: 15.5}
"""Cycles a stored value with its index, the whole vector being in RAM."""
TERNARY_FLOOR = 7.5
"""Cycles a column of a list, the whole vector being in RAM."""
STREAMED_SPARSE_FLOOR = 21.0
"""Cycles a stored value where features come piece by piece and sums must wait in RAM."""
SQUARE_FLOOR = 11.5
"""Cycles a squared difference added to 24 bits."""


@dataclass(frozen=True)
class Stage:
    """One step of a prediction: what it takes of the board."""

    name: str
    what: str
    """Shape and numbers, in a few words."""
    flash_bytes: int
    """Of the model, not of the code."""
    ram_bytes: int
    cycles: int
    floor: int | None = None
    """The least cycles known for its terms; None where there are no terms to speak of."""
    estimated: bool = False
    """Whether the cycles depend on samples that were not given."""


def whole(cycles: float) -> int:
    return round(cycles)


def pieces(features: int, streaming: bool) -> list[int]:
    """The lengths in which a vector is folded."""
    if not streaming:
        return [features]
    full, rest = divmod(features, PIECE_FEATURES)
    return [PIECE_FEATURES] * full + ([rest] if rest else [])


def dense_projection(rows: int, features: int, sum_bytes: int, streaming: bool) -> Stage:
    """Rows of int8 weights, nothing left out."""
    term = {2: 9, 3: 11, 4: 12}[sum_bytes]
    if streaming:
        cycles = 10 + 5 * rows * sum_bytes  # the sums are set to zero
        for count in pieces(features, streaming):
            rounds, rest = divmod(count, 8)
            row = count * term + 5 * rounds + 4 * rest + 23 + 4 * sum_bytes
            cycles += (CALL_DENSE if rows > 1 else CALL_ONE_ROW + 48) + 14 + rows * row
    else:
        rounds = ceil(features / 8)
        row = features * term + (5 if sum_bytes == 4 else 4) * rounds + 20 + 2 * sum_bytes
        cycles = (CALL_DENSE if rows > 1 else CALL_ONE_ROW) + rows * row
    return Stage(
        "projection",
        f"{rows} × {features} dense, sums of {8 * sum_bytes} bits",
        rows * features,
        rows * sum_bytes,
        whole(cycles),
        whole(DENSE_FLOOR[sum_bytes] * rows * features),
    )


def sparse_projection(gaps: Array, counts: Array, features: int, sum_bytes: int, streaming: bool) -> Stage:
    """Rows of (gap, value) pairs; `counts` says how many each row has."""
    rows, stored = len(counts), len(gaps)
    count_bytes = counts.dtype.itemsize
    cycles = CALL_SPARSE
    if streaming:
        cycles += _streamed_pairs(gaps, counts, features, sum_bytes)
    else:
        cycles += sum(_whole_row(int(count), sum_bytes, count_bytes) for count in counts)
    return Stage(
        "projection",
        f"{rows} × {features} sparse, {stored} pairs, sums of {8 * sum_bytes} bits",
        2 * stored + rows * count_bytes,
        rows * (sum_bytes + (4 + count_bytes if streaming else 0)),
        whole(cycles),
        whole((STREAMED_SPARSE_FLOOR if streaming else SPARSE_FLOOR[sum_bytes]) * stored),
    )


def block_projection(parts: list[int], shape: tuple[int, ...], sum_bytes: int) -> Stage:
    """Sparse rows in blocks of columns (models.blocks), streamed; so many pairs in each part of a row."""
    return Stage(
        "projection",
        f"{shape[0]} × {shape[1]} sparse in blocks, {sum(parts)} pairs, sums of {8 * sum_bytes} bits",
        2 * sum(parts) + len(parts) + len(pieces(shape[1], True)),
        shape[0] * sum_bytes + 3,
        whole(blocks(parts, shape, sum_bytes)),
        whole(block_floor(parts, sum_bytes)),
    )


def blocks(parts: list[int], shape: tuple[int, ...], sum_bytes: int) -> int:
    """Cycles of values in blocks, pairs or bytes of four bits: their terms cost the same."""
    rows, features = shape
    once = 16 + rows * (4 + 2 * sum_bytes) + len(pieces(features, True)) * CALL_BLOCK
    return once + sum(_block_row(count, sum_bytes) for count in parts)


def block_floor(parts: list[int], sum_bytes: int) -> float:
    """The terms', and for each part of a row that is not empty a load and a store of its sum.

    What keeps a sum while nothing of its row comes is RAM: 2 cycles to load a byte, 2 to store it. With one
    value a part this is the floor of a matrix that is read column by column.
    """
    touched = sum(1 for count in parts if count)
    return SPARSE_FLOOR[sum_bytes] * sum(parts) + 4 * sum_bytes * touched


def signs_projection(counts: list[int], shape: tuple[int, ...], sum_bytes: int) -> Stage:
    """Weights of one magnitude as lists of columns (models.ternary), two a row; the whole vector only."""
    rows, terms = shape[0], sum(counts)
    lists = sum(10 * count + 3 * (count % 4) + 3 * (count // 4) + SIGNS_LIST for count in counts)
    return Stage(
        "projection",
        f"{rows} × {shape[1]} ternary, {terms} weights, sums of 16 bits",
        1 + len(counts) + terms,
        rows * sum_bytes,
        (CALL_DENSE if rows > 1 else CALL_ONE_ROW) + lists + rows * SIGNS_ROW[sum_bytes],
        whole(TERNARY_FLOOR * terms),
    )


def straight_projection(code: Array, shape: tuple[int, ...], sum_bytes: int, code_bytes: int) -> Stage:
    """Weights as immediates in code (models.straightline); the whole vector only."""
    rows, term = shape[0], {2: 7, 3: 9}[code_bytes]
    loads, steps = (int(((code & mask) == word).sum()) for mask, word in ((0xF0F0, 0xE070), (0xFF30, 0x9620)))
    row = 11 + 2 * sum_bytes + (2 if sum_bytes > code_bytes else 0)
    return Stage(
        "projection",
        f"{rows} × {shape[1]} as code, {loads} weights, sums of {8 * code_bytes} bits",
        code.nbytes,
        rows * sum_bytes,
        45 + term * loads + 2 * steps + rows * row,
        term * loads,
    )


CALL_DENSE = 118
"""Entry and exit of kernel_fold: the loop over rows keeps its pointers in registers that must be saved."""
CALL_ONE_ROW = 18
"""The same where there is no loop over rows."""
CALL_SPARSE = 75


CALL_BLOCK = 92
PAIR = {2: 14, 3: 16, 4: 17}
"""A stored value with its gap, by the bytes of the sum; one less where all features lie in one page."""
SIGNS_LIST, SIGNS_ROW = 20, {2: 8, 3: 48, 4: 58}


def _block_row(count: int, sum_bytes: int) -> int:
    """One row's part of a block."""
    if count == 0:
        return 15
    few = 4 if count < 4 else 0
    return (PAIR[sum_bytes] - 1) * count + 9 + few + _by_fours(count, 1) + 4 * sum_bytes


def _whole_row(count: int, sum_bytes: int, count_bytes: int) -> int:
    """One row of pairs, read to its end."""
    return PAIR[sum_bytes] * count + 11 + 4 * count_bytes + 3 * sum_bytes + _by_fours(count, count_bytes)


def _by_fours(count: int, count_bytes: int) -> int:
    """What it takes to count a row's terms by fours, and those that are left by two bits."""
    fours, alone = divmod(count, 4)
    return (fours * (2 + count_bytes) or 2) + {0: 6, 1: 5, 2: 5, 3: 4}[alone]


def _streamed_pairs(gaps: Array, counts: Array, features: int, sum_bytes: int) -> int:
    """All pieces: a row costs something in every piece, and less once nothing is left of it."""
    count_bytes = counts.dtype.itemsize
    pair = PAIR[sum_bytes] + 5 + count_bytes
    lengths = len(pieces(features, True))
    cycles = (41 + 5 * sum_bytes) * len(counts) + 25 + CALL_SPARSE * (lengths - 1) + len(gaps) * pair
    for opened in open_pieces(columns_of(gaps, counts), counts, features):
        cycles += opened * (51 + 4 * sum_bytes + 2 * count_bytes) - (12 if opened else 0)
        cycles += (lengths - opened) * (18 + 3 * count_bytes)
    return cycles


def columns_of(gaps: Array, counts: Array) -> Array:
    """The column of every stored value of rows of so many, from the gaps that lead to it from column -1."""
    row_of = np.repeat(np.arange(len(counts)), counts)
    column = np.cumsum(gaps.astype(np.int64))
    first = np.concatenate(([0], column))[np.cumsum(counts, dtype=np.int64) - counts]
    return np.asarray(column - first[row_of] - 1)


def open_pieces(columns: Array, counts: Array, features: int) -> list[int]:
    """In how many pieces of a streamed vector something is left of each row."""
    ends = np.cumsum(pieces(features, True))
    last = np.cumsum(counts, dtype=np.int64) - 1
    return [
        int(np.searchsorted(ends, columns[at], side="right")) + 1 if count else 0
        for at, count in zip(last, counts.tolist(), strict=True)
    ]


def rounding(rows: int, sum_bytes: int, shift: int) -> Stage:
    """The projection's sums to int8, in the compiler's words."""
    places = shift - 8 if shift >= 8 and sum_bytes > 2 else shift
    width = sum_bytes - 1 if shift >= 8 and sum_bytes > 2 else sum_bytes
    row = 27 + 2 * sum_bytes + 2 * width + width * min(places, 3)
    return Stage("rounding", f"{rows} sums to 8 bits, shift by {shift}", 4, rows, rows * row)


def biased_scores(scores: int) -> Stage:
    """A bias for every sum, then the largest."""
    return Stage(
        "scores",
        f"{scores} biases and the largest",
        4 * scores,
        0,
        (48 if scores > 1 else 56) * scores + argmax(scores),
    )


def argmax(scores: int) -> int:
    return 8 if scores == 1 else 12 + 21 * scores


def overhead(cycles: int) -> Stage:
    return Stage("calls", "saving registers, calls, opening the window", 0, 0, cycles)


def total(stages: Iterable[Stage]) -> int:
    return sum(stage.cycles for stage in stages)
