from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from models import datasets, training
from models.boosted_pruning import PrunedBoostedClassifier, candidates
from models.checks import check_device_model
from models.errors import BudgetError
from models.search import Task
from models.trees import BoostedTreesClassifier


@pytest.fixture(scope="module")
def digits() -> datasets.Dataset:
    return datasets.load("digits")


@parametrize_with_checks([PrunedBoostedClassifier(5)])  # type: ignore[untyped-decorator]
def test_scikit_learn_accepts_it(estimator: Any, check: Any) -> None:
    check(estimator)


def test_without_a_budget_nothing_is_pruned(digits: datasets.Dataset) -> None:
    ours = PrunedBoostedClassifier(4, random_state=0).fit(digits.X_train, digits.y_train)
    whole = BoostedTreesClassifier(4, random_state=0).fit(digits.X_train, digits.y_train)
    assert ours.to_device().digest == whole.to_device().digest


def test_a_budget_is_used_by_all_trees_together(digits: datasets.Dataset) -> None:
    model = PrunedBoostedClassifier(6, max_leaves=16, budget=1500, random_state=0)
    device: Any = model.fit(digits.X_train, digits.y_train).to_device()
    whole: Any = PrunedBoostedClassifier(6, max_leaves=16, random_state=0)
    leaves = [tree.leaves for tree in whole.fit(digits.X_train, digits.y_train).to_device().trees]
    kept = [tree.leaves for tree in device.trees]
    assert 1350 < device.flash_bytes <= 1500
    assert len(kept) == len(leaves) == 60
    assert all(few <= many for few, many in zip(kept, leaves, strict=True))
    # The first rounds lower the loss most, so that most of them is kept.
    assert sum(kept[:20]) / sum(leaves[:20]) > sum(kept[40:]) / sum(leaves[40:])


def test_pruning_is_better_than_stopping_early(digits: datasets.Dataset) -> None:
    shape: dict[str, Any] = {"max_leaves": 16, "budget": 1200, "random_state": 0}
    pruned = PrunedBoostedClassifier(6, **shape).fit(digits.X_train, digits.y_train)
    stopped = BoostedTreesClassifier(6, **shape).fit(digits.X_train, digits.y_train)
    assert pruned.score(digits.X_test, digits.y_test) > stopped.score(digits.X_test, digits.y_test)


@pytest.mark.parametrize("leaf_bytes", [1, 2])
def test_the_kernel_agrees(digits: datasets.Dataset, leaf_bytes: int) -> None:
    model = PrunedBoostedClassifier(4, leaf_bytes=leaf_bytes, budget=1024, random_state=0)
    device = model.fit(digits.X_train, digits.y_train).to_device()
    check_device_model(device, digits.X_test[:50])
    assert np.array_equal(device.predict(digits.X_test), model.predict(digits.X_test))


def test_a_budget_for_nothing_is_refused(digits: datasets.Dataset) -> None:
    with pytest.raises(BudgetError, match="50 bytes"):
        PrunedBoostedClassifier(3, budget=50).fit(digits.X_train, digits.y_train)
    assert candidates(Task(1000, 64, 26), 200, "fast") == []


def test_it_is_trained_within_2_kb(digits: datasets.Dataset) -> None:
    trained = training.train("gbdt-pruned", digits, budget=2048, effort="fast")
    assert trained.report["flash_bytes"] <= 2048
    assert trained.report["test_accuracy"] > 0.9
