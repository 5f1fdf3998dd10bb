"""Accuracy against size, and models without a limit: what ProtoNN's and Bonsai's papers begin with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.figures.spec import ALONE, LARGE, Cell, Plan, Point, by
from harness.figures.trials import Result, Trial
from models import registry
from models.datasets import CATALOGUE

BINARY = ("usps-2", "mnist-2")
MANY = ("usps-10", "letter-26", "mnist-10", "digits")
COMPRESSED = {
    "protonn": "ProtoNN",
    "bonsai": "Bonsai",
    "linear": "L1 Logistic",
    "ldkl-l1": "LDKL-L1",
    "mlp": "NeuralNet Pruning",
    "tree": "Pruned tree",
    "forest": "Forest",
    "gbdt": "GBDT",
    # The papers had it from its authors, unpublished; ours is a reading of what they say of it.
    "gbdt-pruned": "Tree Pruning",
    "snc": "SNC",
    "bnc": "BNC",
    "jungle": "Decision Jungle",
    "budget-rf": "BudgetRF",
    "budget-prune": "BudgetPrune",
}
UNLIMITED = {"knn": "kNN", "svm-rbf": "RBF-SVM", "gbdt-full": "GBDT", "network": "1-hidden-NN"}
PART = 10_000
SLOW = ("svm-rbf", "gbdt-full", "gbdt-pruned", "network", "snc", "jungle", "budget-rf", "budget-prune")
"""Of large data these learn from so many training samples where the effort is fast."""


GIVEN = {"gbdt-full": {"n_rounds": 80, "max_leaf_nodes": 31, "learning_rate": 0.1}}
"""Parameters that are not searched where the effort is fast: boosting many classes takes minutes."""
FAST_BUDGETS = {"usps-2": (512, 2048, 16384), "mnist-10": (16384,)}
"""Bytes that a fast plan tries on a dataset, if not 2 kB and 16 kB."""


def percent(result: Result) -> float:
    return 100 * float(result["test_accuracy"])


def flash_kilobytes(result: Result) -> float:
    return float(result["flash_bytes"]) / 1024


def budgets(plan: Plan, dataset: str) -> tuple[int, ...]:
    """Flash bytes; the smallest are for two classes."""
    if not plan.thorough:
        return FAST_BUDGETS.get(dataset, (2048, 16384))
    return tuple(2**power for power in range(9 if dataset in BINARY else 10, 15))


def compressed(
    plan: Plan,
    datasets: Sequence[str],
    models: Sequence[str] = tuple(COMPRESSED),
    *,
    largest: bool = False,
) -> list[Cell]:
    """Every method within every budget (or the largest alone), as an integer model of true flash bytes."""
    known = [model for model in models if model in registry.names()]
    return [
        Cell(
            dataset,
            COMPRESSED[model],
            trial(plan, dataset, model, budget),
            percent,
            flash_kilobytes,
            _part(plan, dataset, model)[1],
        )
        for dataset in datasets
        for model in known
        for budget in budgets(plan, dataset)[-1 if largest else 0 :]
    ]


def trial(plan: Plan, dataset: str, model: str, budget: int) -> Trial:
    """A training within a budget: every figure that shows it asks for the same one."""
    some, _ = _part(plan, dataset, model)
    return Trial.of("train", dataset, model=model, budget=budget, effort=plan.effort, **some)


def _part(plan: Plan, dataset: str, model: str) -> tuple[dict[str, int], str]:
    """The option and the words for what a model learns from, where that is not all training data."""
    entry = CATALOGUE[dataset]
    if plan.thorough or entry.train <= LARGE or model not in SLOW:
        return {}, ""
    return {"samples": PART}, f"learnt from {PART} of {entry.train} samples"


def unlimited(plan: Plan, datasets: Sequence[str]) -> list[Cell]:
    """The references, in floats and with all the memory they want; fast, they see a part of large data."""
    cells = []
    for dataset in datasets:
        for model, title in UNLIMITED.items():
            some, note = _part(plan, dataset, model)
            options: dict[str, Any] = dict(some)
            if model in GIVEN and not plan.thorough:
                options["params"] = GIVEN[model]
                note = "; ".join(filter(None, (note, "without a search")))
            asked = Trial.of("reference", dataset, model=model, effort=plan.effort, **options)
            cells.append(Cell(dataset, title, asked, percent, label=note))
    return cells


def leader(points: Sequence[Point], size: float) -> str:
    """Who is the most accurate of ours within so many kilobytes, on how many of the datasets."""
    wins: dict[str, int] = {}
    datasets = list(dict.fromkeys(point.dataset for point in points if point.ours))
    for dataset in datasets:
        here = [p for p in points if p.ours and p.dataset == dataset and p.x is not None and p.x <= size]
        if here:
            best = max(here, key=lambda point: point.y)
            wins[best.method] = wins.get(best.method, 0) + 1
    ranked = sorted(wins.items(), key=lambda item: -item[1])
    if not ranked:
        return ALONE
    told = ", ".join(f"{method} on {count}" for method, count in ranked)
    return f"Most accurate within {size:g} kB of flash, of {len(datasets)} datasets: {told}."


def against(points: Sequence[Point], method: str, other: str) -> str:
    """On how many datasets our compressed model is at least as accurate as one without a limit."""
    ours = by((p for p in points if p.ours), lambda point: point.dataset)
    scores = [{p.method: p.y for p in own} for own in ours.values()]
    both = [score for score in scores if method in score and other in score]
    ahead = sum(score[method] >= score[other] for score in both)
    return (
        f"{method} within 16 kB is at least as accurate as {other} without a limit on {ahead} of {len(both)}."
        if both
        else ALONE
    )
