"""What trials do: each function trains on a dataset with a seed, and gives plain numbers about the result.

The test part of the data is used for the figures alone: every choice is made on training data.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from harness.figures.prototype_work import annealing, joint, plane
from harness.figures.within import part, train
from models import hashing
from models.datasets import Dataset
from models.device import Array

__all__ = [
    "annealing",
    "fit",
    "joint",
    "label_sets",
    "noisy_labels",
    "on_sparse_pca",
    "plane",
    "reference",
    "searches",
    "train",
]

FLOAT_BYTES = 4
"""What the papers count for a parameter."""
QUERIES = 4000
"""Test samples that searches are timed with at most."""


def reference(
    data: Dataset,
    seed: int,
    *,
    model: str,
    effort: str,
    samples: int | None = None,
    params: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A model without any limit, in floats on the host, with its size as the papers count it.

    samples: learn from so many of the training samples, where all of them would take too long.
    params: given instead of searched.
    """
    from models import training

    data = part(data, seed, samples)
    trained = training.train(model, data, budget=2**40, seed=seed, effort=effort, params=params)
    size = _reference_bytes(trained.estimator.model_, data)
    return {
        "test_accuracy": trained.report["test_accuracy"],
        "paper_kB": size / 1024,
        "fit_seconds": trained.report["fit_seconds"],
        "samples": len(data.X_train),
    }


def fit(
    data: Dataset,
    seed: int,
    *,
    estimator: str,
    params: Mapping[str, Any] | None = None,
    samples: int | None = None,
) -> dict[str, Any]:
    """One estimator, as "module:name", with given parameters."""
    data = part(data, seed, samples)
    made = _made(estimator, seed, params)
    began = time.process_time()
    made.fit(data.X_train, data.y_train)
    seconds = time.process_time() - began
    found = {"seconds": seconds, "error": 100 * _error(made, data)}
    if hasattr(made, "prototypes_"):
        found["share"] = len(made.prototypes_) / len(data.X_train)
    return found


