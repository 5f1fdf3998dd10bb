"""Accuracy against size, and models without a limit: what ProtoNN's and Bonsai's papers begin with."""

from __future__ import annotations

from collections.abc import Sequence

from harness.figures.spec import ALONE, Cell, Plan, Point, by
from harness.figures.trials import Result, Trial

BINARY = ("usps-2", "mnist-2")
MANY = ("usps-10", "letter-26", "mnist-10", "digits")
COMPRESSED = {
    "protonn": "ProtoNN",
    "bonsai": "Bonsai",
    "linear": "L1 Logistic",
    "ldkl-l1": "LDKL-L1",
    "mlp": "NeuralNet Pruning",
    "tree": "Tree Pruning",
    "forest": "Forest",
    "gbdt": "GBDT",
    "snc": "SNC",
}
UNLIMITED = {"knn": "kNN", "svm-rbf": "RBF-SVM", "gbdt-full": "GBDT", "network": "1-hidden-NN"}


def percent(result: Result) -> float:
    return 100 * float(result["test_accuracy"])


def flash_kilobytes(result: Result) -> float:
    return float(result["flash_bytes"]) / 1024


def budgets(plan: Plan, dataset: str) -> tuple[int, ...]:
    """Flash bytes; the smallest are for two classes."""
    if not plan.thorough:
        return (512, 2048, 16384) if dataset in BINARY else (2048, 16384)
    return tuple(2**power for power in range(9 if dataset in BINARY else 10, 15))


def compressed(
    plan: Plan,
    datasets: Sequence[str],
    models: Sequence[str] = tuple(COMPRESSED),
    *,
    largest: bool = False,
) -> list[Cell]:
    """Every method within every budget (or the largest alone), as an integer model of true flash bytes."""
    return [
        Cell(
            dataset,
            COMPRESSED[model],
            Trial.of("train", dataset, model=model, budget=budget, effort=plan.effort),
            percent,
            flash_kilobytes,
        )
        for dataset in datasets
        for model in models
        for budget in budgets(plan, dataset)[-1 if largest else 0 :]
    ]


def unlimited(plan: Plan, datasets: Sequence[str]) -> list[Cell]:
    """The references, in floats and with all the memory they want."""
    return [
        Cell(dataset, title, Trial.of("reference", dataset, model=model, effort=plan.effort), percent)
        for dataset in datasets
        for model, title in UNLIMITED.items()
    ]


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
