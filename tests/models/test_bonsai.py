from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.utils.estimator_checks import parametrize_with_checks

from models import bonsai_net, bonsai_paper, bonsai_search, datasets, staged, training
from models.bonsai import BonsaiClassifier
from models.bonsai_net import TreeShape
from models.device import Array
from models.errors import BudgetError, InputError
from models.jitter import Jitter
from models.search import EFFORTS, Task


@pytest.fixture(scope="module")
def digits() -> datasets.Dataset:
    return datasets.load("digits")


@pytest.fixture(scope="module")
def fitted(digits: datasets.Dataset) -> BonsaiClassifier:
    model = BonsaiClassifier(1, 11, budget=1024, tree_bits=4, epochs=40, batch_size=32, random_state=0)
    return model.fit(digits.X_train, digits.y_train)


@parametrize_with_checks([BonsaiClassifier(epochs=30)])  # type: ignore[untyped-decorator]
def test_scikit_learn_accepts_it(estimator: Any, check: Any) -> None:
    check(estimator)


def test_digits_within_a_kilobyte(digits: datasets.Dataset, fitted: BonsaiClassifier) -> None:
    device = fitted.to_device()
    assert device.flash_bytes <= 1024
    assert np.mean(device.predict(digits.X_test) == digits.y_test) > 0.93


def test_what_was_trained_is_what_the_device_computes(
    digits: datasets.Dataset, fitted: BonsaiClassifier
) -> None:
    """The network in its integer stage and the integers agree, but for how exact halves are rounded."""
    device = fitted.to_device()
    encoded = device.encode(digits.X_test)
    scores, _ = fitted._network.forward(encoded.astype(np.float32) / np.float32(fitted.inputs_.limit))
    exact = fitted.decision_function(digits.X_test)
    assert np.mean(scores.argmax(axis=1) == exact.argmax(axis=1)) > 0.985
    unit = fitted._network.steps["W"] * 2.0 ** int(device.constants["w_shift"]) / 127**2
    assert np.abs(scores - unit * exact).mean() < 0.02 * unit * np.abs(exact).mean()


def test_float_firmware_loses_nothing(digits: datasets.Dataset, fitted: BonsaiClassifier) -> None:
    same = fitted.to_device("float32").predict(digits.X_test) == fitted.predict(digits.X_test)
    assert np.mean(same) > 0.98
    with pytest.raises(InputError, match="int16"):
        fitted.to_device("int16")


@pytest.mark.parametrize("saturate", [False, True])
def test_two_classes_that_no_line_separates(saturate: bool) -> None:
    X, y = make_moons(600, noise=0.1, random_state=0)
    model = BonsaiClassifier(2, 4, saturate=saturate, z_bits=8, batch_size=32, random_state=0)
    assert model.fit(X[:400], y[:400]).score(X[400:], y[400:]) > 0.95


def test_a_seed_gives_the_same_model(digits: datasets.Dataset) -> None:
    def digest(seed: int) -> bytes:
        model = BonsaiClassifier(1, 5, epochs=3, image=(8, 8), jitter=0.5, random_state=seed)
        return model.fit(digits.X_train, digits.y_train).to_device().digest

    assert digest(1) == digest(1) != digest(2)


@pytest.mark.parametrize("budget", [390, 391, 450])
def test_the_budget_is_kept_to_the_byte_and_used(digits: datasets.Dataset, budget: int) -> None:
    model = BonsaiClassifier(0, 9, budget=budget, epochs=2, random_state=0)
    device = model.fit(digits.X_train, digits.y_train).to_device()
    assert device.flash_bytes <= budget
    assert device.flash_bytes > budget - 20


def test_a_budget_below_the_tree_is_refused(digits: datasets.Dataset) -> None:
    with pytest.raises(BudgetError, match="512 bytes"):
        BonsaiClassifier(2, 9, budget=512, epochs=1).fit(digits.X_train, digits.y_train)


