"""What the NPC paper shows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from harness.figures import draw, paperdata
from harness.figures.spec import ALONE, Cell, Plan, Point, Spec
from harness.figures.trials import Result, Trial

DATASETS = ("usps-10", "letter-26", "mnist-10")
NPC = "models.npc:NPCClassifier"


def _table_1(plan: Plan) -> list[Cell]:
    counts = (15, 30, 50, 100) if plan.thorough else (15, 50)
    datasets = DATASETS if plan.thorough else DATASETS[:2]
    metrics = {"euc": "euclidean", "lmnn": "lmnn"} if plan.thorough else {"euc": "euclidean"}
    cells = []
    for dataset in datasets:
        for short, metric in metrics.items():
            for k in counts:
                for method, loss in (("NPC-e", "exponential"), ("NPC-h", "hinge")):
                    params = {"n_per_class": k, "loss": loss, "metric": metric}
                    trial = Trial.of("fit", dataset, estimator=NPC, params=params)
                    cells.append(Cell(dataset, f"{method} {short}", trial, _error, float(k)))
        for k in counts:
            means = Trial.of(
                "fit", dataset, estimator="models.prototypes:KMeansPrototypes", params={"n_per_class": k}
            )
            cells.append(Cell(dataset, "k-means euc", means, _error, float(k)))
    return cells


def _error(result: Result) -> float:
    return float(result["error"])


def _published() -> list[Point]:
    """The number of prototypes stands in the method's name: NPC-e euc k=15."""
    found = []
    for point in paperdata.points("npc", "Table 1", "error_pct"):
        named = re.fullmatch(r"(.+) k=(\d+)", point.method)
        if named:
            found.append(replace(point, method=named[1], x=float(named[2])))
    return found


def _best(points: Sequence[Point]) -> str:
    ours = [p for p in points if p.ours]
    if not ours:
        return ALONE
    theirs = {(p.dataset, p.method, p.x): p.y for p in points if not p.ours}
    pairs = [(p.y, theirs[p.dataset, p.method, p.x]) for p in ours if (p.dataset, p.method, p.x) in theirs]
    lower = sum(mine <= other + 0.3 for mine, other in pairs)
    return f"{lower} of {len(pairs)} errors are at most 0.3 points above the published ones."


SPECS = (
    Spec(
        "npc",
        "table1",
        "Table 1: error against prototypes a class",
        partial(draw.curves, x="prototypes a class", y="test error, %"),
        _best,
        _table_1,
        _published,
        more_is_better=False,
        x="k",
        y="error, %",
    ),
)
