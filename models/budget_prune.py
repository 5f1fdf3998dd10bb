"""Pruning a forest for fewer features (Nan, Wang & Saligrama, NIPS 2016), as a linear program.

Of every inner node u a variable y_u says whether it stays a split, and of every feature k and sample i one
w_ki, whether the sample is asked for the feature:

    minimise   Σ_u (e_low + e_high - e_u)·y_u / (trees·samples)  +  λ·Σ_ki cost_k·w_ki / samples
    such that  y_child <= y_parent      a split that stays has all before it
               y_u <= w_ki              u being the first node on i's way in a tree that asks for k

where e_u are the samples that node u, as a leaf, misclassifies. (The paper says the same by the leaves,
z_h = y_parent - y_h.) Every constraint compares two variables, so that the matrix is totally unimodular: the
vertices, one of which the simplex method finds, are of zeros and ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog
from scipy.sparse import csr_array

from models.device import Array
from models.tree_nodes import Ints, Tree, merged

Floats = npt.NDArray[np.float64]
INT16 = (-32768, 32767)
Stays = list[npt.NDArray[np.bool_]]
"""Of each tree's nodes, whether they stay splits."""


@dataclass(frozen=True)
class Problem:
    """The program without its λ."""

    gains: Floats
    """The error that each split adds, negative where it is useful; a mean over trees and samples."""
    asks: Floats
    """Of each pair of feature and sample: its cost, a mean over samples."""
    before: Ints
    """Pairs of variables (first <= second), the splits first, then the asked features."""
    sizes: tuple[int, ...]
    """Nodes of each tree."""
    inner: Ints
    """Which of all nodes are splits."""

    @staticmethod
    def of(trees: Sequence[Tree], x: Array, labels: Ints, *, asking: int) -> Problem:
        """On held-out samples, of which the first `asking` say what features cost."""
        gains, edges, uses = [], [], []
        first = 0
        for tree in trees:
            own = np.flatnonzero(tree.feature >= 0)
            number = np.full(len(tree.feature), -1, dtype=np.int64)
            number[own] = first + np.arange(len(own))
            errors = _errors(tree, x, labels)
            gains.append(errors[tree.left[own]] + errors[tree.right[own]] - errors[own])
            for side in (tree.left, tree.right):
                split = tree.feature[side[own]] >= 0
                edges.append(np.stack([number[side[own[split]]], number[own[split]]]))
            uses.append(_first_uses(tree, x[:asking], number))
            first += len(own)
        asked, features, samples = np.concatenate(uses, axis=1)
        names, pair = np.unique(features * len(x) + samples, return_inverse=True)
        edges.append(np.stack([asked, first + pair]))
        count = max(1, min(asking, len(x)))
        return Problem(
            np.concatenate(gains) / (len(trees) * len(x)),
            np.full(len(names), 1.0 / count),
            np.concatenate(edges, axis=1),
            tuple(len(tree.feature) for tree in trees),
            np.concatenate([tree.feature >= 0 for tree in trees]),
        )

    def solve(self, penalty: float) -> Floats:
        """All variables at the optimum for this λ."""
        count, variables = self.before.shape[1], len(self.gains) + len(self.asks)
        rows = np.arange(count).repeat(2)
        values = np.tile([1.0, -1.0], count)
        matrix = csr_array((values, (rows, self.before.T.ravel())), shape=(count, variables))
        found = linprog(
            np.concatenate([self.gains, penalty * self.asks]),
            A_ub=matrix,
            b_ub=np.zeros(count),
            bounds=(0.0, 1.0),
            method="highs-ds",
        )
        return np.asarray(found.x, dtype=np.float64)

    def stays(self, penalty: float) -> Stays:
        """Which nodes stay splits under this λ."""
        kept = np.zeros(len(self.inner), dtype=bool)
        kept[self.inner] = self.solve(penalty)[: len(self.gains)] > 0.5
        return np.split(kept, np.cumsum(self.sizes)[:-1])


def cut_to(tree: Tree, stays: npt.NDArray[np.bool_]) -> Tree:
    """The tree with leaves in place of splits that do not stay."""
    return merged(replace(tree, feature=np.where(stays, tree.feature, -1)), *INT16)


def _errors(tree: Tree, x: Array, labels: Ints) -> Ints:
    """Of each node: the samples coming there that it would misclassify as a leaf."""
    errors = np.zeros(len(tree.feature), dtype=np.int64)
    at, rows = np.zeros(len(x), dtype=np.int64), np.arange(len(x))
    while len(rows):
        errors += np.bincount(at[labels[rows] != tree.value[at]], minlength=len(errors))
        inner = tree.feature[at] >= 0
        rows, at = rows[inner], at[inner]
        low = x[rows, tree.feature[at]] <= tree.threshold[at]
        at = np.where(low, tree.left[at], tree.right[at])
    return errors


def _first_uses(tree: Tree, x: Array, number: Ints) -> Ints:
    """Columns (split, feature, sample) for the first node on each sample's way that asks for the feature."""
    known = np.zeros(x.shape, dtype=bool)
    found = [np.zeros((3, 0), dtype=np.int64)]
    at, rows = np.zeros(len(x), dtype=np.int64), np.arange(len(x))
    while len(rows):
        inner = tree.feature[at] >= 0
        rows, at = rows[inner], at[inner]
        feature = tree.feature[at]
        new = ~known[rows, feature]
        found.append(np.stack([number[at[new]], feature[new], rows[new]]))
        known[rows, feature] = True
        at = np.where(x[rows, feature] <= tree.threshold[at], tree.left[at], tree.right[at])
    return np.concatenate(found, axis=1)
