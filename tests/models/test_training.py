from __future__ import annotations

import dataclasses
import json
import signal
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from models import datasets, protonn_math, registry, search, training
from models.device import Array
from models.errors import BudgetError, DatasetError, InputError, UnknownName


@pytest.fixture(scope="module")
def digits() -> datasets.Dataset:
    return datasets.load("digits")


@pytest.fixture(scope="module")
def trained(digits: datasets.Dataset) -> training.Trained:
    return training.train("protonn", digits, budget=1024, seed=1, effort="fast")


def test_report_has_the_promised_facts(trained: training.Trained) -> None:
    report = trained.report
    assert report["flash_bytes"] == trained.device().flash_bytes <= 1024
    assert report["test_accuracy"] > 0.95
    assert report["val_accuracy"] > 0.95
    assert report["paper_kB"] * 1024 == trained.device().paper_bytes
    assert report["fit_seconds"] > 0
    json.dumps(report)


def test_device_models_are_named_after_their_origin(trained: training.Trained) -> None:
    for numbers in ("int8", "float32"):
        device = trained.device(numbers)
        assert device.name == "protonn-digits"
        assert device.info["seed"] == 1
        assert "fit_seconds" not in device.info


def test_test_data_cannot_change_what_is_chosen(digits: datasets.Dataset, trained: training.Trained) -> None:
    rng = np.random.default_rng(0)
    scrambled = dataclasses.replace(
        digits, X_test=rng.permutation(digits.X_test), y_test=rng.permutation(digits.y_test)
    )
    other = training.train("protonn", scrambled, budget=1024, seed=1, effort="fast")
    assert other.device().digest == trained.device().digest
    assert other.report["params"] == trained.report["params"]
    assert other.report["val_accuracy"] == trained.report["val_accuracy"]
    assert other.report["test_accuracy"] < trained.report["test_accuracy"]


@pytest.mark.parametrize("budget", [200, 512, 777])
@pytest.mark.parametrize("model", ["linear", "protonn"])
def test_no_byte_above_the_budget(model: str, budget: int) -> None:
    cancer = datasets.load("cancer")
    found = training.train(model, cancer, budget=budget, effort="fast")
    assert found.report["flash_bytes"] <= budget
    assert found.report["test_accuracy"] > 0.9


def test_impossible_budget_is_refused(digits: datasets.Dataset) -> None:
    for model in ("protonn", "linear"):
        with pytest.raises(BudgetError, match="bytes"):
            training.train(model, digits, budget=16, effort="fast")


def test_unknown_model_and_effort_are_named(digits: datasets.Dataset) -> None:
    with pytest.raises(UnknownName, match="protonn"):
        training.train("proto", digits, budget=1024)
    with pytest.raises(InputError, match="fast, normal, best"):
        training.train("linear", digits, budget=1024, effort="heroic")


def test_label_sets_are_refused(digits: datasets.Dataset) -> None:
    sets = dataclasses.replace(digits, y_train=np.eye(10, dtype=np.uint8)[digits.y_train])
    with pytest.raises(DatasetError, match="label sets"):
        training.train("protonn", sets, budget=1024)


def test_every_registered_model_can_be_imported() -> None:
    for name in registry.names():
        assert hasattr(registry.estimator(name), "fit")
        assert callable(registry.candidates(name))


def test_ctrl_c_ends_the_search_and_not_just_one_candidate(
    digits: datasets.Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = protonn_math.gradients, []

    def interrupted(*args: Any) -> Any:
        calls.append(1)
        if len(calls) == 5:
            signal.raise_signal(signal.SIGINT)
        return real(*args)

    monkeypatch.setattr(protonn_math, "gradients", interrupted)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        training.train("protonn", digits, budget=1024, effort="fast")
    assert len(calls) == 5
    assert signal.getsignal(signal.SIGINT) is before


class Fake:
    """An estimator whose validation accuracy and size are what its parameter says."""

    def __init__(self, right: float, size: int = 10) -> None:
        self.right, self.flash_bytes = right, size

    def to_device(self, numbers: str) -> Fake:
        return self

    def predict(self, X: Any) -> Any:
        return np.where(np.arange(len(X)) < self.right * len(X), X[:, 0], -1)


def judge(
    candidates: list[dict[str, Any]], effort: str, fitted: Callable[[Any], object] = id
) -> search.Judged:
    def fit(params: Mapping[str, Any], X: Array, y: Array) -> Fake:
        fitted(params)
        return Fake(**params)

    y = np.arange(400) % 2
    return search.best_candidate(
        fit,
        candidates,
        y[:, None].astype(float),
        y,
        bounds=search.Bounds(100),
        effort=search.EFFORTS[effort],
        seed=0,
    )


@pytest.mark.parametrize("effort", ["fast", "normal", "best"])
def test_search_takes_the_most_accurate_that_fits(effort: str) -> None:
    chosen = judge([{"right": 0.5}, {"right": 0.9, "size": 101}, {"right": 0.8}], effort)
    assert chosen.params == {"right": 0.8}
    assert chosen.accuracy == pytest.approx(0.8)


def test_search_prefers_the_earlier_of_equals() -> None:
    assert judge([{"right": 0.8, "size": 1}, {"right": 0.8, "size": 2}], "normal").params["size"] == 1


def test_no_more_candidates_than_finalists_need_no_first_round() -> None:
    fits: list[Any] = []
    splits, finalists = search.EFFORTS["normal"].splits, search.EFFORTS["normal"].finalists
    judge([{"right": 0.8 + n / 100} for n in range(finalists)], "normal", fits.append)
    assert len(fits) == finalists * splits
    judge([{"right": 0.8 + n / 100} for n in range(finalists + 1)], "normal", fits.append)
    assert len(fits) == 2 * finalists * splits + finalists + 1


def test_an_earlier_candidate_stands_until_clearly_beaten() -> None:
    assert search._first_as_good([[0.90, 0.92, 0.91], [0.93, 0.90, 0.92]]) == 0
    assert search._first_as_good([[0.90, 0.92, 0.91], [0.93, 0.94, 0.95]]) == 1
    assert search._first_as_good([[-1.0], [0.9, 0.8, 0.9]]) == 1
    assert search._first_as_good([[0.90], [0.91]]) == 1


def test_search_without_a_fitting_candidate_says_so() -> None:
    with pytest.raises(BudgetError, match="100 bytes"):
        judge([{"right": 1.0, "size": 200}], "fast")
