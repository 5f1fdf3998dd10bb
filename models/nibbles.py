"""Weights of four bits: two layouts for matrices whose integers lie within ±7.

Half a byte is enough for a weight that was trained to be one, and half a byte is enough for most gaps of a
sparse row, so a non-zero weight costs one byte instead of two, and a dense one half a byte. Where a matrix
holds larger integers, the layouts of models.encoding serve.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from models import blocks, costs, costs_nodes, encoding
from models.encoding import Layout
from models.errors import InputError
from models.inputs import Array

LIMIT = 7
"""Symmetric, as int8 weights are: -8 is never stored."""
MAX_GAP = 16


class Dense4(Layout):
    """Row after row, two columns a byte, the first in the upper half; a row begins with a new byte."""

    name = "dense4"
    dtype = np.dtype(np.int8)
    parts = ("_packed",)

    @classmethod
    def size(cls, matrix: Array) -> int:
        return int(matrix.shape[0]) * ((int(matrix.shape[1]) + 1) // 2)

    @classmethod
    def encode(cls, matrix: Array) -> dict[str, Array]:
        _check(matrix)
        rows, columns = matrix.shape
        even = np.zeros((rows, columns + columns % 2), dtype=np.int64)
        even[:, :columns] = matrix
        return {"_packed": ((even[:, 0::2] & 15) << 4 | (even[:, 1::2] & 15)).astype(np.uint8)}

    @classmethod
    def decode(cls, arrays: Mapping[str, Array], columns: int) -> Array:
        packed = arrays["_packed"]
        if packed.ndim != 2 or packed.dtype != np.uint8 or packed.shape[1] != (columns + 1) // 2:
            raise InputError(
                f"The packed matrix is {packed.dtype} of shape {packed.shape}, not {columns} columns."
            )
        halves = np.stack([_signed(packed >> 4), _signed(packed & 15)], axis=2)
        matrix = halves.reshape(packed.shape[0], -1)
        if matrix[:, columns:].any():
            raise InputError("The half byte that fills a packed row up is not zero.")
        return _check(matrix[:, :columns])


class Rows4(Layout):
    """Of each row the non-zero values, a byte each: the value in the upper half, the gap less one below.

    The gap is that from the column before, -1 at first. Where it is beyond 16, fillers of value 0 step 16
    columns each. Beside the bytes stands a count for each row, in one byte where all counts fit.
    """

    name = "rows4"
    dtype = np.dtype(np.int8)
    parts = ("_nibbles", "_counts")

    @classmethod
    def size(cls, matrix: Array) -> int:
        _, entries, counts = _walk(matrix)
        return max(1, int(entries.sum())) + counts.size * _count_type(counts).itemsize

    @classmethod
    def encode(cls, matrix: Array) -> dict[str, Array]:
        _check(matrix)
        gap, entries, counts = _walk(matrix)
        nibbles = np.full(max(1, int(entries.sum())), MAX_GAP - 1, dtype=np.int64)
        nibbles[np.cumsum(entries) - 1] = (matrix[np.nonzero(matrix)].astype(np.int64) & 15) << 4 | (
            gap - 1
        ) % MAX_GAP
        if gap.size == 0:  # C has no arrays of no elements: one value of zero
            nibbles[0], counts[0] = 0, 1
        return {"_nibbles": nibbles.astype(np.uint8), "_counts": counts.astype(_count_type(counts))}

    @classmethod
    def decode(cls, arrays: Mapping[str, Array], columns: int) -> Array:
        nibbles, counts = arrays["_nibbles"], arrays["_counts"]
        if nibbles.ndim != 1 or nibbles.dtype != np.uint8:
            raise InputError(f"The values are {nibbles.dtype} of shape {nibbles.shape}, not a row of bytes.")
        if counts.ndim != 1 or counts.dtype not in (np.dtype("u1"), np.dtype("<u2")):
            raise InputError(f"The counts are {counts.dtype} of shape {counts.shape}, not a row of u1 or u2.")
        if int(counts.sum()) != nibbles.size:
            raise InputError(f"The counts add up to {int(counts.sum())}, but there are {nibbles.size}.")
        row = np.repeat(np.arange(counts.size), counts)
        reached = np.concatenate(([0], np.cumsum((nibbles & 15).astype(np.int64) + 1)))
        start = np.cumsum(counts, dtype=np.int64) - counts
        column = reached[1:] - reached[start][row] - 1
        if column.size and int(column.max()) >= columns:
            raise InputError(f"A gap leads outside of the matrix's {columns} columns.")
        matrix = np.zeros((counts.size, columns), dtype=np.int8)
        matrix[row, column] = _signed(nibbles >> 4)
        return _check(matrix)

    @classmethod
    def switches(cls, arrays: Mapping[str, Array]) -> dict[str, int]:
        return {"count_bytes": arrays["_counts"].dtype.itemsize}


class Blocks4(Layout):
    """Sparse rows in blocks of columns, as in models.blocks; a value is a byte as in Rows4."""

    name = "blocks4"
    dtype = np.dtype(np.int8)
    parts = ("_nibble_blocks",)

    @classmethod
    def suits(cls, matrix: Array) -> bool:
        return len(matrix) <= blocks.MOST_ROWS

    @classmethod
    def size(cls, matrix: Array) -> int:
        return cls.encode(matrix)["_nibble_blocks"].size

    @classmethod
    def encode(cls, matrix: Array) -> dict[str, Array]:
        return {"_nibble_blocks": blocks.joined(matrix, _bytes)}

    @classmethod
    def decode(cls, arrays: Mapping[str, Array], columns: int) -> Array:
        found = blocks.split(arrays["_nibble_blocks"], 1, columns)
        matrix = np.zeros((len(found[0]), columns), dtype=np.int8)
        for block, parts in zip(blocks.cut(matrix), found, strict=True):
            if parts:
                counts = np.array([len(part) for part in parts], dtype=np.uint8)
                joined = np.concatenate(parts)[:, 0]
                block[: len(parts)] = Rows4.decode({"_nibbles": joined, "_counts": counts}, block.shape[1])
        return matrix


FOUR_BITS: tuple[type[Layout], ...] = (Dense4, Rows4, Blocks4)
SMALL: tuple[type[Layout], ...] = (Dense4, Rows4)
"""The smallest is among these."""


def smallest(matrix: Array, limit: int) -> type[Layout]:
    """The smallest layout for integers within ±limit."""
    return min(_allowed(limit), key=lambda layout: layout.size(matrix))


def flash_bytes(matrix: Array, limit: int) -> int:
    """What a matrix of integers within ±limit takes in flash; only its zeros matter."""
    return min(layout.size(matrix) for layout in _allowed(limit))


def layout_of(name: str, arrays: Mapping[str, Array], kind: npt.DTypeLike = np.int8) -> type[Layout]:
    """Which layout of that number type a model's arrays hold the matrix in, those of four bits included."""
    for layout in FOUR_BITS:
        if layout.dtype == np.dtype(kind) and all(name + part in arrays for part in layout.parts):
            return layout
    return encoding.layout_of(name, arrays, kind)


