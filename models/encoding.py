"""How a matrix lies in flash: one class a layout.

A layout turns a matrix into named arrays and back, and knows its size without building anything, which is
what a search for the best model within a byte budget asks for thousands of times. The arrays tell by their
names which layout they are (`w` is dense, `w_pairs` and `w_counts` are sparse rows), so a model needs no
further field for it, and the kernel gets one switch: MODEL_W_DENSE8. A new layout is one class, one entry in
LAYOUTS, and its loop in firmware/lib/kernels/projection.h.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from models import blocks, costs
from models.blocks import Blocks8
from models.errors import InputError
from models.inputs import Array
from models.layout import Layout
from models.straightline import Code8, code_bytes
from models.ternary import Signs8, split

__all__ = [
    "INT8_WEIGHT",
    "LAYOUTS",
    "MAX_GAP",
    "SMALL",
    "Code8",
    "Dense8",
    "Dense32",
    "Layout",
    "Rows8",
    "Rows32",
    "best",
    "best_bytes",
    "c_sizes",
    "decode",
    "encode",
    "layout_of",
    "projection_stage",
    "relaid",
]

MAX_GAP = 255
"""Columns that one gap byte can step; further needs a filler pair."""
INT8_WEIGHT = 127
"""Weights are symmetric: -128 has no counterpart, and would cost a bit in every worst case."""


class _Dense(Layout):
    """Row after row, nothing left out."""

    parts = ("",)

    @classmethod
    def size(cls, matrix: Array) -> int:
        return matrix.size * cls.dtype.itemsize

    @classmethod
    def encode(cls, matrix: Array) -> dict[str, Array]:
        return {"": matrix.astype(cls.dtype)}

    @classmethod
    def decode(cls, arrays: Mapping[str, Array], columns: int) -> Array:
        matrix = arrays[""]
        if matrix.ndim != 2 or matrix.dtype != cls.dtype or matrix.shape[1] != columns:
            raise InputError(
                f"The matrix is {matrix.dtype} of shape {matrix.shape}, not {columns} columns of {cls.dtype}."
            )
        return matrix


class Dense8(_Dense):
    name = "dense8"
    dtype = np.dtype(np.int8)


class Dense32(_Dense):
    name = "dense_float"
    dtype = np.dtype("<f4")


class _Rows(Layout):
    """Row after row, the non-zero values only, each with the gap from the column before it.

    A gap is one byte: the first of a row counts from column -1, so that it is at least 1. Where a gap is
    beyond a byte, filler values of zero step 255 columns each: the kernel needs no case for them. Beside the
    values stands a count for each row, in one byte where all counts fit.
    """

    @classmethod
    def size(cls, matrix: Array) -> int:
        counts = _row_counts(matrix)
        return (1 + cls.dtype.itemsize) * max(1, int(counts.sum())) + counts.size * _count_type(
            counts
        ).itemsize

    @classmethod
    def _walk(cls, matrix: Array) -> tuple[npt.NDArray[np.uint8], Array, Array]:
        """Gaps, values and the count of each row."""
        rows, columns = np.nonzero(matrix)
        gap = _gaps(rows, columns)
        entries = _entries(gap)
        last = np.cumsum(entries) - 1
        gaps = np.full(max(1, int(entries.sum())), MAX_GAP, dtype=np.uint8)
        values = np.zeros(gaps.size, dtype=cls.dtype)
        gaps[last] = gap - MAX_GAP * (entries - 1)
        values[last] = matrix[rows, columns]
        counts = _row_counts(matrix)
        if rows.size == 0:  # C has no arrays of no elements: one value of zero
            gaps[0], counts[0] = 1, 1
        return gaps, values, counts.astype(_count_type(counts))

    @classmethod
    def _unwalk(cls, gaps: Array, values: Array, counts: Array, columns: int) -> Array:
        if counts.ndim != 1 or counts.dtype not in (np.dtype("u1"), np.dtype("<u2")):
            raise InputError(
                f"The row counts are {counts.dtype} of shape {counts.shape}, not a row of u1 or u2."
            )
        if int(counts.sum()) != gaps.size or gaps.shape != values.shape:
            raise InputError(
                f"The row counts add up to {int(counts.sum())}, but there are {gaps.size} values."
            )
        row = np.repeat(np.arange(counts.size), counts)
        total = np.cumsum(gaps.astype(np.int64))
        start = np.cumsum(counts, dtype=np.int64) - counts
        before = np.concatenate(([0], total))[start]
        column = total - before[row] - 1
        if gaps.size and (int(gaps.min()) < 1 or int(column.max()) >= columns):
            raise InputError(f"A gap leads outside of the matrix's {columns} columns.")
        matrix = np.zeros((counts.size, columns), dtype=cls.dtype)
        matrix[row, column] = values
        return matrix

    @classmethod
    def switches(cls, arrays: Mapping[str, Array]) -> dict[str, int]:
        return {"count_bytes": arrays["_counts"].dtype.itemsize}


class Rows8(_Rows):
    """Gap and value side by side, so that one pointer serves both."""

    name = "rows8"
    dtype = np.dtype(np.int8)
    parts = ("_pairs", "_counts")

    @classmethod
    def encode(cls, matrix: Array) -> dict[str, Array]:
        gaps, values, counts = cls._walk(matrix)
        return {"_pairs": np.column_stack([gaps, values.view(np.uint8)]), "_counts": counts}

    @classmethod
    def decode(cls, arrays: Mapping[str, Array], columns: int) -> Array:
        pairs = arrays["_pairs"]
        if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype != np.uint8:
            raise InputError(f"The pairs are {pairs.dtype} of shape {pairs.shape}, not bytes in twos.")
        values = np.ascontiguousarray(pairs[:, 1]).view(np.int8)
        return cls._unwalk(pairs[:, 0], values, arrays["_counts"], columns)


class Rows32(_Rows):
    """Gaps and values apart, because a float wants to be aligned on some processors."""

    name = "rows_float"
    dtype = np.dtype("<f4")
    parts = ("_gaps", "_values", "_counts")

    @classmethod
    def encode(cls, matrix: Array) -> dict[str, Array]:
        return dict(zip(cls.parts, cls._walk(matrix), strict=True))

    @classmethod
    def decode(cls, arrays: Mapping[str, Array], columns: int) -> Array:
        gaps, values = arrays["_gaps"], arrays["_values"]
        if gaps.ndim != 1 or gaps.dtype != np.uint8 or values.dtype != cls.dtype:
            raise InputError(
                f"The sparse values are {gaps.dtype} and {values.dtype}, not gap bytes and floats."
            )
        return cls._unwalk(gaps, values, arrays["_counts"], columns)


SMALL: tuple[type[Layout], ...] = (Dense8, Rows8, Dense32, Rows32)
"""The smallest is among these; of two equally small ones the first is chosen, which is also the faster."""
LAYOUTS: tuple[type[Layout], ...] = (*SMALL, Blocks8, Signs8, Code8)


def best(matrix: npt.ArrayLike) -> type[Layout]:
    """The smallest layout for a matrix of integers (within ±127) or of float32."""
    values = _checked(matrix)
    kind = np.dtype("<f4") if values.dtype.kind == "f" else np.dtype(np.int8)
    return min((layout for layout in SMALL if layout.dtype == kind), key=lambda layout: layout.size(values))


def best_bytes(matrix: npt.ArrayLike) -> int:
    """The bytes a matrix will take in its smallest layout, without building it."""
    values = _checked(matrix)
    return best(values).size(values)


def encode(name: str, matrix: npt.ArrayLike, layout: type[Layout] | None = None) -> dict[str, Array]:
    """A matrix's arrays by full name, in the layout given or the smallest."""
    values = _checked(matrix)
    chosen = layout or best(values)
    return {name + part: array for part, array in chosen.encode(values).items()}


