from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.utils.estimator_checks import parametrize_with_checks

from models import datasets, protonn_math
from models.device import Array
from models.errors import BudgetError, InputError
from models.optim import fake_quantize, logistic_loss, softmax_loss
from models.protonn import ProtoNNClassifier, weights_within
from models.protonn_math import Grid


@parametrize_with_checks([ProtoNNClassifier(), ProtoNNClassifier(solver="paper", rounds=5)])  # type: ignore[untyped-decorator]
def test_follows_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.fixture(scope="module")
def digits() -> datasets.Dataset:
    return datasets.load("digits")


@pytest.fixture(scope="module")
def fitted(digits: datasets.Dataset) -> ProtoNNClassifier:
    model = ProtoNNClassifier(12, 40, budget=2048, epochs=40, random_state=0)
    return model.fit(digits.X_train, digits.y_train)


def some_params(scores: int, rng: np.random.Generator) -> dict[str, Array]:
    return {
        "W": rng.normal(size=(3, 5)) * 0.4,
        "B": rng.normal(size=(4, 3)) * 0.5,
        "Z": rng.normal(size=(scores, 4)),
    }


@pytest.mark.parametrize("scores", [1, 3])
def test_gradients_match_finite_differences(scores: int) -> None:
    rng = np.random.default_rng(0)
    params = some_params(scores, rng)
    x = rng.normal(size=(6, 5))
    targets = rng.dirichlet(np.ones(3), size=6) if scores == 3 else rng.random((6, 1))
    loss_of = logistic_loss if scores == 1 else softmax_loss
    _, grads = protonn_math.gradients(params, x, targets, loss_of)
    for name, value in params.items():
        for index in np.ndindex(value.shape):
            kept = value[index]
            value[index] = kept + 1e-6
            above, _ = protonn_math.gradients(params, x, targets, loss_of)
            value[index] = kept - 1e-6
            below, _ = protonn_math.gradients(params, x, targets, loss_of)
            value[index] = kept
            assert grads[name][index] == pytest.approx((above - below) / 2e-6, abs=1e-7), (name, index)


def test_normalised_similarities_decide_like_the_papers_kernel() -> None:
    rng = np.random.default_rng(1)
    params = some_params(3, rng)
    x = rng.normal(size=(50, 5))
    z = x @ params["W"].T
    distances = ((z[:, None] - params["B"][None]) ** 2).sum(axis=-1)
    kernel = np.exp(-distances) @ params["Z"].T
    found = protonn_math.scores(params, x)
    assert np.array_equal(found.argmax(axis=1), kernel.argmax(axis=1))


def test_quantized_training_sees_the_integers_of_the_device(
    digits: datasets.Dataset, fitted: ProtoNNClassifier
) -> None:
    """The forward pass on the grid and the integer pipeline must be the same model, table aside."""
    device: Any = fitted.to_device("int8")
    encoded = device.encode(digits.X_test)
    seen = fitted.grid_.seen(fitted._params)
    x = encoded.astype(np.float32) * np.float32(fitted.grid_.x_unit)
    z = fake_quantize(x @ seen["W"].T, fitted.grid_.z_step)
    # Exact halves are rounded up by the device's shift and to even by numpy; all else is equal.
    apart = np.rint(z / fitted.grid_.z_step) - device.projections(encoded)
    assert set(np.unique(apart)) <= {-1, 0}
    assert np.mean(apart == 0) > 0.99
    trained_for = (protonn_math.similarities(z, seen["B"]) @ seen["Z"].T).argmax(axis=1)
    assert np.mean(trained_for == device.predict_index(digits.X_test)) > 0.99


def test_grid_keeps_the_kernel(fitted: ProtoNNClassifier) -> None:
    grid = fitted.grid_
    per_unit = protonn_math.SIXTEENTHS * grid.z_step**2
    assert per_unit == pytest.approx(2.0**-grid.exp_shift)


