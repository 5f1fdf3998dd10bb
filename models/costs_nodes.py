"""Cycles of four-bit matrices, and of the short rows inside of a model, on an AVR (see models.costs).

A weight of four bits is used where it lies in its byte, so that its sums are sixteen times what they mean and
have 24 bits or more (firmware/lib/kernels/avr_nibbles.h).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from models.costs import (
    CALL_DENSE,
    CALL_ONE_ROW,
    CALL_SPARSE,
    DENSE_FLOOR,
    SPARSE_FLOOR,
    STREAMED_SPARSE_FLOOR,
    Stage,
    argmax,
    block_floor,
    blocks,
    columns_of,
    open_pieces,
    pieces,
    whole,
)
from models.inputs import Array

PACKED = {2: 19, 3: 23, 4: 25}
"""Two weights of one byte, by the bytes of their sum."""


def packed_projection(rows: int, features: int, sum_bytes: int, streaming: bool) -> Stage:
    """Rows of two weights a byte, nothing left out."""
    cycles = CALL_DENSE if rows > 1 else CALL_ONE_ROW
    for count in pieces(features, streaming):
        rounds, rest = divmod(count // 2, 8)
        row = count // 2 * PACKED[sum_bytes] + 5 * rounds + 4 * rest + 14 * (count % 2)
        cycles += rows * (row + 62 + 9 * sum_bytes) + 40
    return Stage(
        "projection",
        f"{rows} × {features} dense of 4 bits, sums of {8 * sum_bytes} bits",
        rows * ceil(features / 2),
        rows * sum_bytes,
        whole(cycles),
        whole(DENSE_FLOOR[sum_bytes] * rows * features),
    )


def nibble_projection(nibbles: Array, counts: Array, features: int, sum_bytes: int, streaming: bool) -> Stage:
    """Rows of bytes with a value and a gap each; `counts` says how many each row has."""
    rows, stored = len(counts), len(nibbles)
    count_bytes = counts.dtype.itemsize
    term = {2: 14, 3: 16, 4: 17}[sum_bytes]
    cycles = float(CALL_SPARSE)
    if streaming and len(pieces(features, True)) > 1:
        cycles += stored * (term + 8)
        for opened in open_pieces(columns_of((nibbles & 15) + 1, counts), counts, features):
            cycles += 98 * opened + 80 * (len(pieces(features, True)) - opened)
    else:
        for count in counts.tolist():
            cycles += term * count + 5 * (count // 8) + 4 * (count % 8) + 46 + 4 * count_bytes
    return Stage(
        "projection",
        f"{rows} × {features} sparse of 4 bits, {stored} bytes, sums of {8 * sum_bytes} bits",
        stored + rows * count_bytes,
        rows * (sum_bytes + (4 if streaming else 0)),
        whole(cycles),
        whole((STREAMED_SPARSE_FLOOR if streaming else SPARSE_FLOOR[sum_bytes]) * stored),
    )


def nibble_block_projection(parts: list[int], shape: tuple[int, ...], sum_bytes: int) -> Stage:
    """The same in blocks of columns, streamed; so many bytes in each part of a row."""
    return Stage(
        "projection",
        f"{shape[0]} × {shape[1]} sparse of 4 bits in blocks, {sum(parts)} bytes, "
        f"sums of {8 * sum_bytes} bits",
        sum(parts) + len(parts) + len(pieces(shape[1], True)),
        shape[0] * sum_bytes + 3,
        blocks(parts, shape, sum_bytes),
        whole(block_floor(parts, sum_bytes)),
    )


def offset_rounding(rows: int, sum_bytes: int, shift: int) -> Stage:
    """The projection's sums to int8, each with an offset."""
    return Stage(
        "rounding",
        f"{rows} sums to 8 bits, shift by {shift}, with offsets",
        2 * rows + 4,
        rows + 1,
        rows * (3 + 19 * sum_bytes + places(sum_bytes, shift)),
    )


def places(width: int, shift: int) -> int:
    """Cycles of a shift that is written out (avr_shifts.h)."""
    while shift >= 8 and width > 1:
        width, shift = width - 1, shift - 8
    return 6 + 4 * (8 - shift) if width == 3 and shift >= 6 else width * shift


@dataclass(frozen=True)
class Rows:
    """One of the matrices inside of a model, whose rows are as long as what came of the projection."""

    columns: int
    packed: bool
    sum_bytes: int
    shift: int
    """Of its sums, when they are rounded."""
    flash_bytes: int

    @property
    def cycles(self) -> int:
        """One row, with the call."""
        bytes_, odd = divmod(self.columns, 2)
        if self.packed:
            row = bytes_ * PACKED[self.sum_bytes] + 5 * ceil(bytes_ / 4) + 14 * odd
        else:
            row = self.columns * (8 + self.sum_bytes) + (1 + self.sum_bytes) * ceil(self.columns / 8)
        return row + 26

    @property
    def floor(self) -> float:
        return DENSE_FLOOR[self.sum_bytes] * self.columns


def gated_scores(levels: int, scores: int, rows: tuple[Rows, Rows]) -> Stage:
    """Of every node on the path all predictors, each with its gate; then the largest score."""
    score = sum(kind.cycles + places(kind.sum_bytes, kind.shift) for kind in rows) + 90
    return Stage(
        "nodes",
        f"{levels} on a path, {scores} × {rows[0].columns} predictors and gates each, and the largest",
        sum(kind.flash_bytes for kind in rows) + 8,
        0,
        levels * (scores * score + 20) + 10 * scores + argmax(scores),
        whole(levels * scores * sum(kind.floor for kind in rows)),
    )


def branching(levels: int, rows: Rows) -> Stage:
    """One row a level, and its sign."""
    return Stage(
        "branches",
        f"{levels} of {rows.columns} weights",
        rows.flash_bytes,
        0,
        levels * (rows.cycles + 25),
        whole(levels * rows.floor),
    )
