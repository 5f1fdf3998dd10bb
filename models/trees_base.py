"""What every classifier made of decision trees shares: integers in, a byte budget, the device model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from models.device import Array, DeviceModel, InputScale
from models.errors import BudgetError, InputError
from models.inputs import FULL_SCALE
from models.tree_nodes import Tree
from models.trees_device import Trees, codes, flash_size

NUMBERS = ("int8", "int16")
PAPER_BYTES = 12
"""The papers' size of a node: feature, threshold and child of an inner one, 4 bytes each; 4 of a leaf, and of
the second child where children are shared."""


class TreesClassifier(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """What all share: integers in, the features that a byte can name, and the device model."""

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
        if len(used(trees)) > most:
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
            paper_bytes=sum((PAPER_BYTES + 4 * t.shared) * t.inner + 4 * t.leaves for t in self._trees),
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
        listed = 2 * max(1, len(used(trees))) if self._listed else 0
        return flash_size(trees, self._numbers, self._leaf_bytes, self.scores, listed) <= self._budget


def longest(trees: list[Tree], fits: Fits, step: int) -> list[Tree]:
    """As many of the first trees as fit, in steps."""
    low, high = 0, len(trees) // step
    while low < high:
        middle = (low + high + 1) // 2
        if fits(trees[: middle * step]):
            low = middle
        else:
            high = middle - 1
    return trees[: low * step]


def used(trees: Sequence[Tree]) -> Array:
    return np.unique(np.concatenate([t.feature[t.feature >= 0] for t in trees]))


def _splits(trees: Sequence[Tree], features: int) -> Array:
    return np.bincount(np.concatenate([t.feature[t.feature >= 0] for t in trees]), minlength=features)


def _on_columns(tree: Tree, columns: Array) -> Tree:
    feature = np.where(tree.feature >= 0, columns[tree.feature], -1).astype(np.int64)
    return Tree(feature, tree.threshold, tree.left, tree.right, tree.value)
