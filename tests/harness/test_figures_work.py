"""What trials do, on small data: that their numbers mean what the figures say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from harness.figures import toys, work
from harness.figures.prototype_work import SUBSETS
from models import datasets


@pytest.fixture(scope="module")
def digits() -> datasets.Dataset:
    return datasets.load("digits")


def test_training_all_three_matrices_is_better_than_training_one(digits: datasets.Dataset) -> None:
    found = work.joint(digits, 0, rounds=3, epochs=5)
    assert set(found) == set(SUBSETS)
    assert all(len(curve) == 3 for curve in found.values())
    assert found["WBZ"][-1] > max(found["Z"][-1], found["B"][-1])


def test_searches_tell_errors_and_distances(digits: datasets.Dataset) -> None:
    found = work.searches(digits, 0, ratios=[0.02, 0.05], iterations=10, tuning=60)
    assert set(found) == {"whole", "0.02", "0.05"}
    left = len(digits.X_train) - 60
    assert found["whole"]["exhaustive"]["distances"] == left
    assert found["0.05"]["exhaustive"]["distances"] == round(0.05 * len(digits.X_train))
    assert found["whole"]["lsh"]["distances"] < left
    assert found["0.05"]["exhaustive"]["error"] == pytest.approx(found["0.05"]["error"], abs=1.0)


def test_hashing_is_judged_by_samples_that_are_not_among_the_points(digits: datasets.Dataset) -> None:
    whole = work.searches(digits, 0, ratios=[0.02], iterations=2, tuning=200)["whole"]
    assert whole["lsh"]["error"] < whole["exhaustive"]["error"] + 3.0


def test_estimators_see_sparse_directions_alone(digits: datasets.Dataset) -> None:
    one, many = (
        work.on_sparse_pca(
            digits,
            0,
            estimator="models.references:KNNReference",
            dimensions=dimensions,
            density=0.3,
            samples=600,
        )["error"]
        for dimensions in (1, 8)
    )
    assert many < 25 < one


def test_a_part_of_the_data_is_as_large_as_was_said(digits: datasets.Dataset) -> None:
    found = work.reference(digits, 0, model="knn", effort="fast", samples=300)
    assert found["samples"] == 300
    assert found["paper_kB"] == 300 * 64 * 4 / 1024


def test_wider_kernels_are_in_units_of_the_margin() -> None:
    toy = toys.load("toy-10")
    found: dict[str, Any] = work.plane(toy, 0, widths=[0.5, 8.0])
    assert max(found["0.5"]["train"], found["8"]["train"]) > found["start"]["train"]
    assert np.asarray(found["x"]).mean(axis=0) == pytest.approx([0.0, 0.0], abs=1e-3)
