"""The device's arithmetic in numpy: the same integers, and the same float32 bits.

Its C twin is firmware/lib/kernels/arithmetic.h (integers) and float_exp.h (floats).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from models.errors import InputError
from models.inputs import Array

Int64 = npt.NDArray[np.int64]
Float32 = npt.NDArray[np.float32]

INT32_MAX = 2**31 - 1
INT8_REACH = 128
"""The largest magnitude of an int8 feature: the scale never sends -128, but the wire could."""

EXP_TABLE = np.rint(255 * 2.0 ** (-np.arange(16) / 16)).astype(np.uint8)
"""2^(-f/16), 255 being 1: the fraction of an integer exponential; the whole part is a shift."""
EXP_SIXTEENTHS = 128
"""From here on the 8-bit exponential is zero: 255 shifted by 8."""


def integer_product(a: Array, b: Array) -> Int64:
    """a @ b.T for integers, through float64 matrix multiplication, which BLAS makes fast.

    Exact in any order of summation: callers have bounded every partial sum to 32 bits, and float64 holds all
    integers up to 2^53.
    """
    return (a.astype(np.float64) @ b.astype(np.float64).T).astype(np.int64)


def round_shift(value: Int64, shift: int) -> Int64:
    """value / 2^shift to the nearest integer, halves up: how the device drops bits."""
    return (value + (1 << (shift - 1))) >> shift


def exp2_table(sixteenths: Int64) -> Int64:
    """255·2^(-u/16) in 8 bits, by table and shift."""
    u = np.minimum(sixteenths, EXP_SIXTEENTHS)
    similarity: Int64 = EXP_TABLE.astype(np.int64)[u & 15] >> (u >> 4)
    return similarity


def sum_bytes(what: str, rows: Array, reach: int, extra: Array | int = 0) -> int:
    """Bytes (2, 3 or 4) that hold every sum of rows · inputs plus `extra`, for any inputs within ±reach.

    The bound is on the sum of magnitudes, so that it holds for every partial sum as well, in any order and
    however the inputs are cut into pieces. InputError if 32 bits are not enough.
    """
    worst = np.abs(rows.astype(np.int64)).sum(axis=1) * reach + np.abs(np.asarray(extra, dtype=np.int64))
    row = int(worst.argmax())
    for size in (2, 3, 4):
        if int(worst[row]) < 1 << (8 * size - 1):
            return size
    raise InputError(
        f"{what} {row} can reach {int(worst[row])}, beyond the {INT32_MAX} of 32 bits.",
        "Use smaller weights or fewer of them.",
    )


def ordered_product(x: Float32, rows: Float32) -> Float32:
    """x @ rows.T as a loop of float32 multiply, then float32 add, in the order of the columns.

    The order matters: float addition is not associative, and the device adds feature after feature. Columns
    of zeros are passed over: a sum that began with +0 is never -0, so adding a zero leaves its bits alone.
    """
    total = np.zeros((x.shape[0], rows.shape[0]), dtype=np.float32)
    for column in np.flatnonzero(rows.any(axis=0)):
        total += x[:, column, None] * rows[None, :, column]
    return total


EXP2_LIMIT = np.float32(125)
"""From here on the result is 0. 2^-126 is the smallest normal float32, so that no denormal ever arises."""
EXP2_COEFFICIENTS = tuple(
    np.float32(c) for c in (1.0, -0.6931437254, 0.2401801497, -0.0552973561, 0.0092057977, -0.0009449034)
)
"""2^-f for f in [0, 1], lowest power first: of the polynomials that are 1 at 0 the one of least relative
error, 8.4e-8."""


def exp2_negative(t: Float32) -> Float32:
    """2^-t for t ≥ 0, with the same float32 operations as float_exp.h.

    The whole part of t goes straight into the exponent field, the fraction through a polynomial.
    """
    inside = t < EXP2_LIMIT
    safe = np.where(inside, t, np.float32(0))
    whole = safe.astype(np.int32)
    fraction = safe - whole.astype(np.float32)
    value = np.full_like(fraction, EXP2_COEFFICIENTS[-1])
    for coefficient in reversed(EXP2_COEFFICIENTS[:-1]):
        value = value * fraction + coefficient
    bits = value.view(np.int32) - (whole << 23)
    return np.where(inside, bits.view(np.float32), np.float32(0))