def test_grid_reaches_the_largest_values() -> None:
    rng = np.random.default_rng(2)
    params = some_params(3, rng)
    z = rng.normal(size=(100, 3))
    grid = Grid.for_weights(params, z, x_unit=0.02)
    integers = grid.integers(params)
    assert 127 >= np.abs(integers["W"]).max() > 63
    assert np.abs(integers["B"]).max() <= 127
    assert np.allclose(integers["B"] * grid.z_step, params["B"], atol=grid.z_step / 2 + 1e-9)


def test_digits_in_two_kilobytes(digits: datasets.Dataset, fitted: ProtoNNClassifier) -> None:
    device = fitted.to_device("int8")
    assert device.flash_bytes <= 2048
    assert np.mean(device.predict(digits.X_test) == digits.y_test) > 0.96


def test_integers_and_floats_agree_nearly_always(digits: datasets.Dataset, fitted: ProtoNNClassifier) -> None:
    floats = fitted.predict(digits.X_test)
    assert np.mean(fitted.to_device("int8").predict(digits.X_test) == floats) > 0.98
    assert np.mean(fitted.to_device("float32").predict(digits.X_test) == floats) > 0.99


def test_a_seed_gives_the_same_bytes(digits: datasets.Dataset) -> None:
    some = slice(0, 300)
    first, again, other = (
        ProtoNNClassifier(5, 12, budget=600, epochs=5, random_state=seed)
        .fit(digits.X_train[some], digits.y_train[some])
        .to_device()
        .digest
        for seed in (3, 3, 4)
    )
    assert first == again
    assert first != other


@pytest.mark.parametrize("budget", [400, 700, 1111])
def test_a_budget_is_never_exceeded_and_nearly_used(digits: datasets.Dataset, budget: int) -> None:
    model = ProtoNNClassifier(12, 14, budget=budget, epochs=6, random_state=0)
    device = model.fit(digits.X_train[:400], digits.y_train[:400]).to_device()
    assert budget * 0.9 < device.flash_bytes <= budget


def test_a_budget_below_the_prototypes_is_refused(digits: datasets.Dataset) -> None:
    with pytest.raises(BudgetError, match="prototypes"):
        ProtoNNClassifier(12, 40, budget=300, epochs=1).fit(digits.X_train, digits.y_train)


def test_density_limits_the_weights(digits: datasets.Dataset) -> None:
    model = ProtoNNClassifier(10, 20, w_density=0.25, epochs=4, random_state=0)
    model.fit(digits.X_train[:300], digits.y_train[:300])
    assert model.shape_["w_nonzero"] <= 0.25 * 10 * 64


def test_two_classes_that_no_line_separates() -> None:
    X, y = make_moons(600, noise=0.1, random_state=0)
    model = ProtoNNClassifier(4, 12, epochs=60, batch_size=32, random_state=0).fit(X[:400], y[:400])
    device = model.to_device()
    assert device.n_scores == 1
    assert np.mean(device.predict(X[400:]) == y[400:]) > 0.97


def test_interrupted_training_keeps_a_model_within_the_budget(
    digits: datasets.Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = protonn_math.gradients, []

    def interrupt(*args: Any) -> Any:
        calls.append(1)
        if len(calls) > 30:
            raise KeyboardInterrupt
        return real(*args)

    monkeypatch.setattr(protonn_math, "gradients", interrupt)
    model = ProtoNNClassifier(8, 20, budget=900, epochs=100, random_state=0)
    device = model.fit(digits.X_train, digits.y_train).to_device()
    assert len(calls) == 31
    assert model.n_iter_ < 100
    assert device.flash_bytes <= 900
    assert np.mean(device.predict(digits.X_train) == digits.y_train) > 0.5


def test_weights_within_is_exact() -> None:
    W = np.random.default_rng(0).normal(size=(4, 50))
    kept = weights_within(W, 100)
    assert 0 < kept < W.size
    assert weights_within(W, 1000) == W.size


def test_unknown_number_format_is_refused(fitted: ProtoNNClassifier) -> None:
    with pytest.raises(InputError, match="int4"):
        fitted.to_device("int4")
