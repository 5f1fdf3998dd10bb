"""Forests that ask for few features: BudgetRF (Nan et al., ICML 2015) and BudgetPrune (NIPS 2016).

Both were made for features that cost something to acquire. Here every feature costs the same, and what must
be kept to is a byte budget; fewer features help with that too, since a list of them lies in flash where a
byte cannot name them all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils.validation import check_is_fitted, validate_data

from models.budget_grow import Rules, acquired, minimax_tree
from models.budget_prune import Problem, Stays, cut_to
from models.device import Array
from models.histograms import Binned
from models.pruning import pruned
from models.search import Task
from models.tree_nodes import Ints, Tree
from models.trees import voting
from models.trees_base import Fits, TreesClassifier, longest

HELD_OUT = 0.25
"""Part of the samples that a forest is pruned, or its cost is judged, by."""
ASKING = 200
"""Of these, how many stand for what features cost: the linear program grows with them."""
PENALTIES = (0.0, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
"""λ that are tried where there is a budget."""
MOST_DEPTH = 24
MOST_TREES = 100
MANY_CLASSES = 12
LEAF_BYTES = 4
"""Of a leaf and its inner node."""
SAMPLES = {"fast": 8000, "normal": 20_000, "best": 60_000}


class _BudgetedForest(TreesClassifier):
    """A forest that knows what it asks for."""

    def acquisition_cost(self, X: npt.ArrayLike) -> float:
        """Different features that a sample is asked for by all trees together, on average."""
        check_is_fitted(self)
        samples = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        return _cost(self._trees, self.inputs_.encode(samples))


class BudgetRFClassifier(_BudgetedForest):
    """A feature-budgeted random forest: greedy minimax trees that prefer features they already have.

    Parameters
    ----------
    n_trees : trees to grow at most; those beyond the budgets are dropped.
    max_leaves : leaves a tree, by cost-complexity pruning.
    alpha : samples of a class that are forgiven in a leaf, as a share of all.
    feature_budget : different features that a sample may be asked for on average; None for no limit.
    reuse_cost : the cost of a feature that was asked for before on the way, in units of a new one's: 0 in the
        paper, for the fewest features; 1 is the most accurate where only bytes count.
    max_features : features that a split chooses from; None: 3 times the root of their number.
    max_samples : the most samples of a tree.
    thresholds : of each feature, at quantiles of the data.
    budget : largest flash size in bytes; None for no limit.
    numbers : the integers that features are rounded to, int8 or int16.
    random_state : seed of the samples and features.
    """

    def __init__(
        self,
        n_trees: int = 20,
        *,
        max_leaves: int | None = 64,
        alpha: float = 0.0005,
        feature_budget: float | None = None,
        reuse_cost: float = 1.0,
        max_features: int | None = None,
        max_samples: int = 20_000,
        thresholds: int = 15,
        budget: int | None = None,
        numbers: str = "int8",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_trees = n_trees
        self.max_leaves = max_leaves
        self.alpha = alpha
        self.feature_budget = feature_budget
        self.reuse_cost = reuse_cost
        self.max_features = max_features
        self.max_samples = max_samples
        self.thresholds = thresholds
        self.budget = budget
        self.numbers = numbers
        self.random_state = random_state

    def _grow(self, x: Array, labels: Ints, seed: int) -> tuple[list[Tree], Array | None]:
        rng = np.random.default_rng(seed)
        train, held = _parted(len(labels), rng, whole=self.feature_budget is None)
        data = Binned.of(x, labels, len(self.classes_), self.thresholds, rng)
        count = min(len(train), self.max_samples)
        rules = Rules(
            alpha=self.alpha * count,
            features=self.max_features or int(np.ceil(3 * np.sqrt(x.shape[1]))),
            again=max(self.reuse_cost, 1e-9),
            depth=MOST_DEPTH,
        )
        trees: list[Tree] = []
        for _ in range(self.n_trees):
            part = data.part(train[rng.integers(len(train), size=count)])
            trees.append(pruned(*minimax_tree(part, rules, rng), leaves=self.max_leaves)[0])
            if self.feature_budget is not None and _cost(trees, x[held]) > self.feature_budget:
                # The first tree stays even if it alone is too dear: no forest has none.
                return trees[: max(1, len(trees) - 1)], None
        return trees, None

    def _trees_within(self, trees: list[Tree], fits: Fits) -> list[Tree]:
        return longest(trees, fits, 1)


class BudgetPruneClassifier(_BudgetedForest):
    """A random forest, pruned by a linear program that weighs errors against features asked for.

    Parameters
    ----------
    n_trees : trees of the forest that is pruned.
    max_leaves : leaves a tree before pruning.
    penalty : λ, the part of samples that one feature more must save from error; None: with a budget the best
        for held-out samples, else 0.001.
    max_features : features that a split chooses from, as in scikit-learn.
    budget : largest flash size in bytes; trees that do not fit after pruning are dropped. None for no limit.
    numbers : the integers that features are rounded to, int8 or int16.
    random_state : seed of the forest and of the samples it is pruned by.
    """

    def __init__(
        self,
        n_trees: int = 20,
        *,
        max_leaves: int | None = 64,
        penalty: float | None = None,
        max_features: str | float = "sqrt",
        budget: int | None = None,
        numbers: str = "int8",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_trees = n_trees
        self.max_leaves = max_leaves
        self.penalty = penalty
        self.max_features = max_features
        self.budget = budget
        self.numbers = numbers
        self.random_state = random_state

    def _grow(self, x: Array, labels: Ints, seed: int) -> tuple[list[Tree], Array | None]:
        train, held = _parted(len(labels), np.random.default_rng(seed))
        forest = RandomForestClassifier(
            self.n_trees, max_leaf_nodes=self.max_leaves, max_features=self.max_features, random_state=seed
        )
        forest.fit(x[train], labels[train])
        named = forest.classes_.astype(np.int64)
        trees = [_with_classes(voting(one.tree_), named) for one in forest.estimators_]
        self._judge = _Judge(trees, x[held], labels[held])
        return trees, None

    def _affordable(self, trees: list[Tree], n_features: int) -> list[Tree]:
        try:
            if self.budget is not None:
                return super()._affordable(trees, n_features)
            self.penalty_ = 0.001 if self.penalty is None else self.penalty
            stays = self._judge.problem.stays(self.penalty_)
            return [cut_to(tree, own) for tree, own in zip(trees, stays, strict=True)]
        finally:
            del self._judge  # it holds samples

    def _trees_within(self, trees: list[Tree], fits: Fits) -> list[Tree]:
        """Pruned by the λ whose trees, as many as fit, predict held-out samples best."""
        best = -1.0
        found: list[Tree] = []
        for penalty in PENALTIES if self.penalty is None else (self.penalty,):
            stays = self._judge.problem.stays(penalty)
            # A tree that is pruned down to its root says nothing of a sample, and need not vote.
            some = [number for number, own in enumerate(stays) if own.any()] or [0]
            cut = longest([cut_to(trees[number], stays[number]) for number in some], fits, 1)
            accuracy = self._judge.accuracy(stays, some[: len(cut)])
            if cut and accuracy > best:
                best, found, self.penalty_ = accuracy, cut, penalty
        return found


class _Judge:
    """Held-out samples: the program that prunes by them, and how well pruned trees vote on them."""

    def __init__(self, trees: list[Tree], x: Array, labels: Ints) -> None:
        self._trees, self._x, self._labels = trees, x, labels
        self.problem = Problem.of(trees, x, labels, asking=ASKING)

    def accuracy(self, stays: Stays, chosen: list[int]) -> float:
        votes = np.zeros((len(self._x), 1 + max(int(tree.value.max()) for tree in self._trees)))
        for number in chosen:
            votes[np.arange(len(votes)), cut_to(self._trees[number], stays[number]).apply(self._x)] += 1
        return float(np.mean(votes.argmax(axis=1) == self._labels))


def _parted(count: int, rng: np.random.Generator, *, whole: bool = False) -> tuple[Ints, Ints]:
    """Samples to learn from, and to judge by."""
    order = rng.permutation(count)
    held = 0 if whole else int(HELD_OUT * count)
    return order[held:], order[:held] if held else order[:1]


def _cost(trees: list[Tree], x: Array) -> float:
    asked = np.zeros(x.shape, dtype=bool)
    for tree in trees:
        asked |= acquired(tree, x)
    return float(asked.sum(axis=1).mean())


def _with_classes(tree: Tree, classes: Ints) -> Tree:
    """A forest that has not seen every class counts only those it has."""
    return Tree(tree.feature, tree.threshold, tree.left, tree.right, classes[tree.value])


def rf_candidates(task: Task, budget: int, effort: str) -> list[dict[str, Any]]:
    """Trees of several sizes. New features cost what known ones do at first: cheaper ones only save features,
    and on quarters held out of usps-2, usps-10 and letter-26 every such forest was worse at 2 kB."""
    usual = 64 if task.n_classes <= MANY_CLASSES else 128
    found = []
    for leaves, reuse in (
        (usual, 1.0), (usual // 2, 1.0), (usual, 0.95), (2 * usual, 1.0), (usual // 4, 1.0), (usual, 0.5)
    ):  # fmt: skip
        shape = {"n_trees": _trees(budget, leaves), "max_leaves": leaves, "reuse_cost": reuse}
        found.append({**shape, "budget": budget, "max_samples": SAMPLES[effort]})
    return found


def prune_candidates(task: Task, budget: int, effort: str) -> list[dict[str, Any]]:
    """Forests of about the budget, or twice and thrice as large, with trees of several sizes."""
    found = []
    for leaves, times in ((128, 1), (64, 1), (128, 2), (64, 2), (256, 1), (32, 2), (256, 2), (128, 3)):
        shape = {"n_trees": _trees(times * budget, leaves), "max_leaves": leaves}
        found.append({**shape, "budget": budget})
    return found


def _trees(budget: int, leaves: int) -> int:
    """As many as take so many bytes, and one that perhaps fits as well."""
    return min(MOST_TREES, 1 + budget // (LEAF_BYTES * leaves))
