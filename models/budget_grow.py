"""The trees of a feature-budgeted forest (Nan, Wang & Saligrama, ICML 2015), greedy and cost-weighted.

The impurity of a set counts pairs of samples of different classes, of each class's count α being forgiven:

    F(S) = Σ_{i≠j} [n_i - α]₊ · [n_j - α]₊

A split costs what its feature costs to acquire, and its worth is judged by its worse side: the one is taken
whose cost / (F(S) - max(F(low), F(high))) is least. A feature that a sample has been asked for before on its
way costs next to nothing. A set with F(S) = 0 is a leaf.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from models.device import Array
from models.histograms import Binned
from models.tree_nodes import Ints, Tree

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Rules:
    """What a tree is grown by."""

    alpha: float
    """Samples of a class that are forgiven."""
    features: int
    """That a node chooses from: those on the way to it, and others at random."""
    again: float
    """The cost of a feature that was acquired before, in units of a new one's."""
    depth: int


def pairs(counts: Ints, alpha: float) -> Floats:
    """F of the class counts along the last axis."""
    left = np.maximum(counts - alpha, 0.0)
    return np.asarray(left.sum(axis=-1) ** 2 - (left**2).sum(axis=-1))


def minimax_tree(data: Binned, rules: Rules, rng: np.random.Generator) -> tuple[Tree, Floats]:
    """A tree over binned samples, grown level by level, and the samples that each node would misclassify.

    Also an inner node's value is its majority.
    """
    rows, at = np.arange(len(data.labels)), np.zeros(len(data.labels), dtype=np.int64)
    names, asked = [0], [np.zeros(0, dtype=np.int64)]  # of the nodes of a level, and what led to them
    table = [[-1, 0, 0, 0, 0]]
    risk: dict[int, float] = {}
    for depth in range(rules.depth + 1):
        own = np.bincount(at * data.classes + data.labels[rows], minlength=len(names) * data.classes)
        own = own.reshape(len(names), data.classes)
        for name, counts in zip(names, own, strict=True):
            table[name][4] = int(counts.argmax())
            risk[name] = float(counts.sum() - counts.max())
        if depth == rules.depth:
            break
        features, cost = _looked_at(asked, data.edges.shape[1], rules, rng)
        choice = _best(data.low_sides(rows, at, features), own, cost, rules.alpha)
        place, step = np.divmod(choice, len(data.edges))
        feature = features[np.arange(len(names)), place]
        going = choice[at] >= 0
        rows, at = rows[going], at[going]
        child = np.zeros((2, len(names)), dtype=np.int64)
        ways: list[int] = []
        reached: list[Ints] = []
        for node in np.flatnonzero(choice >= 0):
            first = len(table)
            child[:, node] = len(ways), len(ways) + 1
            threshold = int(data.edges[step[node], feature[node]])
            table[names[node]][:4] = [int(feature[node]), threshold, first, first + 1]
            table += [[-1, 0, 0, 0, 0], [-1, 0, 0, 0, 0]]
            ways += [first, first + 1]
            reached += 2 * [np.union1d(asked[node], feature[node])]
        if not ways:
            break
        high = data.bins[rows, feature[at]] > step[at]
        at, names, asked = child[high.astype(np.int64), at], ways, reached
    return Tree(*np.array(table, dtype=np.int64).T), np.array([risk[name] for name in range(len(table))])


def _looked_at(
    asked: list[Ints], features: int, rules: Rules, rng: np.random.Generator
) -> tuple[Ints, Floats]:
    """Features that each node may ask for, those that it knows first, and their costs."""
    several = min(rules.features, features)
    order = rng.random((len(asked), features))
    cost = np.ones((len(asked), features))
    for node, known in enumerate(asked):
        order[node, known] -= 1.0
        cost[node, known] = rules.again
    chosen = order.argpartition(several - 1, axis=1)[:, :several]
    return chosen, np.take_along_axis(cost, chosen, axis=1)


def _best(below: Ints, own: Ints, cost: Floats, alpha: float) -> Ints:
    """The split of each node by the minimax rule; -1 for leaves."""
    whole = pairs(own, alpha)
    worse = np.maximum(pairs(below, alpha), pairs(own[:, None] - below, alpha))
    drop = whole[:, None] - worse
    each = np.repeat(cost, below.shape[1] // cost.shape[1], axis=1)
    worth = np.where(drop > 0, each / np.maximum(drop, 1e-12), np.inf)
    best = worth.argmin(axis=1)
    found = np.isfinite(worth[np.arange(len(best)), best])
    return np.where(found, best, -1)


def acquired(tree: Tree, x: Array) -> npt.NDArray[np.bool_]:
    """Which features each sample is asked for (n × features)."""
    found = np.zeros(x.shape, dtype=bool)
    rows, at = np.arange(len(x)), np.zeros(len(x), dtype=np.int64)
    while len(rows):
        inner = tree.feature[at] >= 0
        rows, at = rows[inner], at[inner]
        found[rows, tree.feature[at]] = True
        low = x[rows, tree.feature[at]] <= tree.threshold[at]
        at = np.where(low, tree.left[at], tree.right[at])
    return found
