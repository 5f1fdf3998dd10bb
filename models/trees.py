"""A decision tree, a random forest and gradient-boosted trees, each within a byte budget.

scikit-learn grows them, on the integers that the device is sent. The single tree is pruned by cost and
complexity (Breiman et al., 1984) down to the budget; a forest or boosted trees end with the last tree that
fits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from models.device import Array
from models.pruning import pruned
from models.search import Task
from models.tree_nodes import Tree
from models.trees_base import Fits, TreesClassifier, longest

VALUE_LIMIT = {1: 127, 2: 32767}


class PrunedTreeClassifier(TreesClassifier):
    """One decision tree, pruned by cost and complexity.

    Parameters
    ----------
    ccp_alpha : prune subtrees that gain less impurity a leaf, as in scikit-learn.
    budget : largest flash size in bytes: prune further until the tree fits. None: no limit.
    min_samples_leaf : samples that a leaf must have.
    numbers : the integers that features are rounded to, int8 or int16.
    random_state : seed of the choice between equal splits.
    """

    def __init__(
        self,
        ccp_alpha: float = 0.0,
        *,
        budget: int | None = None,
        min_samples_leaf: int = 1,
        numbers: str = "int8",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.ccp_alpha = ccp_alpha
        self.budget = budget
        self.min_samples_leaf = min_samples_leaf
        self.numbers = numbers
        self.random_state = random_state

    def _grow(self, x: Array, labels: Array, seed: int) -> tuple[list[Tree], Array | None]:
        grown = DecisionTreeClassifier(min_samples_leaf=self.min_samples_leaf, random_state=seed)
        grown.fit(x, labels)
        risk = grown.tree_.impurity * grown.tree_.weighted_n_node_samples / len(labels)
        tree, self._risk = pruned(voting(grown.tree_), risk, alpha=self.ccp_alpha)
        return [tree], None

    def _trees_within(self, trees: list[Tree], fits: Fits) -> list[Tree]:
        low, high = 1, trees[0].leaves
        while low < high:
            middle = (low + high + 1) // 2
            if fits([self._with_leaves(trees[0], middle)]):
                low = middle
            else:
                high = middle - 1
        found = [self._with_leaves(trees[0], low)]
        return found if fits(found) else []

    def _with_leaves(self, tree: Tree, leaves: int) -> Tree:
        return pruned(tree, self._risk, leaves=leaves)[0]


class ForestClassifier(TreesClassifier):
    """A random forest whose trees vote.

    Parameters
    ----------
    n_trees : trees to grow; those beyond the budget are dropped.
    max_leaves : leaves a tree.
    max_features : features that a split chooses from, as in scikit-learn.
    budget : largest flash size in bytes; None for no limit.
    numbers : the integers that features are rounded to, int8 or int16.
    random_state : seed of the forest.
    """

    def __init__(
        self,
        n_trees: int = 31,
        *,
        max_leaves: int | None = 64,
        max_features: str | float = "sqrt",
        budget: int | None = None,
        numbers: str = "int8",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_trees = n_trees
        self.max_leaves = max_leaves
        self.max_features = max_features
        self.budget = budget
        self.numbers = numbers
        self.random_state = random_state

    def _grow(self, x: Array, labels: Array, seed: int) -> tuple[list[Tree], Array | None]:
        forest = RandomForestClassifier(
            self.n_trees, max_leaf_nodes=self.max_leaves, max_features=self.max_features, random_state=seed
        )
        forest.fit(x, labels)
        return [voting(one.tree_) for one in forest.estimators_], None

    def _trees_within(self, trees: list[Tree], fits: Fits) -> list[Tree]:
        return longest(trees, fits, 1)


class BoostedTreesClassifier(TreesClassifier):
    """Gradient-boosted trees with integer leaf values.

    Parameters
    ----------
    n_rounds : rounds of boosting; each adds a tree a class (one for two classes).
    max_leaves : leaves a tree.
    learning_rate : of the boosting.
    l2_regularization : of the leaf values.
    leaf_bytes : bytes of a leaf value, 1 or 2.
    budget : largest flash size in bytes; None for no limit.
    numbers : the integers that features are rounded to, int8 or int16.
    random_state : seed of the binning.
    """

    def __init__(
        self,
        n_rounds: int = 20,
        *,
        max_leaves: int = 8,
        learning_rate: float = 0.3,
        l2_regularization: float = 1.0,
        leaf_bytes: int = 1,
        budget: int | None = None,
        numbers: str = "int8",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_rounds = n_rounds
        self.max_leaves = max_leaves
        self.learning_rate = learning_rate
        self.l2_regularization = l2_regularization
        self.leaf_bytes = leaf_bytes
        self.budget = budget
        self.numbers = numbers
        self.random_state = random_state

    def _grow(self, x: Array, labels: Array, seed: int) -> tuple[list[Tree], Array | None]:
        if self.leaf_bytes not in VALUE_LIMIT:
            raise ValueError(f"leaf_bytes must be 1 or 2, not {self.leaf_bytes!r}")
        boosted = HistGradientBoostingClassifier(
            max_iter=self.n_rounds,
            max_leaf_nodes=self.max_leaves,
            learning_rate=self.learning_rate,
            l2_regularization=self.l2_regularization,
            min_samples_leaf=min(20, max(1, len(labels) // 50)),
            early_stopping=False,
            random_state=seed,
        )
        boosted.fit(x, labels)
        # scikit-learn shows the trees of this estimator nowhere else.
        nodes = [one.nodes for stage in boosted._predictors for one in stage]
        base = np.asarray(boosted._baseline_prediction).ravel()
        top = max(float(np.abs(n["value"][n["is_leaf"].astype(bool)]).max()) for n in nodes)
        scale = VALUE_LIMIT[self.leaf_bytes] / max(top, 1e-9)
        self._note(nodes)
        trees = [self._valued(one, scale) for one in nodes]
        return trees, np.rint(base * scale).astype(np.int64)

    def _note(self, nodes: list[Any]) -> None:
        """What a subclass wants to know of scikit-learn's trees."""

    def _valued(self, nodes: Any, scale: float) -> Tree:
        """With integer values; an inner node's is what it would add as a leaf."""
        leaf = nodes["is_leaf"].astype(bool)
        threshold = np.where(leaf, 0.0, np.clip(nodes["num_threshold"], -32768, 32767))
        limit = VALUE_LIMIT[self.leaf_bytes]
        # Of inner nodes scikit-learn keeps the value before it is shrunk.
        value = np.where(leaf, 1.0, self.learning_rate) * nodes["value"] * scale
        return Tree(
            np.where(leaf, -1, nodes["feature_idx"]).astype(np.int64),
            np.floor(threshold).astype(np.int64),
            np.where(leaf, 0, nodes["left"]).astype(np.int64),
            np.where(leaf, 0, nodes["right"]).astype(np.int64),
            np.clip(np.rint(value), -limit, limit).astype(np.int64),
        )

    def _trees_within(self, trees: list[Tree], fits: Fits) -> list[Tree]:
        return longest(trees, fits, fits.scores)


