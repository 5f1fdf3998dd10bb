"""Matrices of one magnitude: lists of columns, those to be added and those to be subtracted.

Where all weights are -a, 0 or a, a weight is its place alone: a byte instead of two, and an addition instead
of a multiplication; the sums are multiplied by a at the end.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from models.errors import InputError
from models.inputs import Array
from models.layout import Layout

MOST = 255
"""Of a row's weights, so that 16 bits hold the sum of its features; and of the columns a gap can step."""


class Signs8(Layout):
    """The magnitude, then of each row two lists, plus and minus: a count, then so many gaps.

    A gap is that from the column before in the same list; the first of a list counts from column -1.
    """

    name = "signs8"
    dtype = np.dtype(np.int8)
    parts = ("_signs",)

    @classmethod
    def suits(cls, matrix: Array) -> bool:
        """Whether there is one magnitude, and no row or gap is beyond a byte."""
        if np.unique(np.abs(matrix[matrix != 0].astype(np.int64))).size != 1:
            return False
        gaps = [gap for row in matrix for sign in (1, -1) for gap in _gaps(row, sign)]
        return max(gaps) <= MOST and int(np.count_nonzero(matrix, axis=1).max()) <= MOST

    @classmethod
    def size(cls, matrix: Array) -> int:
        return 1 + 2 * len(matrix) + int(np.count_nonzero(matrix))

    @classmethod
    def encode(cls, matrix: Array) -> dict[str, Array]:
        if not cls.suits(matrix):
            raise InputError(
                "The weights have more than one magnitude, or lie too far apart for lists of signs."
            )
        stream = [int(np.abs(matrix.astype(np.int64)).max())]
        for row in matrix:
            for sign in (1, -1):
                gaps = _gaps(row, sign)
                stream += [len(gaps), *gaps]
        return {"_signs": np.array(stream, dtype=np.uint8)}

    @classmethod
    def decode(cls, arrays: Mapping[str, Array], columns: int) -> Array:
        stream = arrays["_signs"]
        if stream.ndim != 1 or stream.dtype != np.uint8 or stream.size < 3:
            raise InputError(f"The signs are {stream.dtype} of shape {stream.shape}, not a row of bytes.")
        lists = split(stream)
        if len(lists) % 2:
            raise InputError(f"{len(lists)} lists of signs are not two a row.")
        matrix = np.zeros((len(lists) // 2, columns), dtype=np.int8)
        for number, gaps in enumerate(lists):
            column = np.cumsum(gaps.astype(np.int64)) - 1
            if gaps.size and (int(gaps.min()) < 1 or int(column[-1]) >= columns):
                raise InputError(f"A gap leads outside of the matrix's {columns} columns.")
            if matrix[number // 2, column].any():
                raise InputError("A column is to be both added and subtracted.")
            matrix[number // 2, column] = (-1) ** number * int(stream[0])
        return matrix

    @classmethod
    def switches(cls, arrays: Mapping[str, Array]) -> dict[str, int]:
        return {"level": int(arrays["_signs"][0])}


def split(stream: Array) -> list[Array]:
    """The gaps of every list."""
    lists: list[Array] = []
    at = 1
    while at < stream.size:
        end = at + 1 + int(stream[at])
        if end > stream.size:
            raise InputError(f"The last list of signs has {stream.size - at} bytes of {end - at}.")
        lists.append(stream[at + 1 : end])
        at = end
    return lists


def _gaps(row: Array, sign: int) -> list[int]:
    return [int(gap) for gap in np.diff(np.flatnonzero(np.sign(row) == sign), prepend=-1)]
