"""What the SNC paper shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from harness.figures import draw, paperdata, surfaces
from harness.figures.spec import ALONE, LARGE, Cell, Plan, Point, Results, Spec, by
from harness.figures.surfaces import Surface
from harness.figures.trials import Result, Trial
from models.datasets import CATALOGUE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DATASETS = ("isolet", "letter-26", "adult", "usps-10", "mnist-10")
NOISE_ON = "letter-26"
SNC = "models.snc:SNCClassifier"
CONDENSED = "models.prototypes:CondensedPrototypes"
SAMPLED = "models.prototypes:SampledPrototypes"
NEIGHBOURS = "models.references:KNNReference"
ALL = "1-NN, all data"
FEWER_ITERATIONS = 60
"""Of conjugate gradients, instead of 150, where the effort is fast."""
PLANE_ON = "usps-10"
WIDTHS = (0.5, 8.0)
"""γ² of Figure 4."""


def _ratios(plan: Plan, dataset: str) -> tuple[float, ...]:
    """Of large data, a sixth takes a quarter of an hour."""
    if plan.thorough:
        return (0.01, 0.02, 0.04, 0.08, 0.16)
    return (0.01, 0.04, 0.16) if CATALOGUE[dataset].train <= LARGE else (0.01, 0.04)


def _datasets(plan: Plan) -> tuple[str, ...]:
    """The largest takes the paper's eight cores five hours at 16 %."""
    return DATASETS if plan.thorough else DATASETS[:4]


def _error(result: Result) -> float:
    return float(result["error"])


def _snc(plan: Plan, dataset: str, ratio: float) -> Trial:
    """One trial for errors, training times and searches: its trainings take the longest of all.

    Searches among all data, which are the same for each ratio, are done once where the effort is fast; else
    a trial with all ratios would take hours that none of the cores can share.
    """
    if plan.thorough:
        return Trial.of("searches", dataset, ratios=[ratio], iterations=150, tuning=1000)
    return Trial.of(
        "searches", dataset, ratios=list(_ratios(plan, dataset)), iterations=FEWER_ITERATIONS, tuning=250
    )


def _of(ratio: float, key: str, result: Result) -> float:
    return float(result[f"{ratio:g}"][key])


def _compression(plan: Plan) -> list[Cell]:
    cells = [
        Cell(dataset, method, trial, y, 100 * ratio)
        for dataset in _datasets(plan)
        for ratio in _ratios(plan, dataset)
        for method, trial, y in (
            ("SNC", _snc(plan, dataset, ratio), partial(_of, ratio, "error")),
            ("subsampling", Trial.of("fit", dataset, estimator=SAMPLED, params={"ratio": ratio}), _error),
        )
    ]
    for dataset in _datasets(plan):
        for method, rule in (("CNN", "cnn"), ("FCNN", "fcnn")):
            subset = Trial.of("fit", dataset, estimator=CONDENSED, params={"rule": rule})
            cells.append(Cell(dataset, method, subset, _error, _share))
        whole = Trial.of("fit", dataset, estimator=NEIGHBOURS)
        cells.append(Cell(dataset, ALL, whole, _error, 100.0))
        hashed = _snc(plan, dataset, _ratios(plan, dataset)[0])
        cells.append(Cell(dataset, "1-NN by LSH", hashed, _hashed("error"), _hashed("looked_at", 100)))
    return cells


def _share(result: Result) -> float:
    return 100 * float(result["share"])


def _hashed(key: str, factor: float = 1.0) -> Callable[[Result], float]:
    """Of hashing all data: it keeps them, but compares a sample with few, which is what stands for size."""
    return lambda result: factor * float(result["whole"]["lsh"][key])


def _training_time(plan: Plan) -> list[Cell]:
    return [
        Cell(
            dataset,
            "SNC",
            _snc(plan, dataset, ratio),
            partial(_of, ratio, "seconds"),
            100 * ratio,
        )
        for dataset in _datasets(plan)
        for ratio in _ratios(plan, dataset)
    ]


def _published_time() -> list[Point]:
    found = paperdata.points("snc", "Table 2", "train_time_8core_L5520", datasets=DATASETS)
    return [_percent_in_name(point) for point in found]


def _published_speed(search: str) -> list[Point]:
    found = paperdata.points("snc", "Table 3 left", f"speedup_{search}", datasets=DATASETS)
    return [_percent_in_name(point, f"over {search}") for point in found]


def _percent_in_name(point: Point, method: str = "SNC") -> Point:
    """The paper's methods are called SNC 4%."""
    return Point(point.dataset, method, float(point.method.removeprefix("SNC ").removesuffix("%")), point.y)


def _speed(plan: Plan) -> list[Cell]:
    return [
        Cell(
            dataset,
            f"over {title}",
            _snc(plan, dataset, ratio),
            partial(_speed_up, search, ratio),
            100 * ratio,
        )
        for dataset in _datasets(plan)
        for ratio in _ratios(plan, dataset)
        for search, title in (("exhaustive", "exhaustive"), ("ball_tree", "ball-tree"), ("lsh", "LSH"))
    ]


def _speed_up(search: str, ratio: float, result: Result) -> float:
    """Distances that the whole training set costs, over those that the few cost, by the same search."""
    whole, few = result["whole"][search], result[f"{ratio:g}"][search]
    return float(whole["distances"]) / max(float(few["distances"]), 1e-9)


