"""Sparse rows in blocks of columns: for vectors that come in pieces of a block each.

A row that is read piece by piece must be remembered where it was left, and each of its columns compared with
the end of the piece. Cut into blocks, every part of a row is read to its end: 16 cycles a weight instead of
22, and no RAM but the sums, for a count a row and block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from models.costs import PIECE_FEATURES
from models.errors import InputError
from models.inputs import Array
from models.layout import Layout


class Blocks8(Layout):
    """Block after block, of each row a count, then so many pairs of gap and value, as in sparse rows.

    A gap counts from the column before in the same block, the first from the column before the block.
    """

    name = "blocks8"
    dtype = np.dtype(np.int8)
    parts = ("_blocks",)

    @classmethod
    def size(cls, matrix: Array) -> int:
        return 2 * int(np.count_nonzero(matrix)) + len(matrix) * _blocks(matrix.shape[1])

    @classmethod
    def encode(cls, matrix: Array) -> dict[str, Array]:
        stream: list[int] = []
        for block in cut(matrix):
            for row in block.astype(np.int64):
                columns = np.flatnonzero(row)
                pairs = np.column_stack([np.diff(columns, prepend=-1), row[columns] & 0xFF])
                stream += [len(columns), *pairs.ravel().tolist()]
        return {"_blocks": np.array(stream, dtype=np.uint8)}

    @classmethod
    def decode(cls, arrays: Mapping[str, Array], columns: int) -> Array:
        parts = parts_of(arrays["_blocks"], 2)
        rows = rows_of(parts, columns)
        matrix = np.zeros((rows, columns), dtype=np.int8)
        for number, part in enumerate(parts):
            block, row = divmod(number, rows)
            column = np.cumsum(part[:, 0].astype(np.int64)) - 1 + block * PIECE_FEATURES
            width = min(columns, (block + 1) * PIECE_FEATURES)
            if part.size and (int(part[:, 0].min()) < 1 or int(column.max()) >= width):
                raise InputError(f"A gap leads outside of block {block}, which ends at column {width}.")
            matrix[row, column] = np.ascontiguousarray(part[:, 1]).view(np.int8)
        return matrix


def cut(matrix: Array) -> list[Array]:
    """A matrix's blocks."""
    return [matrix[:, at : at + PIECE_FEATURES] for at in range(0, matrix.shape[1], PIECE_FEATURES)]


def parts_of(stream: Array, width: int) -> list[Array]:
    """What of each row is in each block, block after block: so many entries of `width` bytes."""
    if stream.ndim != 1 or stream.dtype != np.uint8:
        raise InputError(f"The blocks are {stream.dtype} of shape {stream.shape}, not a row of bytes.")
    parts: list[Array] = []
    at = 0
    while at < stream.size:
        end = at + 1 + width * int(stream[at])
        if end > stream.size:
            raise InputError(f"The last part of the blocks has {stream.size - at} bytes of {end - at}.")
        parts.append(stream[at + 1 : end].reshape(-1, width))
        at = end
    return parts


def rows_of(parts: Sequence[Array], columns: int) -> int:
    """How many rows a matrix of these parts has."""
    blocks = _blocks(columns)
    rows, rest = divmod(len(parts), blocks)
    if rest or not rows:
        raise InputError(f"{len(parts)} parts are not so many for each of {blocks} blocks.")
    return rows


def _blocks(columns: int) -> int:
    return -(-columns // PIECE_FEATURES)
