"""Ridge regression on random Fourier features (Rahimi and Recht, NIPS 2007): a smooth model to learn from.

Its predictions of samples that it was not fitted to are estimates of each label's probability, which tell a
small model more than a bare yes or no.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve

from models.device import Array

FEATURES = 1500
"""At most; small data get half as many as they have samples."""
FOLDS = 4
WIDTHS = (1.0, 1.6, 2.5)
"""Kernel widths to choose from, as multiples of the typical distance of two samples."""
RIDGES = (2e-4, 1e-3, 5e-3)
"""Penalties to choose from, relative to the mean square of a feature."""


def held_out_predictions(x: Array, targets: Array, rng: np.random.Generator) -> Array:
    """What is predicted for each sample by a model of the others, of the width and penalty that err least.

    Folds are runs of consecutive samples: data often lie in the order in which they were recorded, and
    neighbours that are nearly the same would give each other's labels away.
    """
    fold = np.arange(len(x)) * FOLDS // len(x)
    centre = targets.mean(axis=0)
    count = min(FEATURES, len(x) // 2)
    directions = rng.normal(size=(x.shape[1], count)).astype(np.float32)
    phases = rng.uniform(0, 2 * np.pi, count).astype(np.float32)
    typical = float(np.sqrt(2 * x.var(axis=0).sum())) or 1.0
    best, least = np.zeros_like(targets), np.inf
    for width in WIDTHS:
        features = np.cos(x @ (directions / np.float32(width * typical)) + phases)
        for found in _predictions(features, targets - centre, fold):
            error = float(np.square(found + centre - targets).sum(dtype=np.float64))
            if error < least:
                best, least = found + centre, error
    return best


def _predictions(features: Array, targets: Array, fold: npt.NDArray[np.int64]) -> list[Array]:
    """Held-out predictions with each penalty."""
    parts = [(features[fold == f], targets[fold == f]) for f in range(FOLDS)]
    # Wide kernels make features that are nearly the same: their equations need double precision.
    squares = [(own.T @ own).astype(np.float64) for own, _ in parts]
    products = [own.T @ wanted for own, wanted in parts]
    all_squares, all_products = np.sum(squares, axis=0), np.sum(products, axis=0)
    found = []
    for ridge in RIDGES:
        penalty = ridge * len(features) * np.eye(features.shape[1])
        weights = [
            solve(all_squares - squares[f] + penalty, all_products - products[f], assume_a="pos")
            for f in range(FOLDS)
        ]
        each = [own @ w.astype(own.dtype) for (own, _), w in zip(parts, weights, strict=True)]
        found.append(np.concatenate(each))
    return found
