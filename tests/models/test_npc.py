from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from models import datasets, npc, npc_train
from models.checks import check_device_model
from models.device import Array
from models.errors import InputError
from models.npc import NPCClassifier
from models.npc_train import sharpness
from models.prototypes import KMeansPrototypes
from models.search import Task
from models.soft_neighbours import PooledLoss, SoftNeighbours, beyond, exponential_loss, hinge_loss
from tests.models.gradients import check_gradients

LOSSES: dict[str, PooledLoss] = {"exponential": exponential_loss, "hinge": hinge_loss(0.4)}


@pytest.fixture(scope="module")
def digits() -> datasets.Dataset:
    return datasets.load("digits")


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [
        NPCClassifier(3, max_iter=10),
        NPCClassifier(3, max_iter=10, loss="hinge"),
        NPCClassifier(3, max_iter=5, metric="lmnn"),
        NPCClassifier(3, solver="adam", epochs=20),
    ]
)
def test_scikit_learn_accepts_it(estimator: Any, check: Any) -> None:
    check(estimator)


def problem(loss: PooledLoss) -> tuple[SoftNeighbours, Array]:
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(40, 5)), rng.integers(0, 3, size=40)
    P, owners = rng.normal(size=(7, 5)), np.array([0, 0, 1, 1, 1, 2, 2])
    return SoftNeighbours(X, labels, owners, 3, loss), P


@pytest.mark.parametrize("gamma", [0.1, 1.0])
@pytest.mark.parametrize("loss", LOSSES)
def test_gradients_are_those_of_finite_differences(loss: str, gamma: float) -> None:
    soft, P = problem(LOSSES[loss])
    _, gradient = npc_train.objective_gradient(soft, P, gamma)
    check_gradients(lambda: npc_train.objective_gradient(soft, P, gamma)[0], {"P": P}, {"P": gradient})


def test_the_penalty_beyond_the_range_has_its_gradient() -> None:
    P = np.random.default_rng(0).normal(size=(5, 4)) * 2
    _, gradient = beyond(P, 1.5)
    check_gradients(lambda: beyond(P, 1.5)[0], {"P": P}, {"P": gradient})


def test_the_loss_is_equation_20_less_its_least_value() -> None:
    rng = np.random.default_rng(1)
    X, labels = rng.normal(size=(20, 3)), rng.integers(0, 3, size=20)
    P, owners = rng.normal(size=(4, 3)), np.array([0, 1, 2, 2])
    gamma = 0.8
    s = np.exp(-np.square(X[:, None] - P).sum(axis=2)) ** gamma
    w = s / s.sum(axis=1, keepdims=True)
    theta = np.where(owners[:, None] == np.arange(3), 1, -1)
    y = np.where(labels[:, None] == np.arange(3), 1, -1)
    expected = np.exp(-y * (w @ theta)).sum(axis=1).mean() - 3 * np.exp(-1)
    found, _ = npc_train.objective_gradient(SoftNeighbours(X, labels, owners, 3, exponential_loss), P, gamma)
    assert found == pytest.approx(expected)


def test_gamma_goes_from_soft_to_hard() -> None:
    rng = np.random.default_rng(0)
    x, points = rng.normal(size=(500, 4)), rng.normal(size=(12, 4))
    gammas = sharpness(x, points, undecided=0.8, steps=10)
    assert len(gammas) == 10
    assert np.allclose(np.diff(np.log(gammas)), np.log(gammas[1] / gammas[0]))

    def weights(gamma: float) -> Array:
        s = np.exp(-gamma * np.square(x[:, None] - points).sum(axis=2))
        return np.sort(s / s.sum(axis=1, keepdims=True), axis=1)

    first, last = weights(gammas[0]), weights(gammas[-1])
    assert np.mean(first[:, -1] - first[:, -2] < 0.5) == pytest.approx(0.8, abs=0.02)
    assert np.mean(1 - last[:, -1] < npc_train.REST) == pytest.approx(npc_train.DECIDED, abs=0.02)


