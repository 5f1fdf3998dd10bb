"""What the ProtoNN paper shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from harness.figures import device, draw, paperdata, sizes
from harness.figures.spec import ALONE, Cell, Plan, Point, Spec, by
from harness.figures.trials import Result, Trial
from harness.measure.learners import LABEL_SETS
from models.datasets import CATALOGUE

DATASETS = (*sizes.BINARY, *sizes.MANY)
PRECISIONS = (1, 3, 5)
MNIST = "mnist-2"
TEN, TWENTY = 10, 20
"""The dimensions that Figure 3 fixes while prototypes vary, and the other way round."""
WITHIN = "within 16 kB"
BITS = 32
"""Of BNC for each dimension of the others, whose numbers are as long."""
FIXED = {"Z": "Z", "B": "B", "W": "W", "BZ": "Z and B", "WZ": "Z and W", "WB": "B and W", "WBZ": "Z, B and W"}
"""What is trained in Figure 5."""
ROUNDS = 10


def _unlimited(plan: Plan) -> list[Cell]:
    """The references beside ProtoNN, SNC and BNC in the largest budget."""
    ours = [
        replace(cell, x=None, label="; ".join(filter(None, (cell.label, WITHIN))))
        for cell in sizes.compressed(plan, DATASETS, ("protonn", "snc", "bnc"), largest=True)
    ]
    return [*ours, *sizes.unlimited(plan, DATASETS)]


def _label_sets(plan: Plan) -> list[Cell]:
    return [
        Cell(
            dataset,
            f"ProtoNN P@{k}",
            Trial.of("label_sets", dataset, params=params),
            partial(_number, f"p_at_{k}"),
        )
        for dataset, _, params in LABEL_SETS
        for k in PRECISIONS
    ]


def _number(key: str, result: Result) -> float:
    return float(result[key])


def _published_label_sets() -> list[Point]:
    return [
        replace(point, method=f"{point.method} P@{k}")
        for k in PRECISIONS
        for point in paperdata.points("protonn", "Figure 2 right", f"p_at_{k}")
    ]


def _embeddings(plan: Plan) -> list[Cell]:
    """ProtoNN and SNC with the same dimensions and prototypes, a tenth of the projection not zero."""
    cells = []
    some, note = _part(plan)
    for dimensions, prototypes in _shapes(plan):
        for method, estimator, params in (
            ("ProtoNN", "models.protonn:ProtoNNClassifier", {"projection_dim": dimensions, "w_density": 0.1}),
            ("SNC", "models.snc:SNCClassifier", {"metric": "linear", "n_components": dimensions}),
            ("BNC", "models.bnc:BNCClassifier", {"n_bits": BITS * dimensions}),
        ):
            chosen: dict[str, Any] = {**params, "n_prototypes": prototypes}
            trial = Trial.of("fit", MNIST, estimator=estimator, params=chosen, **some)
            for axis, value, fixed in (
                ("m", prototypes, dimensions == 10),
                ("d", dimensions, prototypes == 20),
            ):
                if fixed:
                    panel = f"{MNIST}, over {axis}"
                    cells.append(Cell(panel, method, trial, _accuracy, float(value), note))
    return cells


def _part(plan: Plan) -> tuple[dict[str, int], str]:
    """What Figures 3 and 5 learn from, as an option and in words."""
    if plan.thorough:
        return {}, ""
    return {"samples": sizes.PART}, f"learnt from {sizes.PART} of {CATALOGUE[MNIST].train} samples"


def _shapes(plan: Plan) -> list[tuple[int, int]]:
    """Ten dimensions with ever more prototypes, then twenty prototypes in ever more dimensions."""
    counts = (5, 10, 20, 40, 80) if plan.thorough else (5, 20, 80)
    dimensions = (2, 5, 10, 15, 20) if plan.thorough else (5, 10, 20)
    return list(dict.fromkeys([*((TEN, m) for m in counts), *((d, TWENTY) for d in dimensions)]))


def _joint(plan: Plan) -> list[Cell]:
    """Test accuracy after each round, by what is trained."""
    some, note = _part(plan)
    trial = Trial.of("joint", MNIST, rounds=ROUNDS, epochs=5, **some)
    return [
        Cell(MNIST, title, trial, partial(_after, trained, number), float(number), note)
        for trained, title in FIXED.items()
        for number in range(1, ROUNDS + 1)
    ]


def _after(trained: str, number: int, result: Result) -> float:
    return float(result[trained][number - 1])


def _last(points: Sequence[Point]) -> str:
    found = {point.method: point.y for point in points if point.x == ROUNDS}
    told = ", ".join(f"{method} {y:.1f} %" for method, y in found.items())
    return f"Test accuracy after {ROUNDS} rounds, by what is trained: {told}." if told else ALONE


def _accuracy(result: Result) -> float:
    return 100 - float(result["error"])


def _fastest(points: Sequence[Point]) -> str:
    ours = [p for p in points if p.ours and p.method.startswith("ProtoNN (opt")]
    theirs = {p.dataset: p for p in points if not p.ours and p.method.startswith("ProtoNN (opt")}
    ratios = [theirs[p.dataset].y / p.y for p in ours if p.dataset in theirs]
    if not ratios:
        return ALONE
    span = f"{min(ratios):.1f} to {max(ratios):.1f}"
    return f"Our integer ProtoNN answers {span} times as fast as the published one."


def _published_bars(metric: str) -> list[Point]:
    accuracies = {(p.dataset, p.method): p.y for p in paperdata.points("protonn", "Figure 4", "accuracy_pct")}
    found = paperdata.points("protonn", "Figure 4", metric)
    return [replace(p, label=f"{accuracies[p.dataset, p.method]:.1f} %") for p in found]


def _smallest(points: Sequence[Point]) -> str:
    """Where the shapes are smallest the difference is largest, says the paper."""
    told = []
    for panel, own in by(points, lambda point: point.dataset).items():
        least = min(point.x or 0 for point in own)
        here = {point.method: point.y for point in own if point.x == least}
        told += [f"{panel} = {least:g}: {', '.join(f'{name} {y:.1f} %' for name, y in here.items())}"]
    return f"{'; '.join(told)}." if told else ALONE


def _against_published(points: Sequence[Point]) -> str:
    theirs = {(p.dataset, p.method): p.y for p in points if not p.ours}
    ours = [p for p in points if p.ours and (p.dataset, p.method) in theirs]
    told = [f"{p.dataset} {p.method} {p.y - theirs[p.dataset, p.method]:+.2f}" for p in ours]
    return f"Against the published: {', '.join(told)} points." if told else ALONE


SPECS = (
    Spec(
        "protonn",
        "fig1",
        "Figure 1: accuracy against model size, compressed methods",
        partial(draw.curves, x="model size, kB (ours: flash)", y="test accuracy, %"),
        partial(sizes.leader, size=16.0),
        partial(sizes.compressed, datasets=DATASETS),
        lambda: paperdata.points("protonn", "Figure 1", "accuracy_pct"),
        x="kB",
        y="accuracy, %",
    ),
    Spec(
        "protonn",
        "tables12",
        "Tables 1–2: against models without a limit",
        partial(draw.dots, x="test accuracy, %"),
        partial(sizes.against, method="ProtoNN", other="kNN"),
        _unlimited,
        lambda: paperdata.points("protonn", "Tables 1-2", "accuracy_pct"),
        y="accuracy, %",
    ),
    Spec(
        "protonn",
        "fig2",
        "Figure 2, right: label sets",
        partial(draw.dots, x="precision, %"),
        _against_published,
        _label_sets,
        _published_label_sets,
        y="precision, %",
    ),
    Spec(
        "protonn",
        "fig3",
        "Figure 3: against SNC and BNC over prototypes and projection size",
        partial(draw.curves, x="prototypes m, or dimensions d", y="test accuracy, %"),
        _smallest,
        _embeddings,
        x="m or d",
        y="accuracy, %",
    ),
    Spec(
        "protonn",
        "fig4-time",
        "Figure 4: prediction time on the Arduino Uno",
        partial(draw.bars, y="ms a prediction"),
        _fastest,
        published=partial(_published_bars, "uno_ms"),
        device=partial(device.points, figure=device.milliseconds, method=device.as_in_protonn),
        more_is_better=False,
        unit="ms",
        y="ms",
    ),
    Spec(
        "protonn",
        "fig4-energy",
        "Figure 4: energy on the Arduino Uno (ours modelled)",
        partial(draw.bars, y="mJ a prediction"),
        lambda points: f"No contest: {device.CHIP_ALONE}.",
        published=partial(_published_bars, "uno_mJ"),
        device=partial(device.points, figure=device.millijoules, method=device.as_in_protonn),
        more_is_better=False,
        unit="mJ",
        y="mJ",
        caveat=device.CHIP_ALONE,
    ),
    Spec(
        "protonn",
        "fig4-accuracy",
        "Figure 4: accuracy of the models on its bars",
        partial(draw.dots, x="test accuracy, %"),
        _against_published,
        published=lambda: paperdata.points("protonn", "Figure 4", "accuracy_pct"),
        device=partial(device.points, figure=device.percent, method=device.as_in_protonn),
        y="accuracy, %",
    ),
    Spec(
        "protonn",
        "fig5",
        "Figure 5: which of W, B and Z is trained",
        partial(draw.curves, x="round of alternating minimisation", y="test accuracy, %", log=False),
        _last,
        _joint,
        x="round",
        y="accuracy, %",
    ),
)