def layout_of(name: str, arrays: Mapping[str, Array], kind: npt.DTypeLike) -> type[Layout]:
    """Which layout of that number type a model's arrays hold the matrix in."""
    for layout in LAYOUTS:
        if layout.dtype == np.dtype(kind) and all(name + part in arrays for part in layout.parts):
            return layout
    raise InputError(f"The arrays {', '.join(sorted(arrays)) or '(none)'} hold no matrix {name!r}.")


def decode(name: str, arrays: Mapping[str, Array], columns: int, kind: npt.DTypeLike) -> Array:
    """The matrix of that name out of a model's arrays."""
    layout = layout_of(name, arrays, kind)
    return layout.decode({part: arrays[name + part] for part in layout.parts}, columns)


def c_sizes(name: str, arrays: Mapping[str, Array], kind: npt.DTypeLike) -> dict[str, int]:
    """The switches for model.h that tell the kernel how to read the matrix."""
    layout = layout_of(name, arrays, kind)
    own = layout.switches({part: arrays[name + part] for part in layout.parts})
    return {f"{name}_{layout.name}": 1, **{f"{name}_{key}": value for key, value in own.items()}}


def relaid(
    name: str, arrays: Mapping[str, Array], matrix: Array, *, streaming: bool
) -> list[dict[str, Array]]:
    """A model's arrays with its int8 matrix in every layout that suits such firmware."""
    own = {name + part for layout in LAYOUTS for part in layout.parts}
    others = {key: array for key, array in arrays.items() if key not in own}
    layouts: list[type[Layout]] = [Dense8, Rows8, *([Blocks8] if streaming else [Signs8, Code8])]
    return [{**encode(name, matrix, layout), **others} for layout in layouts if layout.suits(matrix)]


