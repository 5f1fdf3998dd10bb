from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from models import datasets, snc
from models.checks import check_device_model
from models.device import Array
from models.errors import InputError
from models.prototypes import SampledPrototypes
from models.search import Task
from models.snc import SNCClassifier, Space
from models.soft_neighbours import SoftNeighbours, log_loss
from tests.models.gradients import check_gradients


@pytest.fixture(scope="module")
def digits() -> datasets.Dataset:
    return datasets.load("digits")


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [
        SNCClassifier(max_iter=20),
        SNCClassifier(max_iter=20, metric="diagonal"),
        SNCClassifier(max_iter=20, metric="linear"),
        SNCClassifier(max_iter=10, search="ball_tree"),
        SNCClassifier(max_iter=10, search="lsh"),
    ]
)
def test_scikit_learn_accepts_it(estimator: Any, check: Any) -> None:
    check(estimator)


def problem() -> tuple[SoftNeighbours, Array]:
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(40, 5)), rng.integers(0, 3, size=40)
    Z, owners = rng.normal(size=(6, 5)), np.array([0, 0, 1, 1, 2, 2])
    return SoftNeighbours(X, labels, owners, 3, log_loss), Z


SPACES = {
    "scale": np.float64(0.7),
    "diagonal": np.linspace(0.3, 1.2, 5),
    "linear": np.random.default_rng(1).normal(size=(3, 5)) * 0.5,
}


@pytest.mark.parametrize("metric", SPACES)
def test_gradients_are_those_of_finite_differences(metric: str) -> None:
    soft, Z = problem()
    A = np.array(SPACES[metric])
    _, in_Z, in_A = snc.objective_gradients(soft, Z, Space(A, fixed=False))
    check_gradients(
        lambda: snc.objective_gradients(soft, Z, Space(A, fixed=False))[0],
        {"Z": Z, "A": A},
        {"Z": in_Z, "A": in_A},
    )


def test_the_loss_is_equation_5() -> None:
    rng = np.random.default_rng(2)
    X, labels = rng.normal(size=(30, 4)), rng.integers(0, 2, size=30)
    Z, owners = rng.normal(size=(5, 4)), np.array([0, 1, 0, 1, 1])
    gamma = 0.6
    p = np.exp(-(gamma**2) * np.square(X[:, None] - Z).sum(axis=2))
    p /= p.sum(axis=1, keepdims=True)
    own = (p * (owners == labels[:, None])).sum(axis=1)
    soft = SoftNeighbours(X, labels, owners, 2, log_loss)
    found, _, _ = snc.objective_gradients(soft, Z, Space(np.float64(gamma), fixed=True))
    assert found == pytest.approx(-np.log(own).mean())


def test_far_better_than_the_sample_it_starts_from(digits: datasets.Dataset) -> None:
    learnt = SNCClassifier(random_state=0).fit(digits.X_train, digits.y_train)
    sampled = SampledPrototypes(ratio=0.04, random_state=0).fit(digits.X_train, digits.y_train)
    assert len(learnt.prototypes_) == len(sampled.prototypes_) == round(0.04 * len(digits.X_train))
    before = 1 - sampled.score(digits.X_test, digits.y_test)
    after = 1 - learnt.score(digits.X_test, digits.y_test)
    assert after < 0.25 * before
    assert after < 0.03


@pytest.mark.parametrize("metric", ["scale", "diagonal", "linear"])
def test_int8_is_as_good_as_float(digits: datasets.Dataset, metric: str) -> None:
    model = SNCClassifier(40, metric=metric, max_iter=60, random_state=0)
    model.fit(digits.X_train, digits.y_train)
    device = model.to_device()
    as_int8 = np.mean(device.predict(digits.X_test) == digits.y_test)
    assert as_int8 > model.score(digits.X_test, digits.y_test) - 0.01
    check_device_model(device, digits.X_test[:40])