def decode(name: str, arrays: Mapping[str, Array], columns: int, kind: npt.DTypeLike = np.int8) -> Array:
    """The matrix of that name out of a model's arrays."""
    layout = layout_of(name, arrays, kind)
    return layout.decode({part: arrays[name + part] for part in layout.parts}, columns)


def c_sizes(name: str, arrays: Mapping[str, Array], kind: npt.DTypeLike = np.int8) -> dict[str, int]:
    """The switches for model.h that tell the kernel how to read the matrix."""
    layout = layout_of(name, arrays, kind)
    own = layout.switches({part: arrays[name + part] for part in layout.parts})
    return {f"{name}_{layout.name}": 1, **{f"{name}_{key}": value for key, value in own.items()}}


def _allowed(limit: int) -> tuple[type[Layout], ...]:
    return SMALL if limit <= LIMIT else (encoding.Dense8, encoding.Rows8)


def _walk(matrix: Array) -> tuple[Array, Array, npt.NDArray[np.int64]]:
    """Gaps of the non-zero values, the bytes each takes with its fillers, and the bytes of each row."""
    rows, columns = np.nonzero(matrix)
    gap = np.diff(columns, prepend=-1)
    first = np.diff(rows, prepend=-1) > 0
    gap[first] = columns[first] + 1
    entries = (gap + MAX_GAP - 1) // MAX_GAP
    counts = np.bincount(rows, weights=entries, minlength=matrix.shape[0]).astype(np.int64)
    return gap, entries, counts


