"""The two toys of the NPC paper: three classes of several modes, and ten overlapping ones on a grid."""

from __future__ import annotations

import numpy as np

from models.datasets import Dataset
from models.device import Array

SAMPLES = 1500
MODES = 4
"""Gaussians a class of the toy with three classes."""


def names() -> tuple[str, ...]:
    return ("toy-3", "toy-10")


def load(name: str) -> Dataset:
    """Training and test data of the same kind, always the same."""
    rng = np.random.default_rng(0)
    sample = _three if name == "toy-3" else _ten
    X_train, y_train = sample(np.random.default_rng(1))
    X_test, y_test = sample(np.random.default_rng(2))
    order = rng.permutation(len(X_train))
    return Dataset(name, X_train[order], y_train[order], X_test, y_test, "drawn from Gaussians")


def _three(rng: np.random.Generator) -> tuple[Array, Array]:
    """Modes of the classes stand among each other, at places that do not depend on the part."""
    centres = np.random.default_rng(7).uniform(-4, 4, (3 * MODES, 2))
    mode = rng.integers(len(centres), size=SAMPLES)
    return _around(centres[mode], 0.75, rng), mode % 3


def _ten(rng: np.random.Generator) -> tuple[Array, Array]:
    """One Gaussian a class, in two rows of five, wide enough to reach into the next."""
    label = rng.integers(10, size=SAMPLES)
    centres = np.stack([label % 5, label // 5], axis=1) * 2.0
    return _around(centres, 0.8, rng), label


def _around(centres: Array, spread: float, rng: np.random.Generator) -> Array:
    return np.asarray(centres + rng.normal(0, spread, centres.shape), dtype=np.float32)
