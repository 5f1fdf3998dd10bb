"""Accuracy against what it costs (bytes, time, energy), every point named, the best of each price joined."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.report import numbers, theme
from harness.report.area import Area, text_width
from harness.report.labels import FAR, Box, Point, distance, place
from harness.report.published import Published, by_energy, by_size, by_time
from harness.report.rundata import Panel, Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HEIGHT = 286.0
CROWD, ROOM = 8, 14.0
"""So many names have room at that height; each one more needs a line."""
MOST_TOLD = 12
"""Points that a description names one by one; of more, those that no other beats."""
LABEL_SIZE = 10.5
LABEL_HEIGHT = 12.0


@dataclass(frozen=True)
class Cost:
    """What accuracy is paid with: a figure of ours, and the papers' like it."""

    label: str
    """Of the axis."""
    name: str
    """In a sentence."""
    of: Callable[[Row], float | None]
    published: Callable[[Panel], list[Published]]
    of_published: Callable[[Published], float | None]
    show: Callable[[float], str]
    """A round value on the axis, or a published one."""
    say: Callable[[float], str]
    """Ours, with all digits that are known."""
    base: int
    """Of the logarithmic axis."""
    by_meter: bool = False
    """It is measured or modelled, which has to be said."""

    def ours(self, panel: Panel) -> list[tuple[Row, float]]:
        """The rows that have both figures."""
        found = [(row, self.of(row)) for row in panel.rows if row.accuracy is not None]
        return [(row, cost) for row, cost in found if cost]

    def kind(self, ours: list[tuple[Row, float]]) -> str:
        """Whether energies are measured or modelled; nothing where it is not energy that is paid."""
        kinds = sorted({row.energy_kind for row, _ in ours}) if self.by_meter else []
        return f", {' and '.join(kinds)}" if kinds else ""

    def theirs(self, panel: Panel) -> list[tuple[Published, float]]:
        found = [(item, self.of_published(item)) for item in self.published(panel)]
        return [(item, cost) for item, cost in found if cost]


def _uno(found: Callable[[str], list[Published]]) -> Callable[[Panel], list[Published]]:
    """What the papers measured on the Uno's chip says nothing of another."""
    return lambda panel: found(panel.dataset) if panel.is_published_chip else []


SIZE = Cost(
    "size of the model",
    "model size",
    lambda row: row.flash_model,
    lambda panel: by_size(panel.dataset),
    lambda item: item.size,
    numbers.kilobytes,
    numbers.of_bytes,
    2,
)
TIME = Cost(
    "time of one prediction",
    "prediction time",
    lambda row: row.ms,
    _uno(by_time),
    lambda item: item.uno_ms,
    lambda value: f"{value:g}{numbers.THIN}ms",
    numbers.milliseconds,
    10,
)
ENERGY = Cost(
    "energy of one prediction",
    "energy",
    lambda row: row.energy_uJ,
    _uno(by_energy),
    lambda item: item.uno_uJ,
    lambda value: f"{value:g}{numbers.THIN}µJ",
    numbers.microjoules,
    10,
    by_meter=True,
)


def height(cost: Cost, panel: Panel) -> float:
    names = {row.title for row, _ in cost.ours(panel)}
    return HEIGHT + ROOM * max(0, len(names) - CROWD)


def shows(cost: Cost, panel: Panel) -> bool:
    return bool(cost.ours(panel))


def front(points: list[tuple[Row, float]]) -> list[tuple[Row, float]]:
    """Those that no other beats in both accuracy and price, cheapest first."""
    best: list[tuple[Row, float]] = []
    for row, cost in sorted(points, key=lambda point: (point[1], -(point[0].accuracy or 0))):
        if row.ok and (not best or (row.accuracy or 0) > (best[-1][0].accuracy or 0)):
            best.append((row, cost))
    return best


def draw(cost: Cost, area: Area, panel: Panel) -> None:
    published, ours = cost.theirs(panel), cost.ours(panel)
    area.heading(panel.title, "test accuracy, %")
    axes = area.axes(30, 40, area.width - 34, area.height - 84)
    _scales(cost, axes, ours, published)
    _front(axes, front(ours))
    for row, price in ours:
        _point(axes, row, price)
    for title in dict.fromkeys(row.title for row, _ in ours):
        line = sorted((price, _percent(row)) for row, price in ours if row.title == title)
        model = next(row.model for row, _ in ours if row.title == title)
        axes.plot(*zip(*line, strict=True), color=theme.colour(model), lw=1.2, zorder=3)
    for curve in curves(published):
        costs, accuracies = zip(*((price, _percent(item)) for item, price in curve), strict=True)
        axes.plot(costs, accuracies, "-", color=theme.MUTED.light, lw=0.8, alpha=0.5, zorder=1)
        axes.plot(
            costs, accuracies, "o", ms=6, mfc=theme.PAPER.light, mec=theme.MUTED.light, mew=1.2, zorder=2
        )
    _name(axes, ours, published)


def describe(cost: Cost, panel: Panel) -> str:
    names = dict(zip(panel.rows, panel.labels(), strict=True))
    ours, best = cost.ours(panel), front(cost.ours(panel))
    crowded = len(ours) > MOST_TOLD
    told = "; ".join(_said(names[row], row, cost.say(price)) for row, price in (best if crowded else ours))
    theirs = [_said(item.title, item, cost.show(price)) for item, price in cost.theirs(panel)]
    published = f" Published: {'; '.join(theirs)}." if theirs else ""
    what = f"Test accuracy against {cost.name}{cost.kind(ours)} on {panel.title}"
    if crowded:
        return f"{what}, {len(ours)} models, of which unbeaten in both: {told}.{published}"
    unbeaten = f" Unbeaten in both: {', '.join(names[row] for row, _ in best)}." if best else ""
    return f"{what}: {told}.{unbeaten}{published}"


