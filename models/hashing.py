"""Ways to find the nearest of many points: all distances, a ball tree, or locality-sensitive hashing.

Each counts the distances it computes, which is how SNC's Table 3 compares them apart from any machine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from models.device import Array
from models.errors import InputError

Indices = npt.NDArray[np.int64]
BLOCK = 1 << 21
"""Distances, or pairs of points, held at a time."""


class Search(ABC):
    """Nearest neighbours among fixed points."""

    def __init__(self, points: Array) -> None:
        self.points = points
        self.distances = 0
        """Distances that were computed since the beginning."""

    @abstractmethod
    def nearest(self, X: Array) -> Indices:
        """The index of the nearest point of each sample; the first of equals where all are compared."""


class Exhaustive(Search):
    """Every sample against every point, by matrix multiplication."""

    def __init__(self, points: Array) -> None:
        super().__init__(points)
        self._squares = np.einsum("ij,ij->i", points, points)

    def nearest(self, X: Array) -> Indices:
        self.distances += len(X) * len(self.points)
        found = np.empty(len(X), dtype=np.int64)
        for part in _blocks(len(X), max(1, BLOCK // len(self.points))):
            found[part] = (self._squares - 2.0 * (X[part] @ self.points.T)).argmin(axis=1)
        return found


class BallTreeSearch(Search):
    """scikit-learn's ball tree."""

    def __init__(self, points: Array) -> None:
        from sklearn.neighbors import BallTree

        super().__init__(points)
        self._tree = BallTree(points, leaf_size=10)

    def nearest(self, X: Array) -> Indices:
        self._tree.reset_n_calls()
        found = self._tree.query(X, k=1, return_distance=False)[:, 0]
        self.distances += int(self._tree.get_n_calls())
        return np.asarray(found, dtype=np.int64)


class HashSearch(Search):
    """Locality-sensitive hashing of Euclidean space (Gionis et al. 1999; Andoni and Indyk 2006).

    A hash is floor((a·x + b) / width) with a random direction a; a table keys its buckets by `functions` of
    them. A sample is compared with the points that share its bucket in any of the tables, and with all points
    where none does.
    """

    def __init__(
        self,
        points: Array,
        *,
        tables: int = 8,
        functions: int = 8,
        width: float | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(points)
        rng = np.random.default_rng(seed)
        self.width = width or _typical_distance(points, rng)
        self._directions = rng.standard_normal((points.shape[1], tables * functions)).astype(points.dtype)
        self._shifts = rng.uniform(0.0, self.width, tables * functions).astype(points.dtype)
        self._mixers = rng.integers(1, 2**62, functions, dtype=np.int64) | 1
        self._tables = tables
        self._exhaustive = Exhaustive(points)
        keys = self._keys(points)
        self._order = np.argsort(keys, axis=0, kind="stable")
        self._sorted = np.take_along_axis(keys, self._order, axis=0)

    def nearest(self, X: Array) -> Indices:
        found = np.full(len(X), -1, dtype=np.int64)
        step = max(1, BLOCK // (8 * max(len(self.points), 1)) + 64)
        for part in _blocks(len(X), step):
            found[part] = self._nearest_candidates(X[part])
        alone = np.flatnonzero(found < 0)
        if len(alone):
            before = self._exhaustive.distances
            found[alone] = self._exhaustive.nearest(X[alone])
            self.distances += self._exhaustive.distances - before
        return found

    def _nearest_candidates(self, X: Array) -> Indices:
        """The nearest of the points that share a bucket; -1 where none does."""
        keys = self._keys(X)
        pairs = np.unique(np.concatenate([self._pairs(keys[:, t], t) for t in range(self._tables)]))
        samples, points = np.divmod(pairs, len(self.points))
        self.distances += len(pairs)
        found = np.full(len(X), -1, dtype=np.int64)
        if len(pairs):
            away = np.concatenate(
                [
                    np.square(X[samples[part]] - self.points[points[part]]).sum(axis=1)
                    for part in _blocks(len(pairs), max(1, BLOCK // X.shape[1]))
                ]
            )
            order = np.lexsort((points, away, samples))
            first = np.flatnonzero(np.diff(samples[order], prepend=-1))
            found[samples[order][first]] = points[order][first]
        return found

    def _pairs(self, keys: npt.NDArray[np.int64], table: int) -> Indices:
        """sample · points + point, for every point in the sample's bucket of one table."""
        low = np.searchsorted(self._sorted[:, table], keys, side="left")
        count = np.searchsorted(self._sorted[:, table], keys, side="right") - low
        sample = np.repeat(np.arange(len(keys)), count)
        inside = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        points = self._order[np.repeat(low, count) + inside, table]
        return np.asarray(sample * len(self.points) + points, dtype=np.int64)

    def _keys(self, X: Array) -> npt.NDArray[np.int64]:
        """One number a bucket (samples × tables): different buckets collide about once in 2^64."""
        cells = np.floor((X @ self._directions + self._shifts) / self.width).astype(np.int64)
        cells = cells.reshape(len(X), self._tables, -1)
        key = np.zeros(cells.shape[:2], dtype=np.int64)
        for i, mixer in enumerate(self._mixers):
            key = (key ^ cells[:, :, i]) * mixer
        return key


TABLES = (4, 8, 16, 32)
FUNCTIONS = (2, 4, 6, 8, 12)
SEARCHES = ("exhaustive", "ball_tree", "lsh")


def tuned_hash(points: Array, owners: Indices, queries: Array, labels: Indices, seed: int = 0) -> HashSearch:
    """The tables and functions that need the fewest distances without more errors on `queries` than all
    distances make, as in SNC's section 4; the setting of fewest errors where none is so good."""
    right = int(np.count_nonzero(owners[Exhaustive(points).nearest(queries)] == labels))
    judged = []
    for tables in TABLES:
        for functions in FUNCTIONS:
            trial = HashSearch(points, tables=tables, functions=functions, seed=seed)
            found = int(np.count_nonzero(owners[trial.nearest(queries)] == labels))
            judged.append((max(0, right - found), trial.distances, tables, functions))
    _, _, tables, functions = min(judged)
    return HashSearch(points, tables=tables, functions=functions, seed=seed)


def search(
    name: str, points: Array, *, owners: Indices, queries: Array, labels: Indices, seed: int = 0
) -> Search:
    """A search by name; hashing is tuned on labelled queries."""
    if name == "exhaustive":
        return Exhaustive(points)
    if name == "ball_tree":
        return BallTreeSearch(points)
    if name == "lsh":
        return tuned_hash(points, owners, queries, labels, seed)
    raise InputError(f"There is no search {name!r}.", f"Choose {', '.join(SEARCHES)}.")


def _typical_distance(points: Array, rng: np.random.Generator) -> float:
    """The median distance of points from each other: a cell as wide holds a neighbourhood."""
    some = points[rng.integers(len(points), size=256)]
    other = points[rng.integers(len(points), size=256)]
    away = np.sqrt(np.square(some - other).sum(axis=1))
    return float(np.median(away[away > 0])) if (away > 0).any() else 1.0


def _blocks(count: int, size: int) -> Iterator[slice]:
    return (slice(first, min(first + size, count)) for first in range(0, count, size))
