"""What nearest prototypes take of an AVR (models.costs).

Where all coordinates are at hand, a prototype is left when, after eight dimensions more, it is no nearer than
one before it of its class (firmware/lib/kernels/avr_nearer.h). How many rounds of eight that spares depends
on the sample; it is counted on samples where they are given, else taken from what training has noted, or
counted on points between the prototypes.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from models import costs, encoding
from models.costs import Stage
from models.inputs import Array

if TYPE_CHECKING:
    from models.prototypes_device import PrototypesInt8

ROUND = 8
"""Dimensions between two looks at the sum."""
SIGNED_24, MOST_24 = 129, 258
"""Dimensions up to which 24 bits hold a distance with a sign, and without."""
FEW = 2040
"""Dimensions whose rounds a byte counts."""
JUDGED_BY = 100
"""Samples that are looked at."""
TYPICAL = "typical_rounds"
"""Under this name `info` has the rounds of training samples."""
BIAS, CLASS = 14, 140
"""Cycles of a map's bias, and of a class beside its prototypes, in the compiler's words."""


def rounds(model: PrototypesInt8, z: npt.NDArray[np.int64]) -> float:
    """The rounds that the kernel goes for a sample, all prototypes together, on average."""
    b = model.B.astype(np.int64)
    length = ceil(b.shape[1] / ROUND)
    missing = length * ROUND - b.shape[1]
    total, first = 0, 0
    for count in model.arrays["counts"].tolist():
        least = np.full(len(z), np.iinfo(np.int64).max)
        for row in b[first : first + count]:
            squares = np.pad((z - row) ** 2, ((0, 0), (missing, 0)))  # the first round is the short one
            so_far = squares.reshape(len(z), length, ROUND).sum(axis=2).cumsum(axis=1)
            goes_on = so_far[:, :-1] < least[:, None]
            total += int(np.logical_and.accumulate(goes_on, axis=1).sum()) + len(z)
            least = np.minimum(least, so_far[:, -1])
        first += count
    return total / len(z)


def stages(model: PrototypesInt8, *, streaming: bool, encoded: Array | None = None) -> list[Stage]:
    if streaming and not model.mapped:
        return [_streamed(model), _least(model), _scores(model), costs.overhead(60)]
    if encoded is not None:
        gone = rounds(model, model.coordinates(encoded[:JUDGED_BY]))
    else:
        gone = float(model.info.get(TYPICAL, 0.0)) or rounds(model, _between(model))
    unknown = encoded is None and TYPICAL not in model.info
    compared = replace(_compared(model, gone), estimated=unknown)
    if not model.mapped:
        return [compared, _scores(model), costs.overhead(90)]
    sizes = model.c_sizes()
    width = sizes["w_sum_bytes"]
    rows = model.B.shape[1]
    sums = encoding.projection_stage("w", model.arrays, model.mapping.W.shape, width, streaming)
    rounded = costs.rounding(rows, width, model.mapping.shift)
    biased = replace(
        rounded,
        what=f"{rounded.what}, after a bias",
        flash_bytes=rounded.flash_bytes + 4 * rows,
        cycles=rounded.cycles + BIAS * rows,
    )
    return [sums, biased, compared, _scores(model), costs.overhead(160)]


def _distance_bytes(model: PrototypesInt8) -> int:
    return 3 if model.B.shape[1] <= MOST_24 else 4


def _compared(model: PrototypesInt8, gone: float) -> Stage:
    """Distances that end early, and the least of each class."""
    prototypes, dimensions = model.B.shape
    length = ceil(dimensions / ROUND)
    terms = ROUND * gone - prototypes * (length * ROUND - dimensions)
    width = _distance_bytes(model)
    compares = SIGNED_24 < dimensions <= MOST_24
    each = 15 + compares + (dimensions > FEW)
    turn = 5 + 3 * compares + (dimensions > FEW)
    cycles = (10 + width) * terms + turn * gone + each * prototypes + CLASS * model.n_classes
    worst = cycles + (10 + width) * (prototypes * dimensions - terms) + turn * (prototypes * length - gone)
    part = terms / (prototypes * dimensions)
    return Stage(
        "distances",
        f"{prototypes} prototypes of {dimensions} dimensions, {part:.0%} looked at, at most "
        f"{costs.whole(worst)} cycles",
        model.B.nbytes + model.arrays["counts"].nbytes,
        width * model.n_classes,
        costs.whole(cycles),
        costs.whole(costs.SQUARE_FLOOR * terms),
    )


def _streamed(model: PrototypesInt8) -> Stage:
    """Distances that grow piece by piece."""
    prototypes, dimensions = model.B.shape
    width = _distance_bytes(model)
    cycles = 30 + 5 * prototypes * width
    for count in costs.pieces(dimensions, streaming=True):
        turns, rest = divmod(count, ROUND)
        cycles += 130 + prototypes * (13 * count + 5 * turns + 4 * rest + 34 + 4 * width)
    return Stage(
        "distances",
        f"{prototypes} prototypes of {dimensions} dimensions, piece by piece",
        model.B.nbytes + model.arrays["counts"].nbytes,
        width * (prototypes + model.n_classes),
        cycles,
        costs.whole(costs.SQUARE_FLOOR * model.B.size),
    )


def _least(model: PrototypesInt8) -> Stage:
    cycles = 20 * len(model.B) + 30 * model.n_classes
    return Stage("least", f"of {len(model.B)} distances, in each class", 0, 0, cycles)


def _scores(model: PrototypesInt8) -> Stage:
    scores = model.n_scores
    return Stage("scores", f"{scores} and the largest", 0, 0, 25 * scores + costs.argmax(scores))


def _between(model: PrototypesInt8) -> npt.NDArray[np.int64]:
    """Points halfway between each prototype and its nearest other one, where samples may lie."""
    b = model.B.astype(np.int64)
    some = b[:: max(1, len(b) // JUDGED_BY)]
    squares = (some**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2 * (some @ b.T)
    nearest = b[np.argsort(squares, axis=1, kind="stable")[:, min(1, len(b) - 1)]]
    return np.asarray((some + nearest) // 2, dtype=np.int64)