def _noise(plan: Plan) -> list[Cell]:
    levels = (0.0, 0.05, 0.1, 0.2, 0.3) if plan.thorough else (0.0, 0.1, 0.3)
    iterations = 150 if plan.thorough else FEWER_ITERATIONS
    kinds: dict[str, tuple[str, dict[str, Any]]] = {
        "SNC 4 %": (SNC, {"ratio": 0.04, "max_iter": iterations}),
        "SNC 8 %": (SNC, {"ratio": 0.08, "max_iter": iterations}),
        ALL: (NEIGHBOURS, {}),
        "3-NN, all data": (NEIGHBOURS, {"n_neighbors": 3}),
        "CNN": (CONDENSED, {"rule": "cnn"}),
        "FCNN": (CONDENSED, {"rule": "fcnn"}),
        "subsampling 4 %": (SAMPLED, {"ratio": 0.04}),
    }
    return [
        Cell(
            NOISE_ON,
            method,
            Trial.of("noisy_labels", NOISE_ON, estimator=estimator, noise=level, params=params),
            _error,
            100 * level,
        )
        for method, (estimator, params) in kinds.items()
        for level in levels
    ]


def _plane(plan: Plan) -> list[Cell]:
    return [
        Cell(PLANE_ON, title, _in_plane(), partial(_plane_accuracy, key))
        for title, key in (("start", "start"), *((f"γ² = {width:g}", f"{width:g}") for width in WIDTHS))
    ]


def _in_plane() -> Trial:
    return Trial.of("plane", PLANE_ON, widths=list(WIDTHS))


def _plane_accuracy(key: str, result: Result) -> float:
    return float(result[key]["train"])


def _plane_scene(plan: Plan, results: Results) -> Figure | None:
    result = results[_in_plane()]
    if "missing" in result:
        return None
    panels = [Surface("sampled", result["start"]["points"], result["owners"])]
    panels += [Surface(f"SNC, γ² = {w:g}", result[f"{w:g}"]["points"], result["owners"]) for w in WIDTHS]
    return surfaces.regions(panels, result["x"], result["y"], columns=3)


def _plane_line(points: Sequence[Point]) -> str:
    told = ", ".join(f"{point.method} {point.y:.1f} %" for point in points)
    return f"Training accuracy of 4 % of five digits in a plane: {told}." if told else ALONE


def _against_all(points: Sequence[Point]) -> str:
    """Where 4 % of the data are no worse than all of them."""
    whole = {p.dataset: p.y for p in points if p.method == ALL}
    few = {p.dataset: p.y for p in points if p.method == "SNC" and p.x == 4.0}
    better = [dataset for dataset in few if dataset in whole and few[dataset] <= whole[dataset]]
    if not few:
        return ALONE
    told = ", ".join(better) or "none"
    return f"SNC at 4 % is no worse than 1-NN among all data on {len(better)} of {len(few)} datasets: {told}."


def _growth(points: Sequence[Point]) -> str:
    """How much longer the largest set takes than the smallest: machines differ too much for anything else."""
    told = []
    for dataset, own in by((p for p in points if p.ours), lambda point: point.dataset).items():
        few, many = (pick(own, key=lambda point: point.x or 0) for pick in (min, max))
        told.append(f"{many.y / few.y:.0f} times on {dataset}")
    share = f"{few.x:g} to {many.x:g} %" if told else ""
    return f"From {share} of the data, training takes longer: {', '.join(told)}." if told else ALONE


def _least_speed_up(points: Sequence[Point]) -> str:
    groups = by((p for p in points if p.ours), lambda point: point.method)
    spans = {name: (min(p.y for p in own), max(p.y for p in own)) for name, own in groups.items()}
    told = [f"{low:.1f} to {high:.1f} {name}" for name, (low, high) in spans.items()]
    return f"A compressed set takes fewer distances, by a factor of {'; '.join(told)}." if told else ALONE


def _rise(points: Sequence[Point]) -> str:
    """How much the error grows with the noise."""
    told = []
    for method, own in by(points, lambda point: point.method).items():
        clean, noisy = (pick(own, key=lambda point: point.x or 0) for pick in (min, max))
        told.append(f"{method} from {clean.y:.1f} to {noisy.y:.1f} %")
    return f"Errors with the noise: {', '.join(told)}." if told else ALONE


SPECS = (
    Spec(
        "snc",
        "fig2",
        "Figure 2: error against compression",
        partial(draw.curves, x="% of the training data", y="test error, %"),
        _against_all,
        _compression,
        more_is_better=False,
        x="% kept",
        y="error, %",
    ),
    Spec(
        "snc",
        "table2",
        "Table 2: training time (ours: CPU seconds of one thread; theirs: eight cores of 2009)",
        partial(draw.curves, x="% of the training data", y="seconds"),
        _growth,
        _training_time,
        _published_time,
        more_is_better=False,
        unit="s",
        x="% kept",
        y="seconds",
        caveat="theirs took eight cores of 2009, ours one of today",
    ),
    Spec(
        "snc",
        "table3",
        "Table 3: speed-up of the search (ours: in distances; theirs: in time)",
        partial(draw.curves, x="% of the training data", y="times fewer"),
        _least_speed_up,
        _speed,
        lambda: [p for search in ("exhaustive", "ball-tree", "LSH") for p in _published_speed(search)],
        unit="×",
        x="% kept",
        y="speed-up",
        caveat="ours counts distances, theirs is time",
    ),
    Spec(
        "snc",
        "fig4-boundaries",
        "Figure 4, left: decision regions for two widths of the kernel",
        partial(draw.dots, x="training accuracy, %"),
        _plane_line,
        _plane,
        scene=_plane_scene,
        y="accuracy, %",
    ),
    Spec(
        "snc",
        "fig4-noise",
        "Figure 4, right: labels that are wrong",
        partial(draw.curves, x="% of labels drawn anew", y="test error, %", log=False),
        _rise,
        _noise,
        more_is_better=False,
        x="% noise",
        y="error, %",
    ),
)
