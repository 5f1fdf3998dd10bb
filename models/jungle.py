"""A decision jungle (Shotton et al., NIPS 2013) within a byte budget: an ensemble of rooted decision DAGs.

Nodes of a level share children, so that a DAG can be deep without growing in width. On the device its nodes
are those of trees, each written once (models.tree_sharing); every DAG votes for a class.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from models.device import Array
from models.histograms import Binned
from models.jungle_train import Shape, as_tree, grow
from models.search import Task
from models.tree_nodes import Tree, merged
from models.trees_base import Fits, TreesClassifier

NODE_BYTES = 5
"""Of flash a node, with its part of the jumps and leaves."""
FULL_LEVELS = 4.5
"""Of full width in a DAG, beside the levels that lead to it."""
SAMPLES = {"fast": 10_000, "normal": 20_000, "best": 60_000}
WIRE_RANGE = {"int8": (-128, 127), "int16": (-32768, 32767)}


class JungleClassifier(TreesClassifier):
    """Rooted decision DAGs that vote.

    Parameters
    ----------
    n_dags : DAGs to grow, each on a bootstrap sample; a single one on all samples.
    max_width : nodes a level; deeper levels share them.
    max_depth : levels; those beyond the budget are cut off.
    max_features : features that a node chooses its split from; None: 3 times the root of their number.
    max_samples : the most samples of a DAG.
    thresholds : of each feature, at quantiles of the data.
    budget : largest flash size in bytes; None for no limit.
    numbers : the integers that features are rounded to, int8 or int16.
    random_state : seed of the samples, of the features a node looks at and of the order of the search.
    """

    def __init__(
        self,
        n_dags: int = 8,
        *,
        max_width: int = 16,
        max_depth: int = 16,
        max_features: int | None = None,
        max_samples: int = 20_000,
        thresholds: int = 15,
        budget: int | None = None,
        numbers: str = "int8",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_dags = n_dags
        self.max_width = max_width
        self.max_depth = max_depth
        self.max_features = max_features
        self.max_samples = max_samples
        self.thresholds = thresholds
        self.budget = budget
        self.numbers = numbers
        self.random_state = random_state

    def _grow(self, x: Array, labels: Array, seed: int) -> tuple[list[Tree], Array | None]:
        rng = np.random.default_rng(seed)
        features = self.max_features or int(np.ceil(3 * np.sqrt(x.shape[1])))
        shape = Shape(self.max_width, self.max_depth, features)
        count = min(len(labels), self.max_samples)
        data = Binned.of(x, labels, len(self.classes_), self.thresholds, rng)
        if self.n_dags == 1:  # nothing to differ from: no sample is left out
            return [as_tree(grow(data.part(rng.permutation(len(labels))[:count]), shape, rng))], None
        parts = (data.part(rng.integers(len(labels), size=count)) for _ in range(self.n_dags))
        return [as_tree(grow(part, shape, rng)) for part in parts], None

    def _trees_within(self, trees: list[Tree], fits: Fits) -> list[Tree]:
        """The deepest levels that fit, and one more of as many DAGs as have room for it."""
        depth = max(tree.depth() for tree in trees)
        while depth and not fits([self._cut(tree, depth) for tree in trees]):
            depth -= 1
        found = [self._cut(tree, depth) for tree in trees]
        if not fits(found):
            return []
        for number, tree in enumerate(trees):
            deeper = [*found[:number], self._cut(tree, depth + 1), *found[number + 1 :]]
            if fits(deeper):
                found = deeper
        return found

    def _cut(self, tree: Tree, depth: int) -> Tree:
        return merged(cut(tree, depth), *WIRE_RANGE[self.numbers])


def cut(tree: Tree, depth: int) -> Tree:
    """The nodes of one level as leaves, whose value is the majority that came there."""
    return replace(tree, feature=np.where(tree.depths() >= depth, -1, tree.feature))


def candidates(task: Task, budget: int, effort: str) -> list[dict[str, Any]]:
    """A few wide DAGs or many narrow ones, as deep as the budget may allow."""
    nodes = budget / NODE_BYTES
    usual = (nodes * task.n_classes) ** 0.5 / 4
    found: list[dict[str, Any]] = []
    for times in (1, 2, 4, 0.5, 1.5, 3):
        width = max(4, round(usual * times))
        dags = max(1, round(nodes / (width * FULL_LEVELS)))
        if dags == 2:
            dags = 3  # two votes are no better than one
        depth = int(np.log2(width) + nodes / (dags * width)) + 3
        params = {
            "n_dags": dags,
            "max_width": width,
            "max_depth": depth,
            "max_features": task.n_features if dags == 1 else None,  # one has none to differ from
            "max_samples": SAMPLES[effort],
            "budget": budget,
        }
        if params not in found:
            found.append(params)
    return found
