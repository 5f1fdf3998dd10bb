"""What the Bonsai paper shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from harness.figures import device, draw, paperdata, sizes
from harness.figures.spec import ALONE, Cell, Plan, Point, Spec
from harness.figures.trials import Result, Trial

MANY = ("usps-10", "mnist-10", "letter-26")
ABLATIONS: dict[str, dict[str, int | str]] = {
    "random init, no retraining": {"start_steps": 0, "final_steps": 0},
    "no retraining": {"final_steps": 0},
    "full": {},
    "sparse PCA projection": {"projection": "sparse-pca"},
}
"""Table 4's rows, as options of the paper's solver."""


def _unlimited(plan: Plan) -> list[Cell]:
    datasets = (*sizes.BINARY, *MANY)
    ours = [replace(cell, x=None) for cell in sizes.compressed(plan, datasets, ("bonsai",), largest=True)]
    return [*ours, *sizes.unlimited(plan, datasets)]


def _ablation(plan: Plan) -> list[Cell]:
    return [
        Cell(dataset, method, _paper_trial(dataset, options), _accuracy)
        for dataset in ("usps-2",)
        for method, options in ABLATIONS.items()
    ]


def _paper_trial(dataset: str, options: dict[str, int | str]) -> Trial:
    params = {"solver": "paper", "paper": options, "depth": 2, "projection_dim": 10, "density": 0.2}
    return Trial.of("fit", dataset, estimator="models.bonsai:BonsaiClassifier", params=params)


def _accuracy(result: Result) -> float:
    return 100 - float(result["error"])


def _cheapest(points: Sequence[Point]) -> str:
    ours = [p for p in points if p.ours]
    if not ours:
        return ALONE
    best = min(ours, key=lambda point: point.y)
    return f"Fastest of ours: {best.method} on {best.dataset}, {best.y:.3g} ms at {best.label}."


SPECS = (
    Spec(
        "bonsai",
        "fig12",
        "Figures 1–2: accuracy against model size",
        partial(draw.curves, x="model size, kB (ours: flash)", y="test accuracy, %"),
        partial(sizes.leader, size=2.0),
        partial(sizes.compressed, datasets=(*sizes.BINARY, *MANY)),
        lambda: paperdata.points("bonsai", "Tables 2-3", "accuracy_pct", methods={"Bonsai": "Bonsai"}),
        x="kB",
        y="accuracy, %",
    ),
    Spec(
        "bonsai",
        "tables23",
        "Tables 2–3: against models without a limit",
        partial(draw.dots, x="test accuracy, %"),
        partial(sizes.against, method="Bonsai", other="RBF-SVM"),
        _unlimited,
        lambda: [replace(p, x=None) for p in paperdata.points("bonsai", "Tables 2-3", "accuracy_pct")],
        y="accuracy, %",
    ),
    Spec(
        "bonsai",
        "table4",
        "Table 4: what each part of the training is worth",
        partial(draw.dots, x="test accuracy, %"),
        lambda points: "The paper's ablation is on chars4k-2, which cannot be had; ours is on usps-2.",
        _ablation,
        lambda: paperdata.points("bonsai", "Table 4", "accuracy_pct"),
        y="accuracy, %",
    ),
    Spec(
        "bonsai",
        "table5-time",
        "Table 5: prediction time on the Arduino Uno",
        partial(draw.bars, y="ms a prediction"),
        _cheapest,
        published=lambda: paperdata.points("bonsai", "Table 5", "uno_ms", datasets=sizes.BINARY),
        device=partial(device.points, figure=lambda row: row.ms, method=device.as_in_bonsai),
        more_is_better=False,
        unit="ms",
        y="ms",
    ),
)
