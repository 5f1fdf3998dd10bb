from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from models import datasets
from models.errors import BudgetError, InputError
from models.linear import L1LogisticClassifier
from models.linear_device import LinearInt8


@parametrize_with_checks([L1LogisticClassifier()])  # type: ignore[untyped-decorator]
def test_follows_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.fixture(scope="module")
def digits() -> datasets.Dataset:
    return datasets.load("digits")


def test_int8_is_as_good_as_float_on_digits(digits: datasets.Dataset) -> None:
    model = L1LogisticClassifier(random_state=0).fit(digits.X_train, digits.y_train)
    as_float = np.mean(model.predict(digits.X_test) == digits.y_test)
    as_int8 = np.mean(model.to_device("int8").predict(digits.X_test) == digits.y_test)
    assert as_int8 > 0.955
    assert as_int8 > as_float - 0.01


def test_float_firmware_predicts_what_the_estimator_predicts(digits: datasets.Dataset) -> None:
    model = L1LogisticClassifier(random_state=0).fit(digits.X_train, digits.y_train)
    device = model.to_device("float32")
    assert np.array_equal(device.predict(digits.X_test), model.predict(digits.X_test))


@pytest.mark.parametrize("budget", [100, 250, 500])
def test_a_budget_is_never_exceeded(digits: datasets.Dataset, budget: int) -> None:
    model = L1LogisticClassifier(budget=budget, random_state=0).fit(digits.X_train, digits.y_train)
    assert model.to_device("int8").flash_bytes <= budget


def test_what_a_tight_budget_drops_is_made_up_for(digits: datasets.Dataset) -> None:
    """Dropped weights alone would leave 79 %."""
    model = L1LogisticClassifier(budget=150, random_state=0).fit(digits.X_train, digits.y_train)
    assert np.mean(model.to_device("int8").predict(digits.X_test) == digits.y_test) > 0.87


def test_a_bright_background_costs_no_accuracy(digits: datasets.Dataset) -> None:
    """Every pixel far from zero, and some that are hardly ever dark and weigh a lot."""
    X, rare = 16 - digits.X_train, np.full((len(digits.X_train), 1), 16.0)
    rare[:3] = 0
    model = L1LogisticClassifier(budget=300, random_state=0).fit(np.hstack([X, rare]), digits.y_train)
    device = model.to_device("int8")
    test = np.hstack([16 - digits.X_test, np.full((len(digits.X_test), 1), 16.0)])
    assert np.mean(device.predict(test) == digits.y_test) > 0.9


def test_a_budget_for_nothing_is_refused(digits: datasets.Dataset) -> None:
    with pytest.raises(BudgetError, match="20 bytes"):
        L1LogisticClassifier(budget=20).fit(digits.X_train, digits.y_train)


def test_a_penalty_that_removes_every_weight_still_gives_a_model() -> None:
    cancer = datasets.load("cancer")
    model = L1LogisticClassifier(C=1e-6).fit(cancer.X_train, cancer.y_train)
    device = model.to_device("int8")
    assert isinstance(device, LinearInt8)
    assert np.count_nonzero(device.W) == 0
    assert set(device.predict(cancer.X_test)) <= {0, 1}


def test_two_classes_take_one_row_and_keep_their_labels() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    y = np.where(X[:, 0] > 0, "yes", "no")
    model = L1LogisticClassifier().fit(X, y)
    device = model.to_device("int8")
    assert device.n_scores == 1
    assert np.mean(device.predict(X) == y) > 0.97


def test_unknown_number_format_is_refused(digits: datasets.Dataset) -> None:
    model = L1LogisticClassifier(max_iter=5).fit(digits.X_train[:200], digits.y_train[:200])
    with pytest.raises(InputError, match="int16"):
        model.to_device("int16")
