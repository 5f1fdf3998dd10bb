"""What ProtoNN's kernel for AVR does with the prototypes, counted without running it.

It sums a prototype's distance until that is known to be far from the nearest one, and lists the others
(firmware/lib/kernels/avr_prototypes.h). How far it gets depends on the sample and on the prototypes' order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Int64 = npt.NDArray[np.int64]

REGISTERS = 16
"""Dimensions that stay in registers while all prototypes are compared."""
ROUND = 6
"""Dimensions between two looks at the sum where there are more."""
NUMBERS_IN_A_BYTE = 256
LIST_BYTES, SHORT_LIST_BYTES = 384, 92
"""The short list is that of streaming firmware with one score, which is to leave RAM to others."""
WITH_Z = 124
"""Bytes of a short list and z together, where few dimensions leave more to the list."""


@dataclass(frozen=True)
class Listing:
    """Means over samples."""

    terms: float
    """Squared differences."""
    looks: float
    """At a sum before it is complete."""
    stopped: float
    """Prototypes whose sum was not completed."""
    measured: float
    """Prototypes, those that were stopped included."""
    listed: float
    """Prototypes that were below the bound."""
    weeded: float
    """Places that were looked at to make room."""
    weighed: float
    near: float
    """Prototypes whose similarity is not zero."""
    passes: float
    """Times that the list was weighed and scored."""


@dataclass(frozen=True)
class Room:
    """The list of near prototypes in RAM."""

    places: int
    number_bytes: int
    """Of a place, beside the distance of 3; 0 where all prototypes are listed, near or not."""

    @property
    def bytes(self) -> int:
        return self.places * (3 + self.number_bytes)


def room(shape: tuple[int, ...], scores: int, streaming: bool) -> Room:
    """The list for prototypes × dimensions."""
    prototypes, dimensions = shape
    short = streaming and scores == 1
    size = max(SHORT_LIST_BYTES, WITH_Z - dimensions) if short else LIST_BYTES
    if short and 3 * prototypes <= size < 4 * prototypes:
        return Room(prototypes, 0)
    number = 1 if prototypes <= NUMBERS_IN_A_BYTE else 2
    return Room(min(prototypes, size // (3 + number)), number)


def looks(dimensions: int) -> list[int]:
    """After how many terms a sum is compared with the bound before it is complete."""
    if dimensions > REGISTERS:
        first = (dimensions - 1) % ROUND + 1
        return list(range(first, dimensions, ROUND))
    return [(dimensions * 5 + 7) // 8] if dimensions >= 8 else []


def count(z: Int64, B: Int64, limit: int, room: Room) -> Listing:
    """What becomes of the prototypes B (m, dimensions) for samples z (n, dimensions).

    limit: the distance beyond the least one from which on nothing is left of a similarity.
    """
    run = _Run(z, B, limit, room.places)
    in_list = run.measure(np.arange(len(z)))
    if room.number_bytes == 0:
        in_list[:] = len(B)
    near = (run.distances < run.bound[:, None]).sum(axis=1)
    crowded = np.flatnonzero(run.crowded)
    passes = np.ones(len(z))
    if crowded.size:
        in_list[crowded], passes[crowded] = near[crowded], np.ceil(near[crowded] / room.places)
        run.room = len(B)  # nothing more is weeded out: a full list is scored and begun anew
        run.measure(crowded)
    means = {key: float(value.mean()) for key, value in run.counts.items()}
    return Listing(
        weighed=float(in_list.mean()), near=float(near.mean()), passes=float(passes.mean()), **means
    )


class _Run:
    """All samples at once, prototype by prototype."""

    def __init__(self, z: Int64, B: Int64, limit: int, room: int) -> None:
        self.limit, self.room = limit, room
        self.looked = looks(B.shape[1])
        self.ends = np.array([*self.looked, B.shape[1]])
        sums = ((z[:, None, :] - B[None, :, :]) ** 2).cumsum(axis=2)
        self.partial, self.distances = sums[:, :, [at - 1 for at in self.looked]], sums[:, :, -1]
        self.bound = np.full(len(z), 2**24 - 1, dtype=np.int64)
        self.crowded = np.zeros(len(z), dtype=bool)
        """Samples with more near prototypes than there are places."""
        names = ("terms", "looks", "stopped", "measured", "listed", "weeded")
        self.counts = {name: np.zeros(len(z)) for name in names}

    def measure(self, rows: Int64) -> Int64:
        """From the first prototype on, for these samples; gives how many are in the list at the end."""
        prototypes = self.distances.shape[1]
        listed = np.zeros((rows.size, prototypes), dtype=bool)
        for j in range(prototypes):
            d, bound = self.distances[rows, j], self.bound[rows]
            beyond = self.partial[rows, j] >= bound[:, None]
            stop = np.column_stack([beyond, np.ones(len(d), dtype=bool)]).argmax(axis=1)
            listed[:, j] = d < bound
            self._add(
                rows,
                terms=self.ends[stop],
                looks=np.minimum(stop + 1, len(self.looked)),
                stopped=stop < len(self.looked),
                measured=1,
                listed=listed[:, j],
            )
            self.bound[rows] = np.where(listed[:, j], np.minimum(bound, d + self.limit), bound)
            if self.room <= j + 1 < prototypes:
                self._make_room(rows, listed)
        return np.asarray(listed.sum(axis=1))

    def _make_room(self, rows: Int64, listed: npt.NDArray[np.bool_]) -> None:
        full = np.flatnonzero(listed.sum(axis=1) >= self.room)
        if full.size:
            self._add(rows[full], weeded=self.room)
            listed[full] &= self.distances[rows[full]] < self.bound[rows[full]][:, None]
            crowded = full[listed[full].sum(axis=1) >= self.room]
            listed[crowded] = False
            self.crowded[rows[crowded]] = True

    def _add(self, rows: Int64, **numbers: npt.NDArray[np.generic] | int) -> None:
        for name, number in numbers.items():
            self.counts[name][rows] += np.asarray(number, dtype=np.float64)