def _said(name: str, point: Row | Published, price: str) -> str:
    return f"{name} {numbers.percent(point.accuracy or 0)} at {price}"


def _percent(point: Row | Published) -> float:
    return 100 * (point.accuracy or 0.0)


def curves(published: list[tuple[Published, float]]) -> list[list[tuple[Published, float]]]:
    """A method's points in the order of their price; a method is named once, at its last."""
    curves: dict[str, list[tuple[Published, float]]] = {}
    for item, price in sorted(published, key=lambda point: point[1]):
        curves.setdefault(item.title, []).append((item, price))
    return list(curves.values())


def _interval(row: Row) -> tuple[float, float]:
    low, high = row.interval or (row.accuracy or 0.0, row.accuracy or 0.0)
    return 100 * low, 100 * high


def _scales(
    cost: Cost, axes: Axes, ours: list[tuple[Row, float]], published: list[tuple[Published, float]]
) -> None:
    """Prices grow by the same factor from tick to tick; accuracies get the room that they need."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

    prices = [price for _, price in ours] + [price for _, price in published]
    lowest, highest = math.log(min(prices), cost.base), math.log(max(prices), cost.base)
    spare = max(0.28 * (highest - lowest), math.log(1.7, cost.base))
    start, end = lowest - spare * 0.4, highest + spare
    axes.set_xscale("log", base=cost.base)
    axes.set_xlim(cost.base**start, cost.base**end)
    axes.xaxis.set_major_locator(FixedLocator(_ticks(cost.base, start, end)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: cost.show(value)))
    axes.set_xlabel(f"{cost.label}{cost.kind(ours)}", color=theme.MUTED.light, size=10.5)

    values = [bound for row, _ in ours for bound in _interval(row)] + [
        _percent(item) for item, _ in published
    ]
    bottom, top = min(values), max(values)
    room = max(0.08 * (top - bottom), 0.4)
    axes.set_ylim(bottom - room, min(top + room, 100.6))
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    axes.grid(axis="y")
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)


def _ticks(base: int, start: float, end: float) -> list[float]:
    """Whole powers; of ten, where they are few, some between them too."""
    powers = range(math.floor(start), math.ceil(end) + 1)
    decades = math.inf if base != 10 else end - start
    steps = (1, 2, 5) if decades < 1.5 else (1, 3) if decades < 3 else (1,)
    ticks = [step * float(base) ** power for power in powers for step in steps]
    inside = [tick for tick in ticks if base**start <= tick <= base**end]
    return inside[:: math.ceil(len(inside) / 7)] if inside else inside


def _front(axes: Axes, best: list[tuple[Row, float]]) -> None:
    """A step line: between two of its points, what the cheaper one gives is the best to be had."""
    if len(best) < 2:
        return
    prices = [price for _, price in best]
    axes.step(
        prices,
        [_percent(row) for row, _ in best],
        where="post",
        color=theme.MUTED.light,
        lw=3.5,
        alpha=0.28,
        zorder=1,
        solid_joinstyle="round",
    )


def _point(axes: Axes, row: Row, price: float) -> None:
    from matplotlib.lines import Line2D

    colour = theme.colour(row.model)
    style: dict[str, Any] = {"color": colour, "lw": 1, "alpha": 0.55, "solid_capstyle": "butt"}
    whisker = Line2D([price, price], _interval(row), zorder=3, **style)
    point = Line2D([price], [_percent(row)], ls="", marker=theme.MARKERS.get(row.numbers, "^"), zorder=4)
    point.set(markersize=7.5, markerfacecolor=colour, markeredgecolor=theme.PAPER.light, url=f"#{row.anchor}")
    # The scales are set already: plot() would work them out anew with every point.
    axes.add_artist(whisker)
    axes.add_artist(point)


def _name(axes: Axes, ours: list[tuple[Row, float]], published: list[tuple[Published, float]]) -> None:
    """A label a model, beside whichever of its points has room; ours first, and always."""
    names = [(row.title, theme.colour(row.model), True) for row, _ in ours]
    names += [(item.title, theme.MUTED.light, False) for item, _ in published]
    spots = [(price, _percent(row)) for row, price in ours]
    spots += [(price, _percent(item)) for item, price in published]
    anchors = [
        Point(float(x), float(y), text_width(name, LABEL_SIZE, own), LABEL_HEIGHT, f"{name} {own}", own)
        for (x, y), (name, _, own) in zip(axes.transData.transform(spots), names, strict=True)
    ]
    whiskers = []
    for row, price in ours:
        tips = axes.transData.transform([(price, end) for end in _interval(row)])
        whiskers.append(Box(tips[0][0] - 1, tips[0][1], tips[0][0] + 1, tips[1][1]))
    frame = axes.get_window_extent()
    boxes = place(anchors, Box(frame.x0, frame.y0, frame.x1 + 4, frame.y1 + 10), whiskers)
    for (name, colour, own), spot, anchor, box in zip(names, spots, anchors, boxes, strict=True):
        if box is not None:
            axes.annotate(
                name,
                spot,
                (box.left - anchor.x, (box.bottom + box.top) / 2 - anchor.y),
                textcoords="offset points",
                color=colour,
                size=LABEL_SIZE,
                weight="bold" if own else "normal",
                va="center_baseline",
                bbox=theme.HALO,
                arrowprops=_line(colour) if distance(box, anchor) >= FAR else None,
                annotation_clip=False,
                zorder=5,
            )


def _line(colour: str) -> dict[str, Any]:
    """From a label that had to move away to its point."""
    return {"arrowstyle": "-", "color": colour, "lw": 0.7, "shrinkA": 0, "shrinkB": 4, "relpos": (0.5, 0.5)}
