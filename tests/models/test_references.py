from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from models import datasets, registry, training
from models.errors import InputError
from models.references import (
    BoostedReference,
    KNNReference,
    LinearSVMReference,
    LMNNReference,
    NetworkReference,
    RBFSVMReference,
)
from models.search import Task

NAMES = ("knn", "lmnn-knn", "svm-rbf", "svm-linear", "gbdt-full", "network")


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [
        KNNReference(),
        KNNReference(3, standardize=True),
        LMNNReference(epochs=3),
        RBFSVMReference(),
        RBFSVMReference(standardize=True),
        LinearSVMReference(),
        BoostedReference(n_rounds=10),
        NetworkReference(32, epochs=300),
    ]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_accepts_it(estimator: Any, check: Any) -> None:
    check(estimator)


def test_nearest_neighbours_are_scikit_learns() -> None:
    digits = datasets.load("digits")
    ours = KNNReference(3).fit(digits.X_train, digits.y_train).predict(digits.X_test)
    theirs = KNeighborsClassifier(3).fit(digits.X_train, digits.y_train).predict(digits.X_test)
    assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("name", NAMES)
def test_every_setting_worth_trying_is_one_the_model_takes(name: str) -> None:
    kind = registry.estimator(name)
    proposals = registry.candidates(name)(Task(1000, 64, 10), 2048, "fast")
    assert proposals
    for params in proposals:
        assert set(params) <= set(kind(**params).get_params())


def test_a_reference_is_trained_like_any_model_but_has_no_firmware() -> None:
    digits = datasets.load("digits")
    trained = training.train("svm-rbf", digits, budget=2048, effort="fast")
    assert trained.report["test_accuracy"] > 0.98
    assert trained.report["flash_bytes"] is None
    with pytest.raises(InputError, match="host only"):
        trained.device()
