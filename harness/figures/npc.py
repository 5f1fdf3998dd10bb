"""What the NPC paper shows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from harness.figures import draw, paperdata, surfaces
from harness.figures.spec import ALONE, Cell, Plan, Point, Results, Spec
from harness.figures.surfaces import Surface
from harness.figures.trials import Result, Trial

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DATASETS = ("usps-10", "letter-26", "mnist-10")
NPC = "models.npc:NPCClassifier"
STEPS = 10
LOSSES = ("exponential", "hinge")
IMAGES = "usps-10"
"""The paper shows MNIST's; USPS has the same digits and trains in seconds."""


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


def _annealing(dataset: str, loss: str, *, count: int = 12) -> Trial:
    return Trial.of("annealing", dataset, loss=loss, count=count, steps=STEPS)


def _over_gamma(dataset: str, plan: Plan) -> list[Cell]:
    """Accuracies after k-means (step 0) and after each γ."""
    return [
        Cell(
            f"{part}ing data" if part == "train" else "test data",
            f"NPC-{loss[0]}",
            _annealing(dataset, loss),
            partial(_stage_accuracy, part, step),
            float(step),
        )
        for part in ("train", "test")
        for loss in LOSSES
        for step in range(STEPS + 1)
    ]


def _stage_accuracy(part: str, step: int, result: Result) -> float:
    return float(result["stages"][step][part])


def _toy_scene(dataset: str, plan: Plan, results: Results) -> Figure | None:
    """k-means, the middle and the end of the annealing, for both losses."""
    found = {loss: results[_annealing(dataset, loss)] for loss in LOSSES}
    if any("missing" in result for result in found.values()):
        return None
    panels = [
        Surface(
            f"{loss}: {_moment(step, result)}",
            result["stages"][step]["points"],
            result["stages"][step]["owners"],
        )
        for loss, result in found.items()
        for step in (0, 1, STEPS // 2, STEPS)
    ]
    first = found[LOSSES[0]]
    return surfaces.regions(panels, first["x"], first["y"][: len(first["x"])], columns=4)


def _moment(step: int, result: Result) -> str:
    return "k-means" if step == 0 else f"γ = {result['gammas'][step - 1]:.3g}"


def _smoother(points: Sequence[Point]) -> str:
    test = {(p.method, p.x): p.y for p in points if p.dataset == "test data"}
    if not test:
        return ALONE
    last = float(STEPS)
    told = [f"{name} from {test[name, 0.0]:.1f} to {test[name, last]:.1f} %" for name in ("NPC-e", "NPC-h")]
    return f"Test accuracy from k-means to the last γ: {', '.join(told)}."


def _images(plan: Plan) -> list[Cell]:
    return [
        Cell(IMAGES, "k-means", _pictures(), partial(_stage_accuracy, "test", 0)),
        Cell(IMAGES, "NPC-e", _pictures(), partial(_stage_accuracy, "test", STEPS)),
    ]


def _pictures() -> Trial:
    return _annealing(IMAGES, "exponential", count=15)


def _image_scene(plan: Plan, results: Results) -> Figure | None:
    result = results[_pictures()]
    if "missing" in result:
        return None
    first = list(range(0, 150, 15))
    rows = [
        (title, [result["stages"][step]["points"][i] for i in first])
        for title, step in (("k-means", 0), ("NPC-e", STEPS))
    ]
    return surfaces.images(rows, (16, 16))


def _learnt(points: Sequence[Point]) -> str:
    found = {point.method: point.y for point in points}
    if not found:
        return ALONE
    before, after = found["k-means"], found["NPC-e"]
    return f"On {IMAGES}, prototypes of k-means reach {before:.1f} %, learnt ones {after:.1f} %."


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
    *(
        Spec(
            "npc",
            f"{name}-{part}",
            f"Figure {number}: {words} through the annealing, {dataset}",
            partial(draw.curves, x="step of γ (0: k-means)", y="accuracy, %", log=False),
            _smoother,
            partial(_over_gamma, dataset),
            scene=scene,
            x="step",
            y="accuracy, %",
        )
        for name, number, dataset in (("fig2", 2, "toy-3"), ("fig3", 3, "toy-10"))
        for part, words, scene in (
            ("surfaces", "prototypes and decision surfaces", partial(_toy_scene, dataset)),
            ("accuracy", "accuracy", None),
        )
    ),
    Spec(
        "npc",
        "fig4",
        "Figure 4: prototypes as images, before and after",
        partial(draw.dots, x="test accuracy, %"),
        _learnt,
        _images,
        scene=_image_scene,
        y="accuracy, %",
    ),
)
