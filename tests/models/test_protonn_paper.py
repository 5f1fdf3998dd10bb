from __future__ import annotations

import numpy as np
import pytest

from models import datasets, protonn_paper
from models.device import Array
from models.optim import one_hot
from models.protonn import ProtoNNClassifier
from models.protonn_paper import PaperRecipe, Samples


def small_problem() -> tuple[dict[str, Array], Samples]:
    rng = np.random.default_rng(0)
    params = {"W": rng.normal(size=(2, 5)), "B": rng.normal(size=(4, 2)), "Z": rng.normal(size=(3, 4))}
    return params, Samples(rng.normal(size=(7, 5)), rng.random((7, 3)), gamma=0.6)


@pytest.mark.parametrize("name", ["W", "B", "Z"])
def test_gradients_match_finite_differences(name: str) -> None:
    params, samples = small_problem()
    grad = protonn_paper.gradient(name, params, samples.during(name, params))
    value = params[name]
    for index in np.ndindex(value.shape):
        kept = value[index]
        value[index] = kept + 1e-6
        above = protonn_paper.loss(params, samples)
        value[index] = kept - 1e-6
        below = protonn_paper.loss(params, samples)
        value[index] = kept
        assert grad[index] == pytest.approx((above - below) / 2e-6, abs=1e-6)


def test_loss_is_equation_two() -> None:
    params, samples = small_problem()
    total = 0.0
    for x, y in zip(samples.x, samples.Y, strict=True):
        found = np.zeros(3)
        for b, z in zip(params["B"], params["Z"].T, strict=True):
            found += z * np.exp(-(samples.gamma**2) * np.sum((b - params["W"] @ x) ** 2))
        total += float(np.sum((y - found) ** 2))
    assert protonn_paper.loss(params, samples) == pytest.approx(total / len(samples.x))


def test_gamma_is_two_and_a_half_over_the_median_distance() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(60, 4))
    labels = np.arange(60) % 2
    params, gamma = protonn_paper.start(x, labels, one_hot(labels, 2), np.eye(4)[:2], 6, rng=rng)
    z = x @ np.eye(4)[:2].T
    distances = np.sqrt(((z[:, None] - params["B"][None]) ** 2).sum(axis=-1))
    assert gamma == pytest.approx(2.5 / np.median(distances), rel=1e-4)


def test_without_classes_prototypes_are_samples_with_their_own_labels() -> None:
    rng = np.random.default_rng(2)
    x, Y = rng.normal(size=(30, 3)), (rng.random((30, 4)) < 0.3).astype(float)
    params, _ = protonn_paper.start(x, None, Y, np.eye(3), 5, rng=rng)
    for b, z in zip(params["B"], params["Z"].T, strict=True):
        (where,) = np.flatnonzero((x == b).all(axis=1))
        assert np.array_equal(z, Y[where])


@pytest.mark.parametrize("batch_size", [None, 16])
def test_rounds_lower_the_loss_within_the_sparsity_limits(batch_size: int | None) -> None:
    params, samples = small_problem()
    before = protonn_paper.loss(params, samples)
    recipe = PaperRecipe(
        rounds=15, epochs=5, batch_size=batch_size, w_density=0.5, b_density=0.75, z_density=0.6
    )
    assert protonn_paper.solve(samples, params, recipe=recipe, rng=np.random.default_rng(0)) == 15
    assert protonn_paper.loss(params, samples) < before
    for key, most in (("W", 5), ("B", 6), ("Z", 8)):
        assert np.count_nonzero(params[key]) <= most


def test_several_starts_are_compared_by_training_loss() -> None:
    digits = datasets.load("digits")
    X, y = digits.X_train[:250], digits.y_train[:250]
    losses = [
        ProtoNNClassifier(5, 20, solver="paper", rounds=3, epochs=5, n_init=n, random_state=0).fit(X, y).loss_
        for n in (1, 3)
    ]
    assert losses[1] < losses[0]


def test_digits_and_the_papers_size() -> None:
    digits = datasets.load("digits")
    model = ProtoNNClassifier(10, 40, solver="paper", rounds=25, w_density=0.5, random_state=0)
    model.fit(digits.X_train, digits.y_train)
    device = model.to_device("int8")
    assert np.mean(device.predict(digits.X_test) == digits.y_test) > 0.9
    # Half of W as value and index, B and Z at 0.8 are cheaper stored dense.
    assert device.paper_bytes == 8 * 320 + 4 * (40 * 10 + 40 * 10)


def test_two_classes_share_one_score_row() -> None:
    cancer = datasets.load("cancer")
    model = ProtoNNClassifier(4, 8, solver="paper", rounds=10, random_state=0)
    model.fit(cancer.X_train, cancer.y_train)
    assert model.to_device("int8").n_scores == 1
    assert np.mean(model.predict(cancer.X_test) == cancer.y_test) > 0.9


def test_lmnn_start_is_better_than_a_random_one() -> None:
    digits = datasets.load("digits")
    X, y = digits.X_train[:500], digits.y_train[:500]
    losses = [
        ProtoNNClassifier(6, 20, solver="paper", rounds=2, init=init, random_state=0).fit(X, y).loss_
        for init in ("random", "lmnn")
    ]
    assert losses[1] < losses[0]


def test_unknown_solver_and_start_are_refused() -> None:
    X, y = np.eye(4), [0, 1, 0, 1]
    with pytest.raises(ValueError, match="solver is 'magic'"):
        ProtoNNClassifier(solver="magic").fit(X, y)
    with pytest.raises(ValueError, match="init is 'magic'"):
        ProtoNNClassifier(init="magic").fit(X, y)


@pytest.mark.parametrize("trained", ["Z", "WZ", "B"])
def test_what_is_not_trained_stays_as_it_starts_but_for_its_density(trained: str) -> None:
    params, samples = small_problem()
    before = {name: value.copy() for name, value in params.items()}
    recipe = PaperRecipe(rounds=2, epochs=2, w_density=0.5, b_density=1.0, z_density=1.0, trained=trained)
    protonn_paper.solve(samples, params, recipe=recipe, rng=np.random.default_rng(0))
    for name in "WBZ":
        kept = params[name] != 0
        same = np.array_equal(params[name][kept], before[name][kept])
        assert same == (name not in trained)
    assert np.count_nonzero(params["W"]) == 5


def test_matrices_that_do_not_exist_cannot_be_trained() -> None:
    with pytest.raises(ValueError, match="W, B and Z"):
        ProtoNNClassifier(solver="paper", trained="WQ").fit(np.eye(4), [0, 1, 0, 1])
