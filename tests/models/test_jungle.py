from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from models import datasets, training
from models.checks import check_device_model
from models.errors import BudgetError
from models.histograms import Binned
from models.jungle import JungleClassifier, candidates, cut
from models.jungle_train import EntropyTable, Level, Shape, as_tree, grow
from models.search import Task


@pytest.fixture(scope="module")
def digits() -> datasets.Dataset:
    return datasets.load("digits")


@pytest.fixture(scope="module")
def binned(digits: datasets.Dataset) -> Binned:
    rng = np.random.default_rng(0)
    return Binned.of(digits.X_train.astype(np.int8), digits.y_train.astype(np.int64), 10, 15, rng)


@parametrize_with_checks([JungleClassifier(3, max_depth=8)])  # type: ignore[untyped-decorator]
def test_scikit_learn_accepts_it(estimator: Any, check: Any) -> None:
    check(estimator)


def entropy(labels: np.ndarray[Any, Any]) -> float:
    shares = np.bincount(labels)[np.bincount(labels) > 0] / len(labels)
    return float(-(shares * np.log2(shares)).sum() * len(labels))


def test_the_entropy_table_is_the_entropy() -> None:
    labels = np.array([0, 0, 1, 2, 2, 2, 2])
    assert EntropyTable(20)(np.bincount(labels)) == pytest.approx(entropy(labels))
    assert EntropyTable(20)(np.zeros(4, dtype=np.int64)) == 0


def grown(binned: Binned, seed: int, **shape: int) -> list[Level]:
    return grow(
        binned, Shape(**{"width": 12, "depth": 9, "features": 20, **shape}), np.random.default_rng(seed)
    )


@pytest.mark.parametrize("seed", range(3))
def test_no_round_of_the_search_raises_the_entropy(binned: Binned, seed: int) -> None:
    energies = [level.energies for level in grown(binned, seed) if level.energies]
    for rounds in energies:
        assert all(after <= before + 1e-6 for before, after in pairwise(rounds))
    assert sum(rounds[0] - rounds[-1] for rounds in energies) > 10
    assert all(len(rounds) >= 2 for rounds in energies)


def test_the_energy_is_that_of_the_samples_in_the_next_level(
    digits: datasets.Dataset, binned: Binned
) -> None:
    levels = grown(binned, 0)
    tree = as_tree(levels)
    x = digits.X_train.astype(np.int64)
    at = np.zeros(len(x), dtype=np.int64)
    for level in levels[:-1]:
        inner = tree.feature[at] >= 0
        low = x[np.arange(len(x)), tree.feature[at]] <= tree.threshold[at]
        at = np.where(inner, np.where(low, tree.left[at], tree.right[at]), at)
        labels = digits.y_train[inner].astype(int)
        total = sum(entropy(labels[at[inner] == node]) for node in np.unique(at[inner]))
        assert level.energies[-1] == pytest.approx(total)


def test_levels_keep_to_their_width_and_number(binned: Binned) -> None:
    levels = grown(binned, 0)
    assert [len(level.feature) for level in levels] == [1, 2, 4, 8] + [12] * 6
    assert as_tree(levels).shared
    assert as_tree(levels).depth() == 9


def test_without_a_limit_of_width_it_is_a_tree_that_knows_its_samples(
    digits: datasets.Dataset, binned: Binned
) -> None:
    tree = as_tree(grown(binned, 0, width=100_000, depth=60))
    assert not tree.shared
    assert np.mean(tree.apply(digits.X_train.astype(np.int64)) == digits.y_train) == 1


def test_a_cut_level_answers_with_its_majorities(digits: datasets.Dataset, binned: Binned) -> None:
    tree = as_tree(grown(binned, 0))
    assert (cut(tree, 0).apply(digits.X_test.astype(np.int64)) == tree.value[0]).all()
    hits = [
        np.mean(cut(tree, depth).apply(digits.X_train.astype(np.int64)) == digits.y_train)
        for depth in (0, 2, 4, 9)
    ]
    assert hits == sorted(hits)
    assert cut(tree, 4).depth() == 4


@pytest.mark.parametrize("budget", [300, 1024, 4096])
def test_a_budget_is_used_and_never_exceeded(digits: datasets.Dataset, budget: int) -> None:
    model = JungleClassifier(4, max_width=12, max_depth=40, budget=budget, random_state=0)
    size = model.fit(digits.X_train, digits.y_train).to_device().flash_bytes
    whole = JungleClassifier(4, max_width=12, max_depth=40, random_state=0).fit(
        digits.X_train, digits.y_train
    )
    assert size <= budget
    assert size > 0.75 * min(budget, whole.to_device().flash_bytes)


def test_many_features_are_reduced_to_those_that_a_byte_can_name() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(-100, 100, size=(800, 600)).astype(float)
    y = (X[:, 3] > 0).astype(int) + 2 * (X[:, 550] > 20)
    model = JungleClassifier(9, max_features=300, budget=1500, random_state=0).fit(X, y)
    device = model.to_device()
    assert {3, 550} <= set(device.arrays["kept"].tolist())
    assert device.flash_bytes <= 1500
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("numbers", ["int8", "int16"])
def test_the_kernel_agrees(digits: datasets.Dataset, numbers: str) -> None:
    model = JungleClassifier(5, max_width=16, numbers=numbers, random_state=0)
    device: Any = model.fit(digits.X_train, digits.y_train).to_device(numbers)
    assert any(tree.shared for tree in device.trees)
    check_device_model(device, digits.X_test[:60])


def test_a_budget_for_nothing_is_refused(digits: datasets.Dataset) -> None:
    with pytest.raises(BudgetError, match="12 bytes"):
        JungleClassifier(budget=12).fit(digits.X_train, digits.y_train)


def test_it_is_trained_within_2_kb(digits: datasets.Dataset) -> None:
    trained = training.train("jungle", digits, budget=2048, effort="fast")
    assert trained.report["flash_bytes"] <= 2048
    assert trained.report["test_accuracy"] > 0.87
    assert all(p["budget"] == 700 for p in candidates(Task(1000, 64, 10), 700, "fast"))
