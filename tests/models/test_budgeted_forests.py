from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from models import budgeted_forests, datasets, training
from models.budget_grow import Rules, acquired, minimax_tree, pairs
from models.budget_prune import Problem, cut_to
from models.budgeted_forests import BudgetPruneClassifier, BudgetRFClassifier
from models.checks import check_device_model
from models.errors import BudgetError
from models.histograms import Binned
from models.search import Task
from models.tree_nodes import Tree
from models.trees import voting


@pytest.fixture(scope="module")
def digits() -> datasets.Dataset:
    return datasets.load("digits")


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [BudgetRFClassifier(5), BudgetPruneClassifier(5)]
)
def test_scikit_learn_accepts_it(estimator: Any, check: Any) -> None:
    check(estimator)


# BudgetRF


def test_impurity_counts_pairs_of_different_classes() -> None:
    counts = np.array([3, 1, 2])
    assert pairs(counts, 0.0) == 2 * (3 * 1 + 3 * 2 + 1 * 2)
    assert pairs(counts, 1.0) == 2 * 2 * 1
    assert pairs(np.array([7, 0, 0]), 0.0) == 0


def test_the_split_is_the_one_whose_worse_side_is_best() -> None:
    """By looking at every split of the data: the tree's root has the largest drop of its worse side."""
    rng = np.random.default_rng(0)
    x = rng.integers(-50, 50, size=(120, 4)).astype(np.int8)
    labels = (x[:, 2] > 10).astype(np.int64) + (x[:, 0] > 30)
    data = Binned.of(x, labels, 3, 15, rng)
    tree, risk = minimax_tree(data, Rules(alpha=0.0, features=4, again=1.0, depth=12), rng)
    worse = {}
    for feature in range(4):
        for threshold in np.unique(data.edges[:, feature]):
            low = x[:, feature] <= threshold
            sides = [np.bincount(labels[side], minlength=3) for side in (low, ~low)]
            worse[feature, int(threshold)] = max(float(pairs(side, 0.0)) for side in sides)
    assert worse[int(tree.feature[0]), int(tree.threshold[0])] == min(worse.values())
    assert risk[0] == len(labels) - np.bincount(labels).max()
    assert (risk[tree.feature < 0].sum() < risk[0]) and risk.min() == 0


def test_features_that_are_known_are_asked_for_again_where_that_is_cheaper(digits: datasets.Dataset) -> None:
    x = digits.X_train.astype(np.int8)
    data = Binned.of(x, digits.y_train.astype(np.int64), 10, 15, np.random.default_rng(0))
    new = []
    for again in (1.0, 0.2, 1e-9):
        rules = Rules(alpha=1.0, features=30, again=again, depth=20)
        tree, _ = minimax_tree(data, rules, np.random.default_rng(0))
        new.append(float(acquired(tree, x).sum() / sum(side.sum() for side in tree.visits(x))))
    assert new[0] > 1.2 * new[1]
    assert new[1] >= new[2]


def test_trees_end_where_the_feature_budget_does(digits: datasets.Dataset) -> None:
    small, large, free = (
        BudgetRFClassifier(12, feature_budget=limit, random_state=0).fit(digits.X_train, digits.y_train)
        for limit in (12.0, 25.0, None)
    )
    assert small.n_trees_ < large.n_trees_ < free.n_trees_ == 12
    assert small.acquisition_cost(digits.X_test) < 13
    assert large.acquisition_cost(digits.X_test) < 27


def test_acquired_features_are_those_on_the_way() -> None:
    rows = [[0, 5, 1, 2, 0], [-1, 0, 0, 0, 0], [2, 0, 3, 4, 0], [-1, 0, 0, 0, 0], [-1, 0, 0, 0, 1]]
    tree = Tree(*np.array(rows).T)
    found = acquired(tree, np.array([[1, 9, 9], [7, 9, 9]]))
    assert found.tolist() == [[True, False, False], [True, False, True]]


# BudgetPrune


@pytest.fixture(scope="module")
def forest(digits: datasets.Dataset) -> list[Tree]:
    grown = RandomForestClassifier(6, max_leaf_nodes=40, random_state=0)
    grown.fit(digits.X_train[:900], digits.y_train[:900])
    return [voting(one.tree_) for one in grown.estimators_]


@pytest.fixture(scope="module")
def problem(digits: datasets.Dataset, forest: list[Tree]) -> Problem:
    return Problem.of(forest, digits.X_train[900:], digits.y_train[900:].astype(np.int64), asking=150)


PENALTIES = (0.0, 1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1.0)


def test_the_program_has_answers_of_zeros_and_ones_that_keep_parents(
    problem: Problem, forest: list[Tree]
) -> None:
    for penalty in PENALTIES:
        found = problem.solve(penalty)
        assert np.minimum(np.abs(found), np.abs(1 - found)).max() < 1e-9
        for tree, stays in zip(forest, problem.stays(penalty), strict=True):
            for child in (tree.left, tree.right):
                assert (stays[tree.feature >= 0] >= stays[child[tree.feature >= 0]]).all()


