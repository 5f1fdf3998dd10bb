"""Cycles of ProtoNN's prototypes on an AVR (see models.costs).

How many of them are measured to the end, listed and near depends on the sample: models.listing counts it.
"""

from __future__ import annotations

from models import listing
from models.costs import DENSE_FLOOR, Stage, argmax, whole
from models.listing import Listing

MOST_DIMENSIONS, MOST_EXP_SHIFT = 130, 16
"""Distances have 24 bits up to here (widths.h)."""
SQUARE_FLOOR = 11.5
"""Cycles a squared difference added to 24 bits."""


def distances(shape: tuple[int, int], list_bytes: int, number: int, counted: Listing) -> Stage:
    """Squared distances of 24 bits, as far as they matter, and a list of the near ones.

    number: bytes of a prototype's number in that list; without any, all are listed. The floor is that of all
    terms, so that stopping early may be below.
    """
    prototypes, dimensions = shape
    completed = counted.measured - counted.stopped
    if dimensions <= listing.REGISTERS:
        look = 2 if listing.looks(dimensions) else 0
        once = 2 * dimensions + 70
        cycles = 11 * counted.terms + 4 * counted.looks + 5 * counted.stopped
        cycles += (5 + number) * counted.measured + (5 + look) * completed
    else:
        once = 70
        cycles = 13 * counted.terms + 7 * counted.looks + 5 * counted.stopped
        cycles += (16 + number) * counted.measured + 9 * completed
    if number:
        cycles += (18 + 2 * number) * counted.listed + 55 * counted.weeded
    else:
        cycles += 6 * counted.measured + 7 * counted.listed
    return Stage(
        "distances",
        f"{prototypes} prototypes of {dimensions} dimensions, "
        f"{100 * counted.terms / (prototypes * dimensions):.0f} % of the terms",
        prototypes * dimensions,
        list_bytes,
        whole(once * counted.measured / prototypes + cycles),
        whole(SQUARE_FLOOR * prototypes * dimensions),
    )


def similarities(number: int, shift: int, counted: Listing) -> Stage:
    """exp by table, of what is in the list, where a number has so many bytes or is counted."""
    low = shift % 8
    compare = 1 + (shift < 8) + (low == 0 and shift < 16)
    divide = 1 + 2 * min(low, 8 - low)
    number_cycles = 2 * number or 1
    far, near = 15 + number_cycles + compare, 39 + number_cycles + compare + divide
    return Stage(
        "exp",
        f"{counted.weighed:.1f} by table, of which {counted.near:.1f} are not zero",
        16 + 4,
        0,
        whole(40 * counted.passes + counted.near * near + (counted.weighed - counted.near) * far),
    )


def weighted_scores(scores: int, prototypes: int, counted: Listing) -> Stage:
    """Σ Z·s for every score, over the near prototypes, then the largest."""
    width = 3 if prototypes < 260 else 4
    cycles = scores * (counted.near * (18 + width) + 34 * counted.passes + 12) + 50 * counted.passes
    return Stage(
        "scores",
        f"{scores} × {prototypes} where not zero, and the largest",
        scores * prototypes,
        0,
        whole(cycles) + argmax(scores),
        whole(DENSE_FLOOR[width] * scores * prototypes),
    )