def test_ctrl_c_keeps_a_whole_model(digits: datasets.Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0
    before = staged._gradients

    def interrupted(*args: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 60:
            raise KeyboardInterrupt
        return before(*args)

    monkeypatch.setattr(staged, "_gradients", interrupted)
    model = BonsaiClassifier(0, 9, budget=600, epochs=50, random_state=0)
    device = model.fit(digits.X_train, digits.y_train).to_device()
    assert calls == 60 + staged.SETTLING
    assert device.flash_bytes <= 600
    assert np.mean(device.predict(digits.X_test) == digits.y_test) > 0.75


def test_ctrl_c_in_the_middle_of_a_trial_step_takes_it_back(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(50, 4)), rng.integers(0, 2, size=50)
    shape = TreeShape(1, 1)
    params = bonsai_net.random_params(shape, 2, X, rng, np.float64)
    descent = bonsai_paper.Descent(shape, params, X, labels, bonsai_paper.Options())
    before = {name: value.copy() for name, value in params.items()}

    def interrupted(self: bonsai_paper.Descent) -> float:
        raise KeyboardInterrupt

    monkeypatch.setattr(bonsai_paper.Descent, "objective", interrupted)
    with pytest.raises(KeyboardInterrupt):
        descent.step(("Z", "b", "W", "V", "T"), total=10)
    assert all(np.array_equal(descent.params[name], value) for name, value in before.items())


def test_pruning_keeps_what_matters_most() -> None:
    """Only two of 30 features tell the classes apart; what is left of Z must look at those."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 30))
    y = (X[:, 3] * X[:, 17] > 0).astype(int)
    model = BonsaiClassifier(2, 4, density=0.1, z_bits=8, batch_size=32, random_state=0).fit(X, y)
    Z: Array = np.abs(model.to_device().Z)  # type: ignore[attr-defined]
    assert Z[:, [3, 17]].sum() > 0.6 * Z.sum()
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize(
    "paper",
    [{}, {"start_steps": 0}, {"final_steps": 0}, {"projection": "sparse-pca"}, {"tree_density": 0.5}],
    ids=["full", "no-start", "no-final", "sparse-pca", "sparse-tree"],
)
def test_the_papers_solver_and_its_ablations(paper: dict[str, Any]) -> None:
    cancer = datasets.load("cancer")
    model = BonsaiClassifier(
        1, 5, budget=400, z_bits=8, solver="paper", paper={"rounds": 8, **paper}, random_state=0
    )
    device = model.fit(cancer.X_train, cancer.y_train).to_device()
    assert device.flash_bytes <= 400
    assert np.mean(device.predict(cancer.X_test) == cancer.y_test) > 0.9


def test_unknown_choices_are_named(digits: datasets.Dataset) -> None:
    for wrong, said in (
        (BonsaiClassifier(solver="magic"), "magic"),
        (BonsaiClassifier(z_bits=5), "5 bits"),
        (BonsaiClassifier(depth=-1), "depth is -1"),
        (BonsaiClassifier(projection_dim=0), "projection_dim is 0"),
        (BonsaiClassifier(solver="paper", paper={"projection": "lda"}), "lda"),
    ):
        with pytest.raises(InputError, match=said):
            wrong.fit(digits.X_train, digits.y_train)


@pytest.mark.parametrize("budget", [300, 512, 4096])
@pytest.mark.parametrize("task", [Task(5000, 256, 2, (16, 16)), Task(1000, 64, 10), Task(9000, 16, 26)])
def test_every_proposed_shape_leaves_room_for_a_projection(task: Task, budget: int) -> None:
    for params in bonsai_search.candidates(task, budget, "normal"):
        model = BonsaiClassifier(**params)
        model.classes_ = np.arange(task.n_classes)
        shape = (params["projection_dim"], task.n_features)
        assert model._afford(np.random.default_rng(0).random(shape)) >= params["projection_dim"]


def test_the_guesses_vary_depth_dimensions_and_decay_but_few_are_made_on_large_data() -> None:
    few = bonsai_search.candidates(Task(60000, 784, 10, (28, 28)), 16384, "normal")
    many = bonsai_search.candidates(Task(7000, 784, 10, (28, 28)), 16384, "normal")
    assert len(few) < len(many)
    for name in ("depth", "projection_dim", "weight_decay"):
        assert len({params[name] for params in many[: EFFORTS["normal"].candidates]}) > 2


def test_train_finds_a_model_within_the_budget(digits: datasets.Dataset) -> None:
    found = training.train("bonsai", digits, budget=900, effort="fast")
    assert found.report["flash_bytes"] <= 900
    assert found.report["test_accuracy"] > 0.94


def test_jitter_moves_a_picture_but_keeps_it(digits: datasets.Dataset) -> None:
    rng = np.random.default_rng(0)
    X = digits.X_train[:64]
    moved = Jitter.of_strength((8, 8), 1.0).augmenter(rng)(X, rng)
    assert moved.shape == X.shape
    assert moved.min() >= X.min()
    assert moved.max() <= X.max()
    still = Jitter(8, 8, shift=0.0, turn=0.0, stretch=0.0, shear=0.0).augmenter(rng)(X, rng)
    assert np.allclose(still, X, atol=1e-4)
    middle = (X * np.tile(np.arange(8), 8)).sum(axis=1) / X.sum(axis=1)
    middle_moved = (moved * np.tile(np.arange(8), 8)).sum(axis=1) / moved.sum(axis=1)
    assert 0.02 < np.abs(middle - middle_moved).mean() < 1.0