def voting(grown: Any) -> Tree:
    """scikit-learn's tree with integer thresholds (x <= t is x <= floor(t) for integers) and classes."""
    leaf = grown.children_left < 0
    return Tree(
        np.where(leaf, -1, grown.feature).astype(np.int64),
        np.where(leaf, 0, np.floor(grown.threshold)).astype(np.int64),
        np.where(leaf, 0, grown.children_left).astype(np.int64),
        np.where(leaf, 0, grown.children_right).astype(np.int64),
        grown.value[:, 0].argmax(axis=1).astype(np.int64),
    )


def tree_candidates(task: Task, budget: int, effort: str) -> list[dict[str, Any]]:
    """Pruned to the budget alone, and more than that: a smaller tree may generalise better."""
    alphas = (0.0, 3e-4, 1e-3, 3e-3)
    return [{"ccp_alpha": a, "min_samples_leaf": n, "budget": budget} for n in (1, 3) for a in alphas]


def forest_candidates(task: Task, budget: int, effort: str) -> list[dict[str, Any]]:
    """Many small trees or a few large ones."""
    found = []
    for leaves in (32, 16, 64, 128, 256, 8):
        trees = min(200, budget // (4 * leaves))
        if trees >= 3 and leaves >= min(task.n_classes, 8):
            found.append({"n_trees": trees, "max_leaves": leaves, "max_features": "sqrt", "budget": budget})
    return found


def boosted_candidates(task: Task, budget: int, effort: str) -> list[dict[str, Any]]:
    """Rounds and leaves that share the budget, at two learning rates."""
    found = []
    for rate in (0.3, 0.15):
        for leaves in (8, 4, 16, 3):
            rounds = min(200, budget // (task.n_scores * (5 * leaves + 1)))
            if rounds >= 2:
                found.append(
                    {"n_rounds": rounds, "max_leaves": leaves, "learning_rate": rate, "budget": budget}
                )
    return found
