from __future__ import annotations

import signal
from typing import Any

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from models import fourier, protonn_math
from models.device import Array
from models.protonn_multilabel import (
    ProtoNNMultilabel,
    label_directions,
    label_names,
    label_rows,
    precision_at,
    top_loss,
)


@parametrize_with_checks([ProtoNNMultilabel(epochs=3)])  # type: ignore[untyped-decorator]
def test_follows_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


def label_sets(n: int, seed: int) -> tuple[Array, Array]:
    """Labels that hold inside circles around three centres, some samples with several, some with none."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 6))
    centres = np.array([[1, 1], [-1, 0], [1, -1]])
    distances = np.linalg.norm(X[:, None, :2] - centres[None], axis=-1)
    return X, (distances < 1.2).astype(int)


@pytest.mark.parametrize("weight", [0.0, 2.0])
def test_loss_gradient_matches_finite_differences(weight: float) -> None:
    rng = np.random.default_rng(0)
    found, targets = rng.normal(size=(3, 4)), rng.random((3, 4))
    loss = top_loss(weight)
    _, grad = loss(found, targets)
    for index in np.ndindex(found.shape):
        nudge = np.zeros_like(found)
        nudge[index] = 1e-5
        slope = (loss(found + nudge, targets)[0] - loss(found - nudge, targets)[0]) / 2e-5
        assert grad[index] == pytest.approx(slope, abs=1e-6)


def test_the_smooth_precision_rewards_a_right_label_on_top() -> None:
    targets = np.array([[0.0, 1.0, 1.0]])
    plain, top = top_loss(0.0), top_loss(2.0)
    right, wrong = np.array([[0.4, 0.9, 0.5]]), np.array([[0.9, 0.6, 0.5]])
    assert top(right, targets)[0] - plain(right, targets)[0] == pytest.approx(-2.0, abs=0.1)
    assert top(wrong, targets)[0] - plain(wrong, targets)[0] == pytest.approx(0.0, abs=0.5)


def test_precision_counts_right_labels_among_the_best() -> None:
    found = np.array([[0.9, 0.5, 0.1], [0.1, 0.2, 0.3]])
    labels = np.array([[1, 0, 1], [0, 0, 0]])
    assert precision_at(1, found, labels) == 0.5
    assert precision_at(3, found, labels) == pytest.approx(2 / 6)


def test_precision_divides_by_k_even_if_there_are_fewer_labels() -> None:
    found, labels = np.array([[0.9, 0.5]]), np.array([[1, 1]])
    assert precision_at(2, found, labels) == 1
    assert precision_at(5, found, labels) == pytest.approx(2 / 5)


@pytest.mark.parametrize(("scale", "init"), [("standard", "pca"), ("standard", "labels")])
def test_curved_label_regions_are_learnt(scale: str, init: str) -> None:
    X, Y = label_sets(1000, 0)
    Xt, Yt = label_sets(500, 1)
    model = ProtoNNMultilabel(
        5, 40, z_density=0.8, scale=scale, init=init, epochs=30, batch_size=64, random_state=0
    ).fit(X, Y)
    assert model.score(Xt, Yt) > 0.97 * Yt.any(axis=1).mean()
    assert np.mean(model.predict(Xt) == Yt) > 0.9


def test_unit_scale_ignores_the_length_of_a_sample() -> None:
    X, Y = label_sets(200, 0)
    model = ProtoNNMultilabel(3, 10, scale="unit", epochs=2, random_state=0).fit(X, Y)
    assert np.allclose(model.decision_function(X), model.decision_function(7 * X), atol=1e-4)


def test_density_limits_the_papers_size() -> None:
    X, Y = label_sets(300, 0)
    model = ProtoNNMultilabel(4, 20, z_density=0.25, epochs=3, random_state=0).fit(X, Y)
    assert model.paper_bytes_ == 4 * (4 * 6 + 20 * 4) + 8 * 15


def test_label_directions_find_the_features_that_matter() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 8)).astype(np.float32)
    W = label_directions(x, (x[:, 3:4] > 0).astype(np.float32), 1, rng)
    assert np.abs(W[0]).argmax() == 3


def test_a_seed_gives_the_same_scores() -> None:
    X, Y = label_sets(200, 0)
    found = [
        ProtoNNMultilabel(3, 10, epochs=2, random_state=seed).fit(X, Y).decision_function(X)
        for seed in (1, 1, 2)
    ]
    assert np.array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])


def test_one_class_a_sample_is_a_set_of_one_label() -> None:
    given = np.array(["b", "a", "b"])
    assert label_rows(given, label_names(given)).tolist() == [[0, 1], [1, 0], [0, 1]]


def test_what_are_no_label_rows_is_refused() -> None:
    X, Y = label_sets(50, 0)
    with pytest.raises(ValueError, match="0 and 1"):
        ProtoNNMultilabel().fit(X, 2 * Y)
    with pytest.raises(ValueError, match="scale"):
        ProtoNNMultilabel(scale="none").fit(X, Y)


def interrupted_at(at: int, module: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Ctrl-C in the given call of a function; the calls so far."""
    real, calls = getattr(module, name), [0]

    def interrupted(*args: Any) -> Any:
        calls[0] += 1
        if calls[0] == at:
            signal.raise_signal(signal.SIGINT)
        return real(*args)

    monkeypatch.setattr(module, name, interrupted)
    return calls


def test_one_ctrl_c_ends_training(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = interrupted_at(100, protonn_math, "gradients", monkeypatch)
    X, Y = label_sets(400, 0)
    model = ProtoNNMultilabel(4, 20, epochs=20, batch_size=64, random_state=0).fit(X, Y)
    assert calls == [100]
    assert model.score(X, Y) > 1.5 * Y.mean(axis=0).max()


def test_one_ctrl_c_while_the_large_model_learns_keeps_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted_at(2, fourier, "_predictions", monkeypatch)
    steps = interrupted_at(-1, protonn_math, "gradients", monkeypatch)
    X, Y = label_sets(400, 0)
    model = ProtoNNMultilabel(4, 20, random_state=0).fit(X, Y)
    assert steps == [0]
    assert model.score(X, Y) > 1.5 * Y.mean(axis=0).max()