def test_better_than_the_means_it_starts_from(digits: datasets.Dataset) -> None:
    means = KMeansPrototypes(2, random_state=0).fit(digits.X_train, digits.y_train)
    learnt = NPCClassifier(2, random_state=0).fit(digits.X_train, digits.y_train)
    assert len(learnt.prototypes_) == 20
    assert learnt.score(digits.X_test, digits.y_test) > means.score(digits.X_test, digits.y_test) + 0.02


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"loss": "hinge"},
        {"metric": "lmnn", "n_components": 10},
        {"solver": "adam", "epochs": 15, "image": (8, 8), "jitter": 0.5},
    ],
)
def test_int8_is_as_good_as_float(digits: datasets.Dataset, params: dict[str, Any]) -> None:
    model = NPCClassifier(3, random_state=0, max_iter=15, **params).fit(digits.X_train, digits.y_train)
    device = model.to_device()
    as_int8 = np.mean(device.predict(digits.X_test) == digits.y_test)
    assert as_int8 > 0.95
    assert as_int8 > model.score(digits.X_test, digits.y_test) - 0.01
    check_device_model(device, digits.X_test[:40])


@pytest.mark.parametrize(("image", "solver"), [(None, "cg"), ((8, 8), "adam")])
def test_the_solver_follows_the_data(
    digits: datasets.Dataset, image: tuple[int, int] | None, solver: str
) -> None:
    auto, named = (
        NPCClassifier(2, solver=s, image=image, steps=2, max_iter=3, epochs=2, random_state=0)
        .fit(digits.X_train, digits.y_train)
        .prototypes_
        for s in ("auto", solver)
    )
    assert np.array_equal(auto, named)


@pytest.mark.parametrize("solver", ["cg", "adam"])
def test_a_seed_gives_one_model(digits: datasets.Dataset, solver: str) -> None:
    one, two = (
        NPCClassifier(2, solver=solver, steps=3, epochs=3, image=(8, 8), jitter=0.5, random_state=3)
        for _ in range(2)
    )
    X, y = digits.X_train, digits.y_train
    assert one.fit(X, y).to_device().digest == two.fit(X, y).to_device().digest


@pytest.mark.parametrize("solver", ["cg", "adam"])
def test_an_interrupt_keeps_what_was_learnt(
    digits: datasets.Dataset, monkeypatch: pytest.MonkeyPatch, solver: str
) -> None:
    calls = 0
    loss = npc_train.objective_gradient

    def interrupted(*args: Any) -> tuple[float, Array]:
        nonlocal calls
        calls += 1
        if calls > 25:
            raise KeyboardInterrupt
        return loss(*args)

    monkeypatch.setattr(npc_train, "objective_gradient", interrupted)
    model = NPCClassifier(3, solver=solver, random_state=0).fit(digits.X_train, digits.y_train)
    assert model.interrupted_
    assert calls == 26
    assert model.score(digits.X_test, digits.y_test) > 0.9


def test_unknown_words_are_refused(digits: datasets.Dataset) -> None:
    for model in (
        NPCClassifier(loss="square"),
        NPCClassifier(metric="cosine"),
        NPCClassifier(solver="luck"),
    ):
        with pytest.raises(InputError, match="Choose"):
            model.fit(digits.X_train, digits.y_train)


@pytest.mark.parametrize("loss", ["exponential", "hinge"])
def test_candidates_keep_to_the_budget(digits: datasets.Dataset, loss: str) -> None:
    task = Task(len(digits.X_train), digits.n_features, digits.n_classes)
    propose = npc.exponential_candidates if loss == "exponential" else npc.hinge_candidates
    for budget in (900, 3000):
        for params in propose(task, budget, "fast"):
            assert params["loss"] == loss
            model = NPCClassifier(**{**params, "epochs": 1}, random_state=0)
            assert model.fit(digits.X_train, digits.y_train).to_device().flash_bytes <= budget
