from __future__ import annotations

import numpy as np
import pytest

from models import bonsai_net, bonsai_paper
from models.bonsai_net import TreeShape
from models.device import Array
from tests.models.gradients import check_gradients


def a_problem(scores: int) -> tuple[TreeShape, dict[str, Array], Array, Array]:
    rng = np.random.default_rng(3)
    shape = TreeShape(2, scores)
    X = rng.normal(size=(7, 5))
    params = bonsai_net.random_params(shape, 3, X, rng, np.float64)
    labels = rng.integers(0, 2 if scores == 1 else scores, size=7)
    return shape, params, X, labels


@pytest.mark.parametrize("clipped", [False, True])
@pytest.mark.parametrize("scores", [1, 3])
def test_gradients_match_finite_differences(scores: int, clipped: bool) -> None:
    shape, params, X, _ = a_problem(scores)
    weight = np.random.default_rng(4).normal(size=(7, scores))

    def value() -> float:
        found, _ = bonsai_net.bonsai_scores(params, shape, X, sharpness=1.5, clipped=clipped)
        return float(np.sum(weight * found))

    _, tape = bonsai_net.bonsai_scores(params, shape, X, sharpness=1.5, clipped=clipped)
    grads = bonsai_net.bonsai_gradients(params, shape, weight, tape, sharpness=1.5, clipped=clipped)
    check_gradients(value, params, grads)


@pytest.mark.parametrize("scores", [1, 3])
def test_gradients_of_the_papers_objective_match_finite_differences(scores: int) -> None:
    shape, params, X, labels = a_problem(scores)
    options = bonsai_paper.Options(sigma=1.3, decay_projection=0.1, decay_tree=0.2)
    descent = bonsai_paper.Descent(shape, params, X, labels, options)
    descent.sharpness = 2.0
    value, grads = descent.gradients()
    assert value == pytest.approx(descent.objective())
    check_gradients(descent.objective, params, grads, tolerance=1e-5)


def test_shares_of_the_paths_add_up_on_every_level() -> None:
    shape, params, X, _ = a_problem(1)
    _, (_, _, tape) = bonsai_net.bonsai_scores(params, shape, X)
    for first, last in ((0, 1), (1, 3), (3, 7)):
        assert np.allclose(tape.share[:, first:last].sum(axis=1), 1.0)


def test_sharp_indicators_become_the_single_path_of_the_device() -> None:
    shape, params, X, _ = a_problem(3)
    sharp, _ = bonsai_net.bonsai_scores(params, shape, X, sharpness=1e6, clipped=True)
    z = bonsai_net.with_constant(bonsai_net.project(params, X))
    for n, point in enumerate(z):
        node, total = 0, np.zeros(3)
        while node < shape.nodes:
            rows = slice(3 * node, 3 * node + 3)
            total += params["W"][rows] @ point * np.clip(params["V"][rows] @ point, -1, 1)
            if node >= shape.branches:
                break
            node = 2 * node + (2 if params["T"][node] @ point > 0 else 1)
        assert sharp[n] == pytest.approx(total)


def test_margin_loss_by_hand() -> None:
    loss, slope = bonsai_paper.margin_loss(np.array([[0.4], [-3.0]]), np.array([1, 0]))
    assert loss == pytest.approx(0.3)
    assert slope.tolist() == [[-0.5], [0.0]]
    loss, slope = bonsai_paper.margin_loss(np.array([[1.0, 0.5, -1.0]]), np.array([0]))
    assert loss == pytest.approx(0.5)
    assert slope.tolist() == [[-1.0, 1.0, 0.0]]