def test_it_smooths_label_noise() -> None:
    """The paper's Figure 4: 1-NN takes every wrong label for true, a few learnt samples do not."""
    X, y = make_moons(600, noise=0.15, random_state=0)
    rng = np.random.default_rng(0)
    noisy = np.where(rng.random(600) < 0.2, 1 - y, y)
    X_test, y_test = make_moons(600, noise=0.15, random_state=1)
    full = KNeighborsClassifier(1).fit(X, noisy).score(X_test, y_test)
    few = SNCClassifier(16, random_state=0).fit(X, noisy).score(X_test, y_test)
    assert few > full + 0.05


def test_a_seed_gives_one_model(digits: datasets.Dataset) -> None:
    one, two = (SNCClassifier(30, max_iter=15, random_state=3) for _ in range(2))
    X, y = digits.X_train, digits.y_train
    assert one.fit(X, y).to_device().digest == two.fit(X, y).to_device().digest


def test_every_search_finds_nearly_the_same_neighbours(digits: datasets.Dataset) -> None:
    exact = SNCClassifier(60, max_iter=10, random_state=0).fit(digits.X_train, digits.y_train)
    tree = SNCClassifier(60, max_iter=10, random_state=0, search="ball_tree")
    tree.fit(digits.X_train, digits.y_train)
    hashed = SNCClassifier(60, max_iter=10, random_state=0, search="lsh")
    hashed.fit(digits.X_train, digits.y_train)
    right = exact.nearest(digits.X_test)
    assert np.mean(tree.nearest(digits.X_test) == right) > 0.99
    agree = hashed.prototype_labels_[hashed.nearest(digits.X_test)] == exact.prototype_labels_[right]
    assert np.mean(agree) > 0.97
    assert exact.distances_computed == 60 * len(digits.X_test)
    assert 0 < hashed.distances_computed <= exact.distances_computed


def test_an_interrupt_keeps_what_was_learnt(
    digits: datasets.Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = 0
    loss = snc.objective_gradients

    def interrupted(*args: Any) -> tuple[float, Array, Array]:
        nonlocal calls
        calls += 1
        if calls > 30:
            raise KeyboardInterrupt
        return loss(*args)

    monkeypatch.setattr(snc, "objective_gradients", interrupted)
    model = SNCClassifier(60, gamma=1.0, random_state=0).fit(digits.X_train, digits.y_train)
    assert model.interrupted_
    assert model.score(digits.X_test, digits.y_test) > 0.93


def test_an_interrupt_while_gamma_is_chosen_leaves_the_sample(
    digits: datasets.Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*args: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(snc, "compress", interrupted)
    model = SNCClassifier(60, random_state=0).fit(digits.X_train, digits.y_train)
    assert model.interrupted_
    assert model.n_iter_ == 0
    assert model.score(digits.X_test, digits.y_test) > 0.7


def test_unknown_words_are_refused(digits: datasets.Dataset) -> None:
    with pytest.raises(InputError, match="metric 'cosine'"):
        SNCClassifier(metric="cosine").fit(digits.X_train, digits.y_train)
    with pytest.raises(InputError, match="search 'oracle'"):
        SNCClassifier(search="oracle").fit(digits.X_train, digits.y_train)
    fitted = SNCClassifier(20, max_iter=2).fit(digits.X_train[:200], digits.y_train[:200])
    with pytest.raises(InputError, match="float32"):
        fitted.to_device("float32")


@pytest.mark.parametrize("budget", [700, 2048, 9001])
def test_candidates_keep_to_the_budget(digits: datasets.Dataset, budget: int) -> None:
    task = Task(len(digits.X_train), digits.n_features, digits.n_classes)
    proposals = snc.candidates(task, budget, "fast")
    assert proposals
    for params in proposals:
        model = SNCClassifier(**{**params, "max_iter": 2, "gamma": 1.0}, random_state=0)
        size = model.fit(digits.X_train, digits.y_train).to_device().flash_bytes
        assert size <= budget


def test_no_candidate_where_nothing_fits() -> None:
    assert snc.candidates(Task(1000, 256, 10), 300, "fast") == []
