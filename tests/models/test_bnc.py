from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from models import bnc_train, datasets, training
from models.bnc import BNCClassifier, candidates
from models.checks import check_device_model
from models.errors import BudgetError, InputError
from models.search import Task
from tests.models.gradients import check_gradients


@pytest.fixture(scope="module")
def digits() -> datasets.Dataset:
    return datasets.load("digits")


@parametrize_with_checks([BNCClassifier(12, 6)])  # type: ignore[untyped-decorator]
def test_scikit_learn_accepts_it(estimator: Any, check: Any) -> None:
    check(estimator)


def test_gradients_of_the_relaxed_loss_are_those_of_finite_differences() -> None:
    rng = np.random.default_rng(0)
    x, labels = rng.normal(size=(20, 4)), rng.integers(0, 2, size=20)
    own = (labels[:, None] == np.array([0, 0, 1])).astype(float)
    params = {"W": rng.normal(size=(5, 4)), "c": rng.normal(size=5), "P": rng.normal(size=(3, 5))}
    params["g"] = np.array([-0.4])
    _, grads = bnc_train.gradients(params, x, own, 0.8, hard=False)
    check_gradients(
        lambda: bnc_train.gradients(params, x, own, 0.8, hard=False)[0], params, grads, tolerance=1e-5
    )


def test_with_hard_signs_the_loss_is_that_of_hamming_distances() -> None:
    rng = np.random.default_rng(0)
    x, owners = rng.normal(size=(6, 4)), np.array([0, 1, 1])
    params = {"W": rng.normal(size=(7, 4)), "c": np.zeros(7), "P": rng.normal(size=(3, 7))}
    params["g"] = np.array([np.log(0.5)])
    loss, _ = bnc_train.gradients(params, x, (owners == 1) * np.ones((6, 1)), 1.0, hard=True)
    differing = ((x @ params["W"].T >= 0)[:, None] != (params["P"] >= 0)[None]).sum(axis=2)
    likely = np.exp(-differing)  # twice the rate times half the difference of h·b
    right = likely[:, 1:].sum(axis=1) / likely.sum(axis=1)
    assert loss == pytest.approx(-np.log(right).mean())


@pytest.mark.parametrize(("bits", "budget"), [(16, 1024), (40, None)])
def test_the_devices_answer_is_the_nearest_code(
    digits: datasets.Dataset, bits: int, budget: int | None
) -> None:
    model = BNCClassifier(bits, 30, budget=budget, epochs=10, random_state=0)
    model.fit(digits.X_train, digits.y_train)
    device: Any = model.to_device()
    codes = model.codes(digits.X_test)
    hamming = (codes[:, None] != model.prototypes_[None].astype(bool)).sum(axis=2)
    assert np.array_equal(device.distances(device.encode(digits.X_test)), hamming)
    assert np.array_equal(device.predict(digits.X_test), model.predict(digits.X_test))
    check_device_model(device, digits.X_test[:40])


def test_two_classes_and_features_of_their_own_ranges_run_as_c() -> None:
    data = datasets.load("cancer")
    model = BNCClassifier(9, 4, epochs=20, random_state=0).fit(data.X_train, data.y_train)
    assert model.score(data.X_test, data.y_test) > 0.9
    assert np.array_equal(model.to_device().predict(data.X_test), model.predict(data.X_test))
    check_device_model(model.to_device(), data.X_test[:40])


@pytest.mark.parametrize("budget", [600, 1500])
def test_a_budget_is_never_exceeded(digits: datasets.Dataset, budget: int) -> None:
    proposals = candidates(Task(len(digits.X_train), 64, 10), budget, "fast")
    assert proposals
    for params in proposals:
        model = BNCClassifier(**{**params, "epochs": 2}, random_state=0).fit(digits.X_train, digits.y_train)
        assert model.to_device().flash_bytes <= budget
        assert len(np.unique(model.prototype_labels_)) == 10


def test_far_apart_weights_are_dropped_until_they_fit() -> None:
    """Gaps beyond 255 columns take bytes that nobody has counted on."""
    rng = np.random.default_rng(0)
    X = rng.integers(-100, 100, size=(200, 3000)).astype(float)
    y = (X[:, 7] + X[:, 2900] > 0).astype(int)
    model = BNCClassifier(4, 4, budget=90, epochs=5, random_state=0).fit(X, y)
    assert 60 < model.to_device().flash_bytes <= 90


def test_what_cannot_be_is_refused(digits: datasets.Dataset) -> None:
    with pytest.raises(BudgetError, match="64 bits and 40 prototypes leave W 0 of 900 bytes"):
        BNCClassifier(budget=900).fit(digits.X_train, digits.y_train)
    with pytest.raises(ValueError, match="n_bits"):
        BNCClassifier(0).fit(digits.X_train, digits.y_train)
    fitted = BNCClassifier(8, 10, epochs=1, random_state=0).fit(digits.X_train, digits.y_train)
    with pytest.raises(InputError, match="float32"):
        fitted.to_device("float32")
    assert candidates(Task(1000, 64, 10), 40, "fast") == []


def test_it_is_trained_within_2_kb(digits: datasets.Dataset) -> None:
    trained = training.train("bnc", digits, budget=2048, effort="fast")
    assert trained.report["flash_bytes"] <= 2048
    assert trained.report["test_accuracy"] > 0.93
    bits, count = trained.estimator.n_bits, len(trained.estimator.prototypes_)
    assert trained.device().info["bytes_at_a_bit_a_parameter"] == -(-bits * (64 + count) // 8)
