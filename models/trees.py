"""A decision tree, a random forest and gradient-boosted trees, each within a byte budget.

scikit-learn grows them, on the integers that the device is sent. The single tree is pruned by cost and
complexity (Breiman et al., 1984) down to the budget; a forest or boosted trees end with the last tree that
fits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from models.device import Array, DeviceModel, InputScale
from models.errors import BudgetError, InputError
from models.inputs import FULL_SCALE
from models.pruning import pruned
from models.search import Task
from models.tree_nodes import Tree
from models.trees_device import Trees, codes, flash_size

NUMBERS = ("int8", "int16")
VALUE_LIMIT = {1: 127, 2: 32767}
PAPER_BYTES = 12
"""The papers' size of a node: feature, threshold and child of an inner one, 4 bytes each; 4 of a leaf."""


class _TreesClassifier(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """What the three share: integers in, the features that a byte can name, and the device model."""

    leaf_bytes: int = 0
    budget: int | None = None
    numbers: str = "int8"
    random_state: int | np.random.RandomState | None = None

    @abstractmethod
    def _grow(self, x: Array, labels: Array, seed: int) -> tuple[list[Tree], Array | None]:
        """Trees over these features, and the base scores of boosted ones."""

    @abstractmethod
    def _trees_within(self, trees: list[Tree], fits: Fits) -> list[Tree]:
        """What of the trees fits; an empty list if nothing does."""

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        samples, given = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(given)
        self.classes_, labels = np.unique(given, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("Trees need samples of at least two classes; there is only one class.")
        if self.numbers not in NUMBERS:
            raise ValueError(f"numbers must be one of {', '.join(NUMBERS)}, not {self.numbers!r}")
        seed = check_random_state(self.random_state).randint(2**31)
        self.inputs_ = InputScale.for_data(samples, self.numbers)
        x = self.inputs_.encode(samples)
        columns = np.arange(x.shape[1])
        trees, base = self._grow(x, labels, seed)
        most = codes(len(self.classes_), self.leaf_bytes)
        if len(_used(trees)) > most:
            # A byte names a feature: grow again on those that were split most often.
            columns = np.sort(np.argsort(-_splits(trees, x.shape[1]), kind="stable")[:most])
            trees, base = self._grow(x[:, columns], labels, seed)
        trees = [_on_columns(tree, columns) for tree in trees]
        trees = self._affordable(trees, x.shape[1])
        self._trees, self._base = trees, base
        self.n_trees_ = len(trees)
        self.n_leaves_ = sum(t.leaves for t in trees)
        return self

    def decision_function(self, X: npt.ArrayLike) -> Array:
        """Votes, or boosted scores: the device's own integers."""
        check_is_fitted(self)
        samples = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        device = self.to_device(self.numbers)
        found = device.scores(device.encode(samples)).astype(np.float64)
        return found[:, 0] if found.shape[1] == 1 else found

    def predict(self, X: npt.ArrayLike) -> Array:
        check_is_fitted(self)
        samples = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        return np.asarray(self.classes_[self.to_device(self.numbers).predict_index(samples)])

    def to_device(self, numbers: str = "int8") -> DeviceModel:
        """The fitted model for firmware; the same integers can be sent in any type that holds them."""
        check_is_fitted(self)
        if numbers not in NUMBERS or self.inputs_.limit > FULL_SCALE[numbers]:
            raise InputError(
                f"Trees on features up to ±{self.inputs_.limit} have no firmware for {numbers}.",
                f"Choose {self.numbers}.",
            )
        return Trees.from_trees(
            self._trees,
            replace(self.inputs_, numbers=numbers),
            self.classes_,
            n_features=self.n_features_in_,
            base=self._base,
            leaf_bytes=self.leaf_bytes,
            paper_bytes=sum(PAPER_BYTES * (t.leaves - 1) + 4 * t.leaves for t in self._trees),
            info={"trees": self.n_trees_, "leaves": self.n_leaves_},
        )

    def _affordable(self, trees: list[Tree], n_features: int) -> list[Tree]:
        if self.budget is None:
            return trees
        scores = 1 if len(self.classes_) == 2 else len(self.classes_)
        listed = n_features > codes(len(self.classes_), self.leaf_bytes)
        fits = Fits(self.budget, self.numbers, self.leaf_bytes, scores, listed)
        found = self._trees_within(trees, fits)
        if not found:
            raise BudgetError(
                f"Not one tree of this shape fits into {self.budget} bytes.", "Allow more bytes."
            )
        return found

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_trees")


class Fits:
    """Whether trees fit into a budget."""

    def __init__(self, budget: int, numbers: str, leaf_bytes: int, scores: int, listed: bool) -> None:
        self._budget, self._numbers, self._leaf_bytes = budget, numbers, leaf_bytes
        self.scores, self._listed = scores, listed

    def __call__(self, trees: Sequence[Tree]) -> bool:
        if not trees:
            return False
        listed = 2 * max(1, len(_used(trees))) if self._listed else 0
        return flash_size(trees, self._numbers, self._leaf_bytes, self.scores, listed) <= self._budget


class PrunedTreeClassifier(_TreesClassifier):
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
        tree, self._risk = pruned(_voting(grown.tree_), risk, alpha=self.ccp_alpha)
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


class ForestClassifier(_TreesClassifier):
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
        return [_voting(one.tree_) for one in forest.estimators_], None

    def _trees_within(self, trees: list[Tree], fits: Fits) -> list[Tree]:
        return _longest(trees, fits, 1)


class BoostedTreesClassifier(_TreesClassifier):
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
        return [_valued(one, scale) for one in nodes], np.rint(base * scale).astype(np.int64)

    def _trees_within(self, trees: list[Tree], fits: Fits) -> list[Tree]:
        return _longest(trees, fits, fits.scores)


def _longest(trees: list[Tree], fits: Fits, step: int) -> list[Tree]:
    """As many of the first trees as fit, in steps."""
    low, high = 0, len(trees) // step
    while low < high:
        middle = (low + high + 1) // 2
        if fits(trees[: middle * step]):
            low = middle
        else:
            high = middle - 1
    return trees[: low * step]


def _voting(grown: Any) -> Tree:
    """scikit-learn's tree with integer thresholds (x <= t is x <= floor(t) for integers) and classes."""
    leaf = grown.children_left < 0
    return Tree(
        np.where(leaf, -1, grown.feature).astype(np.int64),
        np.where(leaf, 0, np.floor(grown.threshold)).astype(np.int64),
        np.where(leaf, 0, grown.children_left).astype(np.int64),
        np.where(leaf, 0, grown.children_right).astype(np.int64),
        grown.value[:, 0].argmax(axis=1).astype(np.int64),
    )


def _valued(nodes: Any, scale: float) -> Tree:
    leaf = nodes["is_leaf"].astype(bool)
    threshold = np.where(leaf, 0.0, np.clip(nodes["num_threshold"], -32768, 32767))
    return Tree(
        np.where(leaf, -1, nodes["feature_idx"]).astype(np.int64),
        np.floor(threshold).astype(np.int64),
        np.where(leaf, 0, nodes["left"]).astype(np.int64),
        np.where(leaf, 0, nodes["right"]).astype(np.int64),
        np.where(leaf, np.rint(nodes["value"] * scale), 0).astype(np.int64),
    )


def _used(trees: Sequence[Tree]) -> Array:
    return np.unique(np.concatenate([t.feature[t.feature >= 0] for t in trees]))


def _splits(trees: Sequence[Tree], features: int) -> Array:
    return np.bincount(np.concatenate([t.feature[t.feature >= 0] for t in trees]), minlength=features)


def _on_columns(tree: Tree, columns: Array) -> Tree:
    feature = np.where(tree.feature >= 0, columns[tree.feature], -1).astype(np.int64)
    return Tree(feature, tree.threshold, tree.left, tree.right, tree.value)


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