def projection_stage(
    name: str, arrays: Mapping[str, Array], shape: tuple[int, ...], sum_bytes: int, streaming: bool
) -> costs.Stage:
    """What the projection by an int8 matrix takes of an AVR."""
    layout = layout_of(name, arrays, np.int8)
    if layout is Dense8:
        return costs.dense_projection(shape[0], shape[1], sum_bytes, streaming)
    if layout is Blocks8:
        return costs.block_projection(blocks.counts(arrays[f"{name}_blocks"], 2, shape[1]), shape, sum_bytes)
    if layout is Signs8:
        return costs.signs_projection(
            [len(gaps) for gaps in split(arrays[f"{name}_signs"])], shape, sum_bytes
        )
    if layout is Code8:
        code = arrays[f"{name}_code"]
        return costs.straight_projection(code, shape, sum_bytes, code_bytes(code))
    gaps, counts = arrays[f"{name}_pairs"][:, 0], arrays[f"{name}_counts"]
    return costs.sparse_projection(gaps, counts, shape[1], sum_bytes, streaming)


def _checked(matrix: npt.ArrayLike) -> Array:
    values = np.asarray(matrix)
    if values.ndim != 2 or values.size == 0:
        raise InputError(f"A weight matrix of shape {values.shape} is not rows × columns.")
    if values.dtype.kind == "f":
        values = values.astype("<f4")
        if not np.isfinite(values).all():
            raise InputError("A weight matrix holds NaN, or values beyond float32.")
    elif values.dtype.kind not in "iu":
        raise InputError(f"A weight matrix holds {values.dtype}, neither integers nor floats.")
    elif max(int(values.max()), -int(values.min())) > INT8_WEIGHT:
        worst = max(int(values.max()), int(values.min()), key=abs)
        raise InputError(
            f"The weight {worst} is beyond ±{INT8_WEIGHT}.", "Scale the matrix before rounding it."
        )
    return values


def _gaps(rows: Array, columns: Array) -> Array:
    """Columns from the non-zero value before in the same row; the first of a row counts from column -1."""
    gap = np.diff(columns, prepend=-1)
    first = np.diff(rows, prepend=-1) > 0
    gap[first] = columns[first] + 1
    return gap


def _entries(gap: Array) -> Array:
    """Stored values a gap takes: the value itself, and the fillers before it."""
    return (gap + MAX_GAP - 1) // MAX_GAP


def _row_counts(matrix: Array) -> Array:
    rows, columns = np.nonzero(matrix)
    weights = _entries(_gaps(rows, columns))
    return np.bincount(rows, weights=weights, minlength=matrix.shape[0]).astype(np.int64)


def _count_type(counts: Array) -> np.dtype[np.generic]:
    largest = int(counts.max(initial=0))
    if largest > np.iinfo(np.uint16).max:
        raise InputError(f"A row of {largest} values is beyond the 65535 a sparse row can have.")
    return np.dtype("u1") if largest <= np.iinfo(np.uint8).max else np.dtype("<u2")
