"""Trainings within a byte budget, kept as trained models are: the suite `paper` finds the same ones there."""

from __future__ import annotations

import dataclasses
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from harness import trained
from harness.jobs import Recipe
from models.datasets import Dataset

IN_FLOATS = ("protonn", "bonsai", "linear", "ldkl", "ldkl-l1", "mlp")
"""Models that have float firmware too."""
BOTH_SHOWN = ("bonsai",)
"""Models whose papers tell the float form from an optimised one."""


def train(
    data: Dataset, seed: int, *, model: str, budget: int, effort: str, samples: int | None = None
) -> dict[str, Any]:
    """What `kilobench train` gives within a byte budget: the integer model's accuracy, and its sizes.

    samples: as in `part`.
    """
    data = part(data, seed, samples)
    recipe = Recipe(data.name, model, budget, seed, effort)
    numbers = ("int8", "float32") if model in IN_FLOATS else ("int8",)
    with tempfile.TemporaryDirectory() as folder:
        models = trained.obtain(recipe, data, numbers, Path(folder))
    integer = models.get("int8")
    found = {
        "test_accuracy": integer.info["test_accuracy"],
        "flash_bytes": integer.flash_bytes,
        "paper_kB": integer.paper_bytes / 1024,
    }
    if model in BOTH_SHOWN:
        floats = models.get("float32")
        found["float_accuracy"] = float(np.mean(floats.predict(data.X_test) == data.y_test))
        found["float_bytes"] = floats.flash_bytes
    return found


def part(data: Dataset, seed: int, samples: int | None) -> Dataset:
    """The data with a random part of its training samples, where all of them would take too long."""
    if samples is None or samples >= len(data.X_train):
        return data
    some = np.random.default_rng(seed).permutation(len(data.X_train))[:samples]
    return dataclasses.replace(data, X_train=data.X_train[some], y_train=data.y_train[some])