def label_sets(data: Dataset, seed: int, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Precision among the first 1, 3 and 5 labels that multi-label ProtoNN names."""
    from models.protonn_multilabel import ProtoNNMultilabel, precision_at

    made = ProtoNNMultilabel(random_state=seed, **dict(params or {})).fit(data.X_train, data.y_train)
    scores = made.decision_function(data.X_test)
    precisions = {f"p_at_{k}": 100 * precision_at(k, scores, data.y_test) for k in (1, 3, 5)}
    return {**precisions, "paper_kB": made.paper_bytes_ / 1024}


def noisy_labels(
    data: Dataset, seed: int, estimator: str, noise: float, params: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The same estimator after a share of the training labels was drawn anew."""
    rng = np.random.default_rng(seed)
    labels = data.y_train.copy()
    moved = rng.random(len(labels)) < noise
    labels[moved] = rng.choice(np.unique(labels), size=int(moved.sum()))
    made = _made(estimator, seed, params).fit(data.X_train, labels)
    return {"error": 100 * _error(made, data)}


def on_sparse_pca(
    data: Dataset,
    seed: int,
    *,
    estimator: str,
    dimensions: int,
    density: float,
    samples: int | None = None,
) -> dict[str, Any]:
    """An estimator that sees the samples in sparse directions, which are found first and stay as they are."""
    from sklearn.decomposition import MiniBatchSparsePCA

    data = part(data, seed, samples)
    centre = data.X_train.mean(axis=0)
    penalty, directions = 0.5, np.ones((dimensions, data.n_features))
    while np.count_nonzero(directions) > density * directions.size:
        penalty *= 2
        pca = MiniBatchSparsePCA(dimensions, alpha=penalty, max_iter=50, random_state=seed)
        directions = pca.fit(data.X_train - centre).components_
    placed = dataclasses.replace(
        data,
        X_train=(data.X_train - centre) @ directions.T,
        X_test=(data.X_test - centre) @ directions.T,
    )
    return {"error": 100 * _error(_made(estimator, seed, None).fit(placed.X_train, data.y_train), placed)}


def searches(
    data: Dataset, seed: int, *, ratios: Sequence[float], iterations: int, tuning: int
) -> dict[str, Any]:
    """SNC at several ratios, and what three searches cost a test sample: among all data, and among the few.

    tuning: training samples that hashing is tuned on.
    """
    from models.snc import SNCClassifier

    found: dict[str, Any] = {}
    some = np.random.default_rng(seed).permutation(len(data.X_train))[:tuning]
    for ratio in ratios:
        began = time.process_time()
        few = SNCClassifier(ratio=ratio, max_iter=iterations, random_state=seed)
        few.fit(data.X_train, data.y_train)
        seconds = time.process_time() - began
        place = partial(_placed, few)
        costs = _costs(data, some, place, few.prototypes_, few.prototype_labels_)
        found[f"{ratio:g}"] = {"error": 100 * _error(few, data), "seconds": seconds, **costs}
        if "whole" not in found:
            # Not those that hashing is tuned on: each would find itself, however few it is compared with.
            others = np.setdiff1d(np.arange(len(data.X_train)), some)
            found["whole"] = _costs(data, some, place, place(data.X_train[others]), data.y_train[others])
    return found


def _placed(few: Any, samples: Array) -> Array:
    """Samples where the prototypes are."""
    return np.asarray(few.inputs_.encode(samples), dtype=np.float32) / np.float32(few.unit_)


def _costs(
    data: Dataset, some: Array, place: Callable[[Array], Array], points: Array, owners: Array
) -> dict[str, dict[str, float]]:
    """By search; `some` training samples tune the hashing."""
    tuning, labels = place(data.X_train[some]), data.y_train[some]
    queries, answers = place(data.X_test[:QUERIES]), data.y_test[:QUERIES]
    found = {}
    for name in hashing.SEARCHES:
        search = hashing.search(name, points, owners=owners, queries=tuning, labels=labels)
        cost = _cost(search, queries, owners, answers)
        found[name] = {**cost, "looked_at": cost["distances"] / len(points)}
    return found


def _cost(search: hashing.Search, queries: Array, owners: Array, labels: Array) -> dict[str, float]:
    """Distances and seconds a query, and the error in percent."""
    before = search.distances
    began = time.process_time()
    nearest = search.nearest(queries)
    seconds = time.process_time() - began
    return {
        "error": 100 * float(np.mean(owners[nearest] != labels)),
        "distances": (search.distances - before) / len(queries),
        "seconds": seconds / len(queries),
    }


def _made(place: str, seed: int, params: Mapping[str, Any] | None) -> Any:
    module, name = place.split(":")
    made = getattr(import_module(module), name)(**dict(params or {}))
    return made.set_params(random_state=seed) if "random_state" in made.get_params() else made


def _error(made: Any, data: Dataset) -> float:
    return float(np.mean(made.predict(data.X_test) != data.y_test))


def _reference_bytes(model: Any, data: Dataset) -> float:
    """Four bytes a number that prediction needs; a node is a feature, a threshold and two children."""
    last = model[-1] if hasattr(model, "steps") else model
    if hasattr(last, "support_vectors_"):
        return float(FLOAT_BYTES * (last.support_vectors_.size + last.dual_coef_.size))
    if hasattr(last, "coefs_"):
        return float(FLOAT_BYTES * sum(part.size for part in (*last.coefs_, *last.intercepts_)))
    if hasattr(last, "_predictors"):
        nodes = sum(len(tree.nodes) for round_ in last._predictors for tree in round_)
        return float(4 * FLOAT_BYTES * nodes)
    if hasattr(last, "coef_"):
        return float(FLOAT_BYTES * (last.coef_.size + last.intercept_.size))
    return float(FLOAT_BYTES * data.X_train.size)
