"""What the Bonsai paper shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec

from harness.figures import cloud, device, draw, paperdata, sizes
from harness.figures.spec import ALONE, Cell, Plan, Point, Spec
from harness.figures.trials import Result, Trial
from harness.report.rundata import Row
from models.datasets import CATALOGUE

MANY = ("usps-10", "mnist-10", "letter-26")
ABLATIONS: dict[str, dict[str, int | str]] = {
    "random init, no retraining": {"start_steps": 0, "final_steps": 0},
    "no retraining": {"final_steps": 0},
    "full": {},
    "sparse PCA projection": {"projection": "sparse-pca"},
}
"""Table 4's rows, as options of the paper's solver."""
ON_SPARSE_PCA = {
    "Pruned tree": "models.trees:PrunedTreeClassifier",
    "Decision Jungle": "models.jungle:JungleClassifier",
    "RBF-SVM": "models.references:RBFSVMReference",
}
"""Its other rows: models that learn behind the same kind of projection."""
ABLATED = "usps-2"
ABLATED_PART = 2000
"""Samples that Table 4 learns from where the effort is fast: the paper's solver looks at all in each step."""
DIMENSIONS, DENSITY = 10, 0.2
BONSAI = "Bonsai"
SMALL = 400
"""Bytes in integers of what takes 2 kB in floats."""


def _unlimited(plan: Plan) -> list[Cell]:
    datasets = (*sizes.BINARY, *MANY)
    ours = [replace(cell, x=None) for cell in sizes.compressed(plan, datasets, ("bonsai",), largest=True)]
    return [*ours, *sizes.unlimited(plan, datasets)]


def _ablation(plan: Plan) -> list[Cell]:
    """The paper's is on chars4k-2, which cannot be had; the first of ours that can is taken."""
    some: dict[str, int] = {} if plan.thorough else {"samples": ABLATED_PART}
    note = "" if plan.thorough else f"learnt from {ABLATED_PART} of {CATALOGUE[ABLATED].train} samples"
    own = [
        Cell(ABLATED, method, _paper_trial(options, some), _accuracy, label=note)
        for method, options in ABLATIONS.items()
    ]
    others = [
        Cell(
            ABLATED,
            f"{method} + sparse PCA",
            Trial.of(
                "on_sparse_pca",
                ABLATED,
                estimator=estimator,
                dimensions=DIMENSIONS,
                density=DENSITY,
                **some,
            ),
            _accuracy,
            label=note,
        )
        for method, estimator in ON_SPARSE_PCA.items()
        if find_spec(estimator.partition(":")[0])
    ]
    return [*own, *others]


def _paper_trial(options: dict[str, int | str], some: dict[str, int]) -> Trial:
    params = {
        "solver": "paper",
        "paper": options,
        "depth": 2,
        "projection_dim": DIMENSIONS,
        "density": DENSITY,
    }
    return Trial.of("fit", ABLATED, estimator="models.bonsai:BonsaiClassifier", params=params, **some)


def _accuracy(result: Result) -> float:
    return 100 - float(result["error"])


def _worth(points: Sequence[Point]) -> str:
    found = {point.method: point.y for point in points if point.ours}
    if "full" not in found:
        return ALONE
    told = [f"{name} {y - found['full']:+.1f}" for name, y in found.items() if name != "full"]
    return f"Against the full training on {ABLATED} (the paper's chars4k-2 cannot be had): {', '.join(told)}."


def _both_forms(plan: Plan) -> list[Cell]:
    """Bonsai twice: in integers of true flash bytes, and in floats as the paper counts them."""
    datasets = (*sizes.BINARY, *MANY)
    cells = sizes.compressed(plan, datasets)
    small = [
        Cell(
            dataset, BONSAI, sizes.trial(plan, dataset, "bonsai", SMALL), sizes.percent, sizes.flash_kilobytes
        )
        for dataset in sizes.BINARY
    ]
    found = []
    for cell in [*small, *cells]:
        if cell.method == BONSAI:
            found.append(replace(cell, y=_float_accuracy, x=_float_kilobytes))
            found.append(replace(cell, method=f"{BONSAI}Opt"))
        else:
            found.append(cell)
    return found


def _float_accuracy(result: Result) -> float:
    return 100 * float(result["float_accuracy"])


def _float_kilobytes(result: Result) -> float:
    return float(result["float_bytes"]) / 1024


def _published_forms() -> list[Point]:
    forms = {"BonsaiOpt": "BonsaiOpt"}
    return [
        *paperdata.points("bonsai", "Tables 2-3", "accuracy_pct", methods={BONSAI: BONSAI}),
        *paperdata.points("bonsai", "Table 5", "accuracy_pct", methods=forms, size="model_kB"),
    ]


