from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from models import datasets, modelfile, training
from models.device import InputScale
from models.errors import InputError
from models.mlp import PrunedMLPClassifier
from models.mlp_device import MlpInt8
from models.mlp_net import MlpNetwork
from tests.models.gradients import check_gradients

INT8 = InputScale(np.array(0.0), np.array(1.0), "int8")


def a_model(classes: int = 3, limit: int = 127, seed: int = 0) -> MlpInt8:
    rng = np.random.default_rng(seed)
    scores = 1 if classes == 2 else classes
    weights = {
        "W": rng.integers(-limit, limit + 1, size=(6, 30)) * (rng.random((6, 30)) < 0.4),
        "b": rng.integers(-50, 90, size=6),
        "O": rng.integers(-limit, limit + 1, size=(scores, 7)),
    }
    shift = 9 if limit > 7 else 5
    limits = {"W": limit, "O": limit}
    return MlpInt8.from_integers(weights, INT8, range(classes), h_shift=shift, limits=limits)


@pytest.mark.parametrize("limit", [7, 127])
@pytest.mark.parametrize("classes", [2, 4])
def test_scores_are_the_documented_integers(classes: int, limit: int) -> None:
    model = a_model(classes, limit)
    x = np.random.default_rng(1).integers(-127, 128, size=(20, 30)).astype(np.int8)
    x[0], x[1] = 127, -127
    shift = int(model.constants["h_shift"])
    for sample, scores in zip(x.tolist(), model.scores(x).tolist(), strict=True):
        hidden = []
        for row, b in zip(model.W.tolist(), model.arrays["b"].tolist(), strict=True):
            total = sum(w * v for w, v in zip(row, sample, strict=True))
            hidden.append(max(0, min(127, ((total + (1 << (shift - 1))) >> shift) + b)))
        hidden.append(127)
        assert scores == [sum(o * h for o, h in zip(row, hidden, strict=True)) for row in model.O.tolist()]
    assert model.flash_bytes == MlpInt8.flash_size(model.W, model.n_scores, {"W": limit, "O": limit})


def test_gradients_match_finite_differences() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 4))
    network = MlpNetwork.start(
        5, 3, X, rng, input_limit=127, weight_limits={"W": 127, "O": 127}, afford=np.size
    )
    network.params = {name: value.astype(np.float64) for name, value in network.params.items()}
    weight = rng.normal(size=(6, 3))
    _, tape = network.forward(X)
    grads = network.backward(weight, tape)
    check_gradients(lambda: float(np.sum(weight * network.forward(X)[0])), network.params, grads)


@parametrize_with_checks([PrunedMLPClassifier(16, epochs=30)])  # type: ignore[untyped-decorator]
def test_scikit_learn_accepts_it(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("bits", [4, 8])
def test_digits_within_a_budget(bits: int) -> None:
    digits = datasets.load("digits")
    model = PrunedMLPClassifier(24, budget=1200, bits=bits, epochs=40, batch_size=32, random_state=0)
    device = model.fit(digits.X_train, digits.y_train).to_device()
    assert device.flash_bytes <= 1200
    exact = device.predict(digits.X_test)
    assert np.mean(exact == digits.y_test) > 0.94
    assert np.mean(model.to_device("float32").predict(digits.X_test) == exact) > 0.98
    assert np.mean(model.predict(digits.X_test) == exact) == 1.0


def test_wrong_models_are_refused(tmp_path: Path) -> None:
    model = a_model()
    with pytest.raises(InputError, match="h_shift is 0"):
        dataclasses.replace(model, constants={"h_shift": 0})
    with pytest.raises(InputError, match="rows of outputs"):
        dataclasses.replace(model, classes=(0, 1, 2, 3))
    with pytest.raises(InputError, match="offsets"):
        dataclasses.replace(
            model, arrays={**model.arrays, "b": model.arrays["b"][:-1], "out": model.O[:, :-1]}
        )
    modelfile.save(model, tmp_path / "m")
    assert modelfile.load(tmp_path / "m").digest == model.digest


def test_train_finds_a_model_within_the_budget() -> None:
    cancer = datasets.load("cancer")
    found = training.train("mlp", cancer, budget=300, effort="fast")
    assert found.report["flash_bytes"] <= 300
    assert found.report["test_accuracy"] > 0.93
