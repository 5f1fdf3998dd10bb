"""Gradient-boosted trees that are pruned down to a byte budget as one ensemble.

The papers' baseline "Tree Pruning" (Dekel, Jacobbs & Xiao) prunes gradient-boosted ensembles, but was never
published. Here it is cost-complexity pruning of all trees together: more is grown than fits, and the subtrees
whose splits lower the loss least for each leaf they have go first, whichever tree they are in.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from models.pruning import Floats, pruned
from models.search import Task
from models.tree_nodes import Tree
from models.trees import BoostedTreesClassifier
from models.trees_base import Fits

MOST_ROUNDS = 200
LEAF_BYTES = 5
"""Of a leaf and its inner node."""
STEPS = 20
"""Halvings of the range of strengths, to the least that makes the ensemble fit."""


class PrunedBoostedClassifier(BoostedTreesClassifier):
    """Gradient-boosted trees, pruned by cost and complexity until they fit the budget.

    The parameters are those of BoostedTreesClassifier: the ensemble before it is pruned.
    """

    def _note(self, nodes: list[Any]) -> None:
        self._gains = [_below(one) for one in nodes]

    def _trees_within(self, trees: list[Tree], fits: Fits) -> list[Tree]:
        def cut(strength: float) -> list[Tree]:
            return [
                pruned(tree, gains, alpha=strength)[0] for tree, gains in zip(trees, self._gains, strict=True)
            ]

        if fits(trees):
            return trees
        top = max(float(gains[0]) for gains in self._gains)
        low, high = np.log(max(top, 1e-9) * 1e-9), np.log(max(top, 1e-9) * 2)
        found = cut(float(np.exp(high)))
        for _ in range(STEPS):
            middle = (low + high) / 2
            smaller = cut(float(np.exp(middle)))
            if fits(smaller):
                high, found = middle, smaller
            else:
                low = middle
        return found if fits(found) else []


def _below(nodes: Any) -> Floats:
    """Of each node: how much the loss falls by the splits from it on, which is its risk as a leaf."""
    total = np.where(nodes["is_leaf"].astype(bool), 0.0, np.maximum(nodes["gain"], 0.0))
    for number in range(len(nodes) - 1, -1, -1):  # children come after their parents
        if not nodes["is_leaf"][number]:
            total[number] += total[nodes["left"][number]] + total[nodes["right"][number]]
    return np.asarray(total, dtype=np.float64)


def candidates(task: Task, budget: int, effort: str) -> list[dict[str, Any]]:
    """Ensembles that are between half as large again and four times too large."""
    found = []
    for leaves, times, rate in (
        (16, 2, 0.3), (8, 2, 0.3), (16, 4, 0.15), (31, 2, 0.3),
        (8, 1.5, 0.3), (16, 1.5, 0.15), (8, 4, 0.15), (31, 4, 0.15),
    ):  # fmt: skip
        rounds = min(MOST_ROUNDS, round(times * budget / (task.n_scores * (LEAF_BYTES * leaves + 1))))
        if rounds >= 2:
            shape = {"n_rounds": rounds, "max_leaves": leaves, "learning_rate": rate}
            found.append({**shape, "budget": budget})
    return found