def _bytes(row: Array) -> Array:
    """A row's values, one a line."""
    if not row.any():
        return np.zeros((0, 1), dtype=np.uint8)
    return Rows4.encode(row[None, :])["_nibbles"][:, None]


def _count_type(counts: npt.NDArray[np.int64]) -> np.dtype[np.generic]:
    largest = int(counts.max(initial=0))
    if largest > np.iinfo(np.uint16).max:
        raise InputError(f"A row of {largest} values is beyond the 65535 a sparse row can have.")
    return np.dtype("u1") if largest <= np.iinfo(np.uint8).max else np.dtype("<u2")


def _signed(halves: Array) -> Array:
    """Four bits as a number from -8 to 7."""
    return ((halves.astype(np.int8) ^ 8) - 8).astype(np.int8)


def _check(matrix: Array) -> Array:
    if matrix.size and int(np.abs(matrix.astype(np.int64)).max()) > LIMIT:
        raise InputError(f"A weight of four bits is beyond ±{LIMIT}.", "Scale the matrix before rounding it.")
    return matrix


def relaid(
    name: str, arrays: Mapping[str, Array], matrix: Array, *, streaming: bool
) -> list[dict[str, Array]]:
    """A model's arrays with its matrix in every layout that suits such firmware, of int8 or of four bits."""
    own = {name + part for layout in FOUR_BITS for part in layout.parts}
    others = {key: array for key, array in arrays.items() if key not in own}
    found = encoding.relaid(name, others, matrix, streaming=streaming)
    if int(np.abs(matrix.astype(np.int64)).max()) <= LIMIT:
        plain = {name + part for layout in encoding.LAYOUTS for part in layout.parts}
        rest = {key: array for key, array in others.items() if key not in plain}
        layouts = FOUR_BITS if streaming else SMALL
        found += [
            {**encoding.encode(name, matrix, layout), **rest} for layout in layouts if layout.suits(matrix)
        ]
    return found


def scale_in_sums(name: str, arrays: Mapping[str, Array]) -> int:
    """What the kernel multiplies a matrix's sums by: it uses four bits where they lie, above four others."""
    return 16 if layout_of(name, arrays) in FOUR_BITS else 1


def projection_stage(
    name: str, arrays: Mapping[str, Array], shape: tuple[int, ...], sum_bytes: int, streaming: bool
) -> costs.Stage:
    """What the projection by a matrix of int8 or of four bits takes of an AVR."""
    layout = layout_of(name, arrays)
    if layout is Dense4:
        return costs_nodes.packed_projection(shape[0], shape[1], sum_bytes, streaming)
    if layout is Blocks4:
        counts = blocks.counts(arrays[f"{name}_nibble_blocks"], 1, shape[1])
        return costs_nodes.nibble_block_projection(counts, shape, sum_bytes)
    if layout is Rows4:
        return costs_nodes.nibble_projection(
            arrays[f"{name}_nibbles"], arrays[f"{name}_counts"], shape[1], sum_bytes, streaming
        )
    return encoding.projection_stage(name, arrays, shape, sum_bytes, streaming)
