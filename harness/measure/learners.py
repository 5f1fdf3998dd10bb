"""Figures of the learners: accuracy within a byte budget, mean over seeds, nothing chosen on test data."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from functools import cache
from typing import Any

from harness.measure.figures import Figure
from models import datasets, training

SEEDS = range(5)
SLACK = 0.7
"""Percentage points that ProtoNN or Bonsai alone may lie below the better of the two."""
BUDGETS = (
    ("usps-2", 512, 95.2),
    ("usps-2", 1024, 95.9),
    ("usps-2", 2048, 96.3),
    ("mnist-2", 2048, 96.3),
    ("mnist-2", 16384, 98.0),
    ("usps-10", 4096, 93.7),
    ("usps-10", 16384, 94.9),
    ("mnist-10", 16384, 97.0),
    ("letter-26", 16384, 97.0),
    ("digits", 1024, 97.0),
    ("digits", 2048, 97.8),
)


def budgets() -> Iterator[Figure]:
    """The integer models of ProtoNN and Bonsai within each budget."""
    for dataset, budget, wanted in BUDGETS:
        means = {}
        for family in ("protonn", "bonsai"):
            reports = _over_seeds(family, dataset, budget)
            percents = [100 * report["test_accuracy"] for report in reports]
            means[family] = statistics.mean(percents)
            used = max(report["flash_bytes"] for report in reports)
            detail = f"sd {statistics.stdev(percents):.2f} over seeds 0–4, at most {used} bytes"
            name = f"{family} on {dataset} in {budget} bytes, test accuracy"
            yield Figure(name, means[family], wanted - SLACK, " %", detail=detail)
        best = max(means, key=lambda family: means[family])
        yield Figure(f"the better on {dataset} in {budget} bytes", means[best], wanted, " %", detail=best)


def _over_seeds(family: str, dataset: str, budget: int) -> list[dict[str, Any]]:
    """The reports of all seeds, two trainings at a time."""
    from joblib import Parallel, delayed

    reports: list[dict[str, Any]] = Parallel(n_jobs=2)(
        delayed(_report)(family, dataset, budget, seed) for seed in SEEDS
    )
    return reports


def _report(family: str, dataset: str, budget: int, seed: int) -> dict[str, Any]:
    return training.train(family, _data(dataset), budget=budget, seed=seed).report


@cache
def _data(name: str) -> datasets.Dataset:
    return datasets.load(name)


SOURCES = (budgets,)