def _published_unlimited() -> list[Point]:
    """Bonsai is there at two sizes: the larger one stands beside models without a limit."""
    largest: dict[tuple[str, str], Point] = {}
    for point in paperdata.points("bonsai", "Tables 2-3", "accuracy_pct"):
        before = largest.get((point.dataset, point.method))
        if before is None or (before.x or 0) < (point.x or 0):
            largest[point.dataset, point.method] = point
    return [replace(point, x=None) for point in largest.values()]


def _cloud(y: Callable[[str, Result], float], note: str, plan: Plan) -> list[Cell]:
    """Boosted trees on a server, behind the paper's radio."""
    return [
        replace(cell, method=cloud.METHOD, y=partial(y, cell.dataset), label=note or cell.label)
        for cell in sizes.unlimited(plan, sizes.BINARY)
        if cell.method == "GBDT"
    ]


def _cheapest(points: Sequence[Point]) -> str:
    """Ours in integers against the published ones."""
    ours = {p.dataset: p.y for p in points if p.ours and p.method == "BonsaiOpt"}
    theirs = {p.dataset: p.y for p in points if not p.ours and p.method == "BonsaiOpt"}
    told = [f"{theirs[name] / y:.1f} times less on {name}" for name, y in ours.items() if name in theirs]
    return f"Our BonsaiOpt against the published one: {', '.join(told)}." if told else ALONE


def _of_optimised(points: Sequence[Point]) -> str:
    told = [f"{p.y:.3g} on {p.dataset}" for p in points if p.ours and p.method == "BonsaiOpt"]
    return f"Our BonsaiOpt: {', '.join(told)}." if told else ALONE


def _column(
    name: str,
    words: str,
    metric: str,
    *,
    y: str,
    unit: str,
    figure: Callable[[Row], float | None],
    sent: Callable[[str, Result], float],
    note: str = "",
    line: Callable[[Sequence[Point]], str] = _of_optimised,
    caveat: str = "",
) -> Spec:
    """One of Table 5's four: the devices' from the suite's rows, the cloud's from the model of its radio."""
    draws = partial(draw.bars, y=y) if unit != "%" else partial(draw.dots, x=y)
    return Spec(
        "bonsai",
        f"table5-{name}",
        f"Table 5: {words}",
        draws,
        line,
        cells=partial(_cloud, sent, note),
        published=lambda: paperdata.points("bonsai", "Table 5", metric),
        device=partial(device.points, figure=figure, method=device.as_in_bonsai),
        more_is_better=unit == "%",
        unit=unit,
        y=unit,
        caveat=caveat,
    )


def _features(dataset: str) -> int:
    return CATALOGUE[dataset].features


MODELLED = "radio modelled as in the paper"
TABLE_5 = (
    _column(
        "size",
        "size of the model (ours: flash of the same number format)",
        "model_kB",
        y="model size, kB",
        unit="kB",
        figure=device.kilobytes,
        sent=lambda dataset, result: float(result["paper_kB"]),
    ),
    _column(
        "accuracy",
        "accuracy on the Arduino Uno",
        "accuracy_pct",
        y="test accuracy, %",
        unit="%",
        figure=device.percent,
        sent=lambda dataset, result: sizes.percent(result),
    ),
    _column(
        "time",
        "prediction time on the Arduino Uno (cloud: its radio, modelled)",
        "uno_ms",
        y="ms a prediction",
        unit="ms",
        figure=device.milliseconds,
        sent=lambda dataset, result: cloud.milliseconds(_features(dataset)),
        note=MODELLED,
        line=_cheapest,
    ),
    _column(
        "energy",
        "energy on the Arduino Uno (ours modelled; cloud: its radio, modelled)",
        "uno_mJ",
        y="mJ a prediction",
        unit="mJ",
        figure=device.millijoules,
        sent=lambda dataset, result: cloud.millijoules(_features(dataset)),
        note=MODELLED,
        line=lambda points: f"No contest: {device.CHIP_ALONE}.",
        caveat=device.CHIP_ALONE,
    ),
)

SPECS = (
    Spec(
        "bonsai",
        "fig12",
        "Figures 1–2: accuracy against model size",
        partial(draw.curves, x="model size, kB (ours: flash)", y="test accuracy, %"),
        partial(sizes.leader, size=16.0),
        _both_forms,
        _published_forms,
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
        _published_unlimited,
        y="accuracy, %",
    ),
    Spec(
        "bonsai",
        "table4",
        "Table 4: what each part of the training is worth",
        partial(draw.dots, x="test accuracy, %"),
        _worth,
        _ablation,
        lambda: paperdata.points("bonsai", "Table 4", "accuracy_pct"),
        y="accuracy, %",
    ),
    *TABLE_5,
)