def test_a_higher_penalty_never_keeps_more(
    problem: Problem, forest: list[Tree], digits: datasets.Dataset
) -> None:
    cut = [
        [cut_to(tree, own) for tree, own in zip(forest, problem.stays(penalty), strict=True)]
        for penalty in PENALTIES
    ]
    some = digits.X_train[900:1050]
    asked = [np.mean(sum(acquired(tree, some) for tree in trees) > 0) for trees in cut]
    errors = [
        np.mean([tree.apply(digits.X_train[900:]) != digits.y_train[900:] for tree in trees]) for trees in cut
    ]
    assert asked == sorted(asked, reverse=True) and asked[0] > asked[-1] == 0
    assert errors == sorted(errors) and errors[0] < errors[-1]


def test_no_other_pruning_of_a_small_forest_is_better(digits: datasets.Dataset) -> None:
    """Every pruning of two small trees, one by one: the program's objective is the least of all."""
    X, y = digits.X_train[:300], digits.y_train[:300].astype(np.int64)
    grown = RandomForestClassifier(2, max_leaf_nodes=6, random_state=1).fit(X[:200], y[:200])
    forest = [voting(one.tree_) for one in grown.estimators_]
    held, labels, penalty = X[200:], y[200:], 0.02
    problem = Problem.of(forest, held, labels, asking=100)

    def objective(stays: list[Any]) -> float:
        trees = [cut_to(tree, own) for tree, own in zip(forest, stays, strict=True)]
        errors = np.mean([np.mean(tree.apply(held) != labels) for tree in trees])
        asked = np.logical_or(*(acquired(tree, held) for tree in trees)).sum(axis=1).mean()
        return float(errors + penalty * asked)

    def prunings(tree: Tree, node: int = 0) -> list[set[int]]:
        if tree.feature[node] < 0:
            return [set()]
        sides = [prunings(tree, int(side[node])) for side in (tree.left, tree.right)]
        return [set(), *({node} | low | high for low in sides[0] for high in sides[1])]

    masks = [[np.isin(np.arange(len(t.feature)), list(kept)) for kept in prunings(t)] for t in forest]
    least = min(objective([a, b]) for a in masks[0] for b in masks[1])
    assert objective(problem.stays(penalty)) == pytest.approx(least)
    assert least < min(objective([masks[0][0], masks[1][0]]), objective([t.feature >= 0 for t in forest]))


def test_the_penalty_is_chosen_on_held_out_samples(digits: datasets.Dataset) -> None:
    model = BudgetPruneClassifier(12, budget=1024, random_state=0).fit(digits.X_train, digits.y_train)
    assert model.penalty_ in budgeted_forests.PENALTIES
    dear = BudgetPruneClassifier(12, penalty=0.02, random_state=0).fit(digits.X_train, digits.y_train)
    cheap = BudgetPruneClassifier(12, penalty=0.0, random_state=0).fit(digits.X_train, digits.y_train)
    assert dear.acquisition_cost(digits.X_test) < cheap.acquisition_cost(digits.X_test)
    assert dear.n_leaves_ < cheap.n_leaves_


# Both


@pytest.mark.parametrize("kind", [BudgetRFClassifier, BudgetPruneClassifier])
@pytest.mark.parametrize("budget", [300, 2048])
def test_a_budget_is_never_exceeded(digits: datasets.Dataset, kind: Any, budget: int) -> None:
    model = kind(max_leaves=20, budget=budget, random_state=0).fit(digits.X_train, digits.y_train)
    assert 0.6 * budget < model.to_device().flash_bytes <= budget
    with pytest.raises(BudgetError, match="5 bytes"):
        kind(budget=5).fit(digits.X_train, digits.y_train)


@pytest.mark.parametrize("kind", [BudgetRFClassifier, BudgetPruneClassifier])
def test_the_kernel_agrees(digits: datasets.Dataset, kind: Any) -> None:
    model = kind(7, budget=1500, random_state=0).fit(digits.X_train, digits.y_train)
    check_device_model(model.to_device(), digits.X_test[:50])
    assert np.array_equal(model.to_device().predict(digits.X_test), model.predict(digits.X_test))


@pytest.mark.parametrize("name", ["budget-rf", "budget-prune"])
def test_it_is_trained_within_2_kb(digits: datasets.Dataset, name: str) -> None:
    trained = training.train(name, digits, budget=2048, effort="fast")
    assert trained.report["flash_bytes"] <= 2048
    assert trained.report["test_accuracy"] > 0.87


@pytest.mark.parametrize("propose", [budgeted_forests.rf_candidates, budgeted_forests.prune_candidates])
def test_candidates_are_there_for_any_budget(propose: Any) -> None:
    for budget in (200, 2048, 65536):
        proposals = propose(Task(5000, 256, 10), budget, "fast")
        assert all(1 <= p["n_trees"] <= 100 and p["budget"] == budget for p in proposals)
