"""What a figure is: cells that trials fill, published points beside them, a picture and a sentence."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from harness.figures.trials import Result, Trial
from models.datasets import CATALOGUE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Results = Mapping[Trial, Result]
LARGE = 20_000
"""Training samples beyond which a trial takes so long that a fast plan spares what it can."""
ALONE = "Drawn from published numbers alone: nothing of ours could be computed here."


@dataclass(frozen=True)
class Plan:
    """How much work the figures may be."""

    effort: str
    seeds: tuple[int, ...]
    on_large: int | None = None
    """How many of the seeds large data get; None: all."""

    def seeds_for(self, dataset: str) -> tuple[int, ...]:
        entry = CATALOGUE.get(dataset)
        return self.seeds[: self.on_large] if entry and entry.train > LARGE else self.seeds

    def __str__(self) -> str:
        seeds = f"{len(self.seeds)} seed{'s' if len(self.seeds) > 1 else ''}"
        fewer = self.on_large is not None and self.on_large < len(self.seeds)
        return f"effort {self.effort}, {seeds}" + (
            f" ({self.on_large} on data of more than {LARGE:,} samples)" if fewer else ""
        )

    @property
    def thorough(self) -> bool:
        return self.effort != "fast"


@dataclass(frozen=True)
class Point:
    """One number of a figure: ours with its spread over seeds, or published."""

    dataset: str
    method: str
    x: float | None
    y: float
    sd: float = 0.0
    seeds: int = 0
    """None where it is published."""
    label: str = ""
    """What a bar says beside its height, or what is to be known about the number."""

    @property
    def ours(self) -> bool:
        return self.seeds > 0


@dataclass(frozen=True)
class Cell:
    """A point of ours before it is computed: one trial with every seed."""

    dataset: str
    method: str
    trial: Trial
    y: Callable[[Result], float]
    x: float | Callable[[Result], float] | None = None
    label: str = ""
    """What is to be known about it beside its numbers."""

    def trials(self, plan: Plan) -> list[Trial]:
        return [replace(self.trial, seed=seed) for seed in plan.seeds_for(self.trial.dataset)]

    def points(self, plan: Plan, results: Results) -> list[Point]:
        """The mean of the seeds; nothing where none could be done."""
        usable = [results[trial] for trial in self.trials(plan) if "missing" not in results[trial]]
        if not usable:
            return []
        values = [self.y(result) for result in usable]
        x = statistics.mean(map(self.x, usable)) if callable(self.x) else self.x
        sd = statistics.stdev(values) if len(values) > 1 else 0.0
        return [Point(self.dataset, self.method, x, statistics.mean(values), sd, len(values), self.label)]


@dataclass(frozen=True)
class Spec:
    """One table or figure of a paper."""

    paper: str
    name: str
    title: str
    picture: Callable[[Sequence[Point]], Figure]
    line: Callable[[Sequence[Point]], str]
    """What it shows, in a sentence computed from the points."""
    cells: Callable[[Plan], list[Cell]] = lambda plan: []
    published: Callable[[], list[Point]] = list
    device: Callable[[Sequence[Any]], list[Point]] | None = None
    """Points from the rows of the suite `paper`, for what only a board can tell."""
    scene: Callable[[Plan, Results], Figure | None] | None = None
    """A picture of what trials found in full, instead of one of points; None where they found nothing."""
    more_is_better: bool = True
    unit: str = "%"
    x: str = "x"
    y: str = "y"
    caveat: str = ""
    """Why ours and the published numbers are not quite of the same kind."""

    def trials(self, plan: Plan) -> list[Trial]:
        return [trial for cell in self.cells(plan) for trial in cell.trials(plan)]

    def figure(self, plan: Plan, results: Results, points: Sequence[Point]) -> Figure:
        drawn = self.scene(plan, results) if self.scene else None
        return drawn or self.picture(points)

    def points(self, plan: Plan, results: Results, rows: Sequence[Any]) -> list[Point]:
        ours = [point for cell in self.cells(plan) for point in cell.points(plan, results)]
        return [*(self.device(rows) if self.device else []), *ours, *self.published()]


def by(points: Iterable[Point], key: Callable[[Point], str]) -> dict[str, list[Point]]:
    """Points in groups, in the order of their first."""
    groups: dict[str, list[Point]] = {}
    for point in points:
        groups.setdefault(key(point), []).append(point)
    return groups
