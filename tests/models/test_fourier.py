from __future__ import annotations

import numpy as np

from models.device import Array
from models.fourier import held_out_predictions


def waves(n: int, seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4)).astype(np.float32)
    return x, np.stack([np.sin(2 * x[:, 0]), x[:, 1] * x[:, 2]], axis=1).astype(np.float32)


def test_curved_targets_are_predicted() -> None:
    x, y = waves(800, 0)
    found = held_out_predictions(x, y, np.random.default_rng(0))
    assert np.mean(np.square(found - y)) < 0.15 * np.mean(np.square(y))


def test_a_sample_does_not_tell_its_own_label() -> None:
    """Noise cannot be predicted from other samples; a model fitted to the sample itself would know it."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 30)).astype(np.float32)
    noise = rng.normal(size=(400, 1)).astype(np.float32)
    found = held_out_predictions(x, noise, np.random.default_rng(0))
    assert abs(np.corrcoef(found[:, 0], noise[:, 0])[0, 1]) < 0.2


def test_neighbours_in_the_data_do_not_tell_each_others_labels() -> None:
    rng = np.random.default_rng(0)
    x = np.repeat(rng.normal(size=(200, 30)), 4, axis=0).astype(np.float32)
    noise = np.repeat(rng.normal(size=(200, 1)), 4, axis=0).astype(np.float32)
    found = held_out_predictions(x, noise, np.random.default_rng(0))
    assert abs(np.corrcoef(found[:, 0], noise[:, 0])[0, 1]) < 0.2
