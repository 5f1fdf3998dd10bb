from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from models import optim


def test_adam_finds_the_minimum_of_a_quadratic() -> None:
    params = {"w": np.array([3.0, -2.0])}
    adam = optim.Adam(params)
    for step in range(400):
        adam.step({"w": 2.0 * (params["w"] - [1.0, 5.0])}, optim.cosine(step / 400, 0.3))
    assert params["w"] == pytest.approx([1.0, 5.0], abs=1e-2)


def test_adam_keeps_float32_and_updates_only_named_gradients() -> None:
    params = {"a": np.ones(3, np.float32), "b": np.ones(3, np.float32)}
    optim.Adam(params).step({"a": np.ones(3, np.float32)}, 0.1)
    assert params["a"].dtype == np.float32
    assert np.all(params["a"] < 1.0)
    assert np.all(params["b"] == 1.0)


def test_average_is_the_mean_until_the_horizon() -> None:
    average = optim.Average({"w": np.zeros(1)}, horizon=100)
    for value in (1.0, 2.0, 6.0):
        average.update({"w": np.array([value])})
    assert average.values["w"] == pytest.approx([3.0])


def test_one_cycle_rises_then_falls() -> None:
    rates = [optim.one_cycle(p, 1.0) for p in np.linspace(0, 1, 101)]
    top = int(np.argmax(rates))
    assert rates[top] == pytest.approx(1.0)
    assert all(a <= b for a, b in pairwise(rates[: top + 1]))
    assert all(a >= b for a, b in pairwise(rates[top:]))
    assert rates[0] == pytest.approx(0.1)
    assert rates[-1] == pytest.approx(1e-3)


def test_cubic_density_goes_from_one_to_final() -> None:
    densities = [optim.cubic_density(p, 0.2) for p in np.linspace(0, 1, 51)]
    assert densities[0] == 1.0
    assert densities[-1] == pytest.approx(0.2)
    assert all(a >= b for a, b in pairwise(densities))


def test_minibatches_cover_every_index_once() -> None:
    batches = list(optim.minibatches(103, 25, np.random.default_rng(0)))
    assert len(batches) == 4
    assert sorted(np.concatenate(batches)) == list(range(103))


def test_largest_keeps_exactly_as_many_as_asked() -> None:
    values = np.array([[1.0, -1.0], [1.0, 0.5]])
    assert optim.largest(values, 2).tolist() == [[True, True], [False, False]]
    assert optim.largest(values, 0).sum() == 0
    assert optim.largest(values, 99).all()


def test_fake_quantize_stays_on_the_grid_and_in_range() -> None:
    values = np.linspace(-2, 2, 41, dtype=np.float32)
    seen = optim.fake_quantize(values, 0.25, limit=7)
    assert seen.dtype == np.float32
    assert np.array_equal(seen / 0.25, np.rint(seen / 0.25))
    assert np.abs(seen).max() == pytest.approx(1.75)


def test_best_step_is_no_worse_than_covering_the_range() -> None:
    values = np.random.default_rng(1).standard_t(3, 500)
    step = optim.best_step(values, limit=7)
    covering = float(np.abs(values).max()) / 7
    assert np.sum((optim.fake_quantize(values, step, 7) - values) ** 2) < np.sum(
        (optim.fake_quantize(values, covering, 7) - values) ** 2
    )
    assert optim.best_step(np.zeros(3)) > 0


@pytest.mark.parametrize("loss", [optim.softmax_loss, optim.logistic_loss])
def test_loss_gradients_match_finite_differences(loss) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(4, 3))
    targets = rng.dirichlet(np.ones(3), size=4)
    _, grad = loss(scores, targets)
    for index in np.ndindex(scores.shape):
        nudge = np.zeros_like(scores)
        nudge[index] = 1e-6
        slope = (loss(scores + nudge, targets)[0] - loss(scores - nudge, targets)[0]) / 2e-6
        assert grad[index] == pytest.approx(slope, abs=1e-7)


def test_one_hot_smoothing_sums_to_one() -> None:
    targets = optim.one_hot(np.array([0, 2]), 3, smoothing=0.3)
    assert targets.sum(axis=1) == pytest.approx([1.0, 1.0])
    assert targets[1, 2] == pytest.approx(0.8)
