"""Training within a time: what is too slow is treated like what is too large, and the error says how slow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from models import datasets, search, training
from models.device import Array, DeviceModel
from models.errors import BudgetError, InputError, TooSlow
from models.timelimit import SHARES, TimeLimit, promising


def by_bytes(model: DeviceModel, encoded: Array) -> float:
    """A chip that needs a millisecond a kilobyte."""
    return model.flash_bytes / 1000


class Fake:
    """An estimator whose size is its parameter; it stands for its own device model."""

    def __init__(self, size: int, right: float = 1.0) -> None:
        self.flash_bytes, self.right = size, right

    def to_device(self, numbers: str) -> Fake:
        return self

    def encode(self, X: Array) -> Array:
        return X

    def predict(self, X: Array) -> Array:
        return np.where(np.arange(len(X)) < self.right * len(X), X[:, 0], -1)


def fake_fit(params: Mapping[str, Any], X: Array, y: Array) -> Fake:
    return Fake(params["size"], params.get("right", 1.0))


def limit(ms: float) -> TimeLimit:
    return TimeLimit(ms, "Abacus", by_bytes)


LABELS = np.arange(400) % 2
SAMPLES = LABELS[:, None].astype(float)


def judge(candidates: list[dict[str, Any]], ms: float) -> search.Judged:
    return search.best_candidate(
        fake_fit,
        candidates,
        SAMPLES,
        LABELS,
        bounds=search.Bounds(10_000, limit(ms)),
        effort=search.EFFORTS["normal"],
        seed=0,
    )


def test_what_is_too_slow_is_not_chosen() -> None:
    chosen = judge([{"size": 2000, "right": 0.9}, {"size": 900, "right": 0.7}], ms=1.0)
    assert chosen.params["size"] == 900


def test_the_fastest_of_what_is_too_slow_is_told() -> None:
    with pytest.raises(TooSlow, match=r"takes 1\.1 ms on the Abacus, more than 1 ms"):
        judge([{"size": 2000}, {"size": 1100}, {"size": 1500}], ms=1.0)


def propose(size: int) -> list[dict[str, Any]]:
    return [{"size": size, "right": 0.9}, {"size": size // 2, "right": 0.8}]


def test_smaller_models_are_tried_until_enough_are_fast_enough() -> None:
    found = promising(limit(0.75), propose, fake_fit, SAMPLES, LABELS, budget=1000, wanted=3)
    assert [params["size"] for params in found] == [500, 475, 450]


def test_most_candidates_are_fast_enough_in_their_trial() -> None:
    found = promising(limit(0.75), propose, fake_fit, SAMPLES, LABELS, budget=825, wanted=6)
    times = [params["size"] / 1000 for params in found]
    assert max(times) == 0.825
    assert sum(time > 0.75 for time in times) <= 2


def test_trials_are_brief() -> None:
    seen: list[Any] = []

    def fit(params: Mapping[str, Any], X: Array, y: Array) -> Fake:
        seen.append(params["epochs"])
        return Fake(100)

    long = {"size": 1, "epochs": 300}
    found = promising(limit(1), lambda size: [long], fit, SAMPLES, LABELS, budget=1000, wanted=2)
    assert (found, seen) == ([long], [1])


def test_nothing_fast_enough_at_any_size() -> None:
    with pytest.raises(TooSlow, match=f"{SHARES[-1] * 0.5:.3g} ms"):
        promising(limit(0.001), propose, fake_fit, SAMPLES, LABELS, budget=1000, wanted=3)


def test_shapes_that_do_not_fit_are_no_verdict_on_time() -> None:
    def refuse(params: Mapping[str, Any], X: Array, y: Array) -> Fake:
        raise BudgetError("Too large.")

    assert promising(limit(1), propose, refuse, SAMPLES, LABELS, budget=1000, wanted=3) == []


def test_a_family_whose_time_nobody_knows_is_refused() -> None:
    unknown = TimeLimit(1.0, "Abacus", lambda model, encoded: None)
    with pytest.raises(InputError, match="on the Abacus cannot be predicted"):
        training.train("linear", datasets.load("cancer"), budget=512, effort="fast", limit=unknown)


def test_a_reference_has_no_time() -> None:
    with pytest.raises(InputError, match="runs on the host only"):
        training.train("knn", datasets.load("cancer"), budget=512, effort="fast", limit=limit(1))


@pytest.fixture(scope="module")
def free() -> training.Trained:
    return training.train("protonn", datasets.load("cancer"), budget=1024, effort="fast")


def test_a_trained_model_keeps_to_its_time(free: training.Trained) -> None:
    assert free.report["flash_bytes"] > 600
    held = training.train("protonn", datasets.load("cancer"), budget=1024, effort="fast", limit=limit(0.6))
    assert held.report["flash_bytes"] <= 600
    assert held.report["predicted_ms"] == held.report["flash_bytes"] / 1000
    assert held.report["max_ms"] == 0.6
    assert held.report["test_accuracy"] > 0.9


def test_a_limit_that_does_not_bind_changes_nothing(free: training.Trained) -> None:
    held = training.train("protonn", datasets.load("cancer"), budget=1024, effort="fast", limit=limit(100))
    assert held.device().digest == free.device().digest
    assert "predicted_ms" not in free.report


def test_given_parameters_are_not_searched() -> None:
    shape = {"n_trees": 5, "max_leaves": 4}
    made = training.train("forest", datasets.load("cancer"), budget=4096, effort="fast", params=shape)
    assert made.report["params"] | shape == made.report["params"]
    assert made.estimator.n_trees_ == 5


def test_an_unknown_parameter_is_named() -> None:
    with pytest.raises(InputError, match=r"forest has no parameter 'trees'\. Known: .*n_trees"):
        training.train("forest", datasets.load("cancer"), budget=4096, params={"trees": 5})
