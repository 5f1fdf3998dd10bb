"""Sparse rows in blocks of columns: for vectors that come in pieces of a block each.

A row that is read piece by piece must be remembered where it was left, and each of its columns compared with
the end of the piece. Cut into blocks, every part of a row is read to its end: 15 cycles a weight instead of
22, and no RAM but the sums, for a count a row and block.

A block is the number of its rows, then of each row a count and so many values. The first block has all rows
of the matrix; those after the last that is not empty are left out of the others, which cost time too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from models.costs import PIECE_FEATURES
from models.errors import InputError
from models.inputs import Array
from models.layout import Layout

MOST_ROWS = 255
"""Counted in a byte."""


class Blocks8(Layout):
    """A value is a pair of gap and weight, as in sparse rows.

    A gap counts from the column before in the same block, the first from the column before the block.
    """

    name = "blocks8"
    dtype = np.dtype(np.int8)
    parts = ("_blocks",)

    @classmethod
    def suits(cls, matrix: Array) -> bool:
        return len(matrix) <= MOST_ROWS

    @classmethod
    def size(cls, matrix: Array) -> int:
        return cls.encode(matrix)["_blocks"].size

    @classmethod
    def encode(cls, matrix: Array) -> dict[str, Array]:
        return {"_blocks": joined(matrix, _pairs)}

    @classmethod
    def decode(cls, arrays: Mapping[str, Array], columns: int) -> Array:
        found = split(arrays["_blocks"], 2, columns)
        matrix = np.zeros((len(found[0]), columns), dtype=np.int8)
        for number, block in enumerate(found):
            first = number * PIECE_FEATURES
            width = min(columns, first + PIECE_FEATURES)
            for row, part in enumerate(block):
                column = np.cumsum(part[:, 0].astype(np.int64)) - 1 + first
                if part.size and (int(part[:, 0].min()) < 1 or int(column.max()) >= width):
                    raise InputError(f"A gap leads outside of block {number}, which ends at column {width}.")
                matrix[row, column] = np.ascontiguousarray(part[:, 1]).view(np.int8)
        return matrix


def cut(matrix: Array) -> list[Array]:
    """A matrix's blocks."""
    return [matrix[:, at : at + PIECE_FEATURES] for at in range(0, matrix.shape[1], PIECE_FEATURES)]


def joined(matrix: Array, values: Callable[[Array], Array]) -> Array:
    """All blocks, one after the other, out of what gives the values of a part, one a line."""
    stream: list[int] = []
    for number, block in enumerate(cut(matrix)):
        used = np.flatnonzero(block.any(axis=1))
        rows = len(matrix) if number == 0 else int(used.max(initial=-1)) + 1
        stream.append(rows)
        for row in block[:rows]:
            part = values(row)
            stream += [len(part), *part.ravel().tolist()]
    return np.array(stream, dtype=np.uint8)


def split(stream: Array, width: int, columns: int) -> list[list[Array]]:
    """Of every block the parts that it has, each a line of `width` bytes a value."""
    if stream.ndim != 1 or stream.dtype != np.uint8:
        raise InputError(f"The blocks are {stream.dtype} of shape {stream.shape}, not a row of bytes.")
    found: list[list[Array]] = []
    at = 0
    while at < stream.size:
        rows, at = int(stream[at]), at + 1
        found.append([])
        for _ in range(rows):
            end = at + 1 + width * int(stream[at]) if at < stream.size else at + 1
            if end > stream.size:
                raise InputError(f"The last part of the blocks has {stream.size - at} bytes of {end - at}.")
            found[-1].append(stream[at + 1 : end].reshape(-1, width))
            at = end
    wanted = -(-columns // PIECE_FEATURES)
    if len(found) != wanted:
        raise InputError(f"There are {len(found)} blocks, not {wanted} for {columns} columns.")
    if not found[0] or max(map(len, found)) > len(found[0]):
        raise InputError(f"The first block has {len(found[0])} rows, which are not all.")
    return found


def counts(stream: Array, width: int, columns: int) -> list[int]:
    """How many values each part has that is stored."""
    return [len(part) for block in split(stream, width, columns) for part in block]


def _pairs(row: Array) -> Array:
    columns = np.flatnonzero(row)
    return np.column_stack([np.diff(columns, prepend=-1), row[columns].astype(np.int64) & 0xFF])
