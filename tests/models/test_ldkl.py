from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from models import datasets, ldkl, modelfile, training
from models.bonsai_net import TreeShape
from models.device import InputScale
from models.errors import BudgetError, InputError
from models.ldkl import LDKLClassifier
from models.ldkl_device import LdklFloat, LdklInt8
from models.ldkl_net import LdklNetwork
from models.search import Task
from tests.models.gradients import check_gradients

INT8 = InputScale(np.array(0.0), np.array(1.0), "int8")


def a_model(depth: int = 2, classes: int = 3, limit: int = 127, seed: int = 0) -> LdklInt8:
    rng = np.random.default_rng(seed)
    tree = TreeShape(depth, 1 if classes == 2 else classes)
    shape = (2 * tree.rows + tree.branches, 30)
    R = rng.integers(-limit, limit + 1, size=shape) * (rng.random(shape) < 0.4)
    b = rng.integers(-100, 100, size=shape[0])
    return LdklInt8.from_integers(R, b, INT8, range(classes), v_shift=8 if limit > 7 else 4, limit=limit)


def one_by_one(model: LdklInt8, x: list[int]) -> list[int]:
    """The module's formulas in Python integers, one sample, no numpy."""
    v_shift, w_shift = int(model.constants["v_shift"]), int(model.constants["w_shift"])
    r = []
    for row, b in zip(model.R.tolist(), model.arrays["b"].tolist(), strict=True):
        total = sum(a * c for a, c in zip(row, x, strict=True))
        r.append(((total + (1 << (v_shift - 1))) >> v_shift) + b)
    rows = model.tree.rows
    scores = [0] * model.n_scores
    node = 0
    while True:
        for c in range(model.n_scores):
            row = node * model.n_scores + c
            predicted = (r[row] + (1 << (w_shift - 1))) >> w_shift if w_shift else r[row]
            assert abs(predicted) < 2**15
            scores[c] += predicted * max(-127, min(127, r[rows + row]))
        if node >= model.tree.branches:
            return scores
        node = 2 * node + (2 if r[2 * rows + node] > 0 else 1)


@pytest.mark.parametrize("limit", [7, 127])
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("depth", [0, 1, 3])
def test_scores_are_the_documented_integers(depth: int, classes: int, limit: int) -> None:
    model = a_model(depth, classes, limit)
    assert model.tree == TreeShape(depth, model.n_scores)
    x = np.random.default_rng(1).integers(-127, 128, size=(20, 30)).astype(np.int8)
    x[0], x[1] = 127, -127
    assert model.scores(x).tolist() == [one_by_one(model, row) for row in x.tolist()]
    assert model.flash_bytes == LdklInt8.flash_size(model.R, limit)


def test_gradients_match_finite_differences() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 4))
    shape = TreeShape(2, 3)
    network = LdklNetwork.start(shape, X, rng, input_limit=127, weight_limit=127, afford=np.size)
    network.params = {name: value.astype(np.float64) for name, value in network.params.items()}
    network.sharpness = 1.5
    weight = rng.normal(size=(6, 3))
    # The slope that is pretended beyond the clipping is not the function's own: look at points inside.
    gates = X @ network.params["R"][network.groups()[1]].T + network.params["b"][network.groups()[1]]
    network.params["R"] *= 0.9 / np.abs(gates).max()
    network.params["b"] *= 0.9 / np.abs(gates).max()
    _, tape = network.forward(X)
    grads = network.backward(weight, tape)
    check_gradients(lambda: float(np.sum(weight * network.forward(X)[0])), network.params, grads)


@parametrize_with_checks([LDKLClassifier(epochs=30)])  # type: ignore[untyped-decorator]
def test_scikit_learn_accepts_it(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("bits", [4, 8])
def test_digits_within_a_budget(bits: int) -> None:
    digits = datasets.load("digits")
    model = LDKLClassifier(1, budget=2048, bits=bits, epochs=40, batch_size=32, random_state=0)
    device = model.fit(digits.X_train, digits.y_train).to_device()
    assert 2000 < device.flash_bytes <= 2048
    exact = device.predict(digits.X_test)
    assert np.mean(exact == digits.y_test) > 0.92
    assert np.mean(model.to_device("float32").predict(digits.X_test) == exact) > 0.98


def test_l1_leaves_fewer_weights_than_l2() -> None:
    cancer = datasets.load("cancer")

    def nonzero(penalty: str) -> int:
        model = LDKLClassifier(2, penalty, epochs=40, batch_size=32, random_state=0)
        return int(model.fit(cancer.X_train, cancer.y_train).to_device().info["nonzero"])

    assert nonzero("l1") < 0.8 * nonzero("l2")


def test_wrong_shapes_and_choices_are_refused(tmp_path: Path) -> None:
    model = a_model()
    with pytest.raises(InputError, match="full tree"):
        dataclasses.replace(model, classes=(0, 1, 2, 3))
    with pytest.raises(InputError, match="these weights need"):
        dataclasses.replace(model, constants={**model.constants, "w_shift": 7})
    cancer = datasets.load("cancer")
    with pytest.raises(InputError, match="l3"):
        LDKLClassifier(penalty="l3").fit(cancer.X_train, cancer.y_train)
    with pytest.raises(BudgetError, match="60 bytes"):
        LDKLClassifier(budget=60).fit(cancer.X_train, cancer.y_train)
    modelfile.save(model, tmp_path / "m")
    assert modelfile.load(tmp_path / "m").digest == model.digest


@pytest.mark.parametrize("name", ["ldkl", "ldkl-l1"])
def test_train_finds_a_model_within_the_budget(name: str) -> None:
    cancer = datasets.load("cancer")
    found = training.train(name, cancer, budget=400, effort="fast")
    assert found.report["flash_bytes"] <= 400
    assert found.report["test_accuracy"] > 0.93
    assert found.report["params"]["penalty"] == ("l1" if name == "ldkl-l1" else "l2")


def test_no_shape_is_proposed_that_a_budget_cannot_hold() -> None:
    task = Task(1000, 64, 10)
    assert ldkl.candidates(task, 60, "normal") == []
    assert {p["depth"] for p in ldkl.candidates(task, 1024, "normal")} < {0, 1, 2, 3, 4}


def test_float_models_clip_like_integers() -> None:
    model = a_model(depth=1, classes=2)
    step = 2.0 ** -int(model.constants["v_shift"])
    floats = LdklFloat.from_floats(model.R * step, model.arrays["b"] / 127, INT8.float32(), model.classes)
    X = np.random.default_rng(1).integers(-127, 128, size=(300, 30))
    assert np.mean(floats.predict(X) == model.predict(X)) > 0.98
