"""Growing a rooted decision DAG level by level (Shotton et al., Decision jungles, NIPS 2013).

A level has at most `width` nodes, so that nodes of the level before must share children. LSearch lowers

    E = Σ_j |S_j|·H(S_j)      the entropy of the classes over all child nodes j

by turns: for every parent in a random order the split that is best with its children as they are, then the
children that are best for its two sides as they are. Each step looks at the present choice as well, hence E
never rises. Features are looked at through a few thresholds each, at quantiles of the data.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from models.histograms import Binned
from models.tree_nodes import Ints, Tree

Floats = npt.NDArray[np.float64]
LEAF = -1


@dataclass(frozen=True)
class Shape:
    """Limits of a DAG."""

    width: int
    depth: int
    features: int
    """That each node chooses its split from, at random."""
    rounds: int = 10
    """Of LSearch a level, at most; it ends when nothing changes."""


@dataclass
class Level:
    """The nodes of one level: each a split and two children of the next level, or a leaf."""

    majority: Ints
    feature: Ints
    threshold: Ints
    low: Ints
    high: Ints
    """Numbers of nodes in the next level."""
    energies: list[float] = field(default_factory=list)
    """E at the start of LSearch, and after each round."""


class EntropyTable:
    """n·log n by table, since counts are whole numbers and logarithms are slow."""

    def __init__(self, most: int) -> None:
        n = np.arange(most + 1, dtype=np.float64)
        self._values = n * np.log2(np.maximum(n, 1.0))

    def __call__(self, counts: Ints) -> Floats:
        """|S|·H(S) of the class counts along the last axis."""
        values = self._values
        return np.asarray(values[counts.sum(axis=-1)] - values[counts].sum(axis=-1))


def grow(data: Binned, shape: Shape, rng: np.random.Generator) -> list[Level]:
    """The levels of a DAG, from the root down to where all nodes are pure or the depth ends."""
    energy = EntropyTable(len(data.labels))
    at = np.zeros(len(data.labels), dtype=np.int64)  # the node of each sample in the present level
    rows = np.arange(len(data.labels))  # the samples that have not come to a leaf
    levels: list[Level] = []
    nodes = 1
    for depth in range(shape.depth + 1):
        own = np.bincount(at * data.classes + data.labels[rows], minlength=nodes * data.classes)
        own = own.reshape(nodes, data.classes)
        split = own.max(axis=1) < own.sum(axis=1)
        if depth == shape.depth or not split.any():
            levels.append(_leaves(own))
            return levels
        # Pure nodes are leaves here and take no place in the next level.
        number = np.cumsum(split) - 1
        going = split[at]
        rows, at = rows[going], number[at[going]]
        search = LSearch(data, rows, at, int(split.sum()), shape, energy, rng)
        search.run(shape.rounds)
        level = _leaves(own)
        level.feature[split], level.threshold[split] = search.splits()
        used, names = np.unique(np.stack([search.low, search.high]), return_inverse=True)
        level.low[split], level.high[split] = names.reshape(2, -1)
        level.energies = search.energies
        levels.append(level)
        at = names.reshape(2, -1)[search.sides().astype(np.int64), at]
        nodes = len(used)
    raise AssertionError("a level ends every DAG")


class LSearch:
    """Splits and children of one level's parents."""

    def __init__(  # noqa: PLR0917 -- what a level is made of
        self,
        data: Binned,
        rows: Ints,
        at: Ints,
        parents: int,
        shape: Shape,
        energy: EntropyTable,
        rng: np.random.Generator,
    ) -> None:
        self._data, self._rows, self._at, self._energy, self._rng = data, rows, at, energy, rng
        features = data.edges.shape[1]
        looked_at = min(shape.features, features)
        order = rng.random((parents, features)).argpartition(looked_at - 1, axis=1)
        self._features = order[:, :looked_at]
        self._below = data.low_sides(rows, at, self._features)
        self._own = np.bincount(at * data.classes + data.labels[rows], minlength=parents * data.classes)
        self._own = self._own.reshape(parents, data.classes)
        self._children = min(2 * parents, shape.width)
        self._choice = np.zeros(parents, dtype=np.int64)
        self._start()

    def _start(self) -> None:
        """A tree's splits; the parents that gain most have children of their own, the others join them."""
        parents = len(self._own)
        gains = np.zeros(parents)
        for i in range(parents):
            each = self._energy(self._below[i]) + self._energy(self._own[i] - self._below[i])
            self._choice[i] = each.argmin()
            gains[i] = self._energy(self._own[i]) - each.min()
        self.low, self.high = np.zeros((2, parents), dtype=np.int64)
        self._sums = np.zeros((self._children, self._own.shape[1]), dtype=np.int64)
        free = 0
        for i in np.argsort(-gains, kind="stable"):
            for children, side in zip((self.low, self.high), self._two(i), strict=True):
                children[i] = free if free < self._children else self._best_child(side)
                self._sums[children[i]] += side
                free += 1
        self.energies = [self.total()]

    def run(self, rounds: int) -> None:
        """Rounds until one changes nothing."""
        for _ in range(rounds):
            changed = False
            for i in self._rng.permutation(len(self._own)):
                changed |= self._best_split(int(i))
            for i in self._rng.permutation(len(self._own)):
                changed |= self._best_children(int(i))
            self.energies.append(self.total())
            if not changed:
                return

    def total(self) -> float:
        """E."""
        return float(self._energy(self._sums).sum())

    def splits(self) -> tuple[Ints, Ints]:
        """Feature and threshold of each parent."""
        place, step = np.divmod(self._choice, len(self._data.edges))
        feature = self._features[np.arange(len(place)), place]
        return feature, self._data.edges[step, feature]

    def sides(self) -> npt.NDArray[np.bool_]:
        """Whether each sample goes to the high side."""
        place, step = np.divmod(self._choice, len(self._data.edges))
        feature = self._features[np.arange(len(place)), place]
        return np.asarray(self._data.bins[self._rows, feature[self._at]] > step[self._at])

    def _two(self, i: int) -> tuple[Ints, Ints]:
        low = self._below[i, self._choice[i]]
        return low, self._own[i] - low

    def _best_split(self, i: int) -> bool:
        """Of one parent, all others and all children being as they are."""
        low, high = self._two(i)
        self._sums[self.low[i]] -= low
        self._sums[self.high[i]] -= high
        if self.low[i] == self.high[i]:
            found = self._choice[i]  # the child gets both sides, however they are split
        else:
            below, own = self._below[i], self._own[i]
            each = self._energy(self._sums[self.low[i]] + below)
            each += self._energy(self._sums[self.high[i]] + own - below)
            found = each.argmin() if each.min() < each[self._choice[i]] else self._choice[i]
        changed = bool(found != self._choice[i])
        self._choice[i] = found
        low, high = self._two(i)
        self._sums[self.low[i]] += low
        self._sums[self.high[i]] += high
        return changed

    def _best_children(self, i: int) -> bool:
        """Of one parent's two sides, one after the other."""
        changed = False
        for children, side in zip((self.low, self.high), self._two(i), strict=True):
            self._sums[children[i]] -= side
            found = self._best_child(side, int(children[i]))
            changed |= found != children[i]
            children[i] = found
            self._sums[found] += side
        return changed

    def _best_child(self, side: Ints, present: int = 0) -> int:
        """Where these samples raise E least; the present child where no other is better."""
        costs = self._energy(self._sums + side) - self._energy(self._sums)
        best = int(costs.argmin())
        return best if costs[best] < costs[present] - 1e-9 else present


def as_tree(levels: list[Level]) -> Tree:
    """The DAG as nodes; also an inner node has the majority of its samples for its value."""
    starts = np.cumsum([0] + [len(level.feature) for level in levels])
    columns = []
    for number, level in enumerate(levels):
        split = level.feature >= 0
        low, high = (np.where(split, side + starts[number + 1], 0) for side in (level.low, level.high))
        columns.append((level.feature, level.threshold, low, high, level.majority))
    return Tree(*(np.concatenate(parts) for parts in zip(*columns, strict=True)))


def _leaves(own: Ints) -> Level:
    none = np.full(len(own), LEAF, dtype=np.int64)
    return Level(own.argmax(axis=1), none, *np.zeros((3, len(own)), dtype=np.int64))
