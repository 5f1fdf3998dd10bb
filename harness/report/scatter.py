"""Accuracy against the bytes of the model, every point named."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from harness.report import numbers, theme
from harness.report.area import Area, text_width
from harness.report.labels import FAR, Box, Point, distance, place
from harness.report.published import Published, by_size
from harness.report.rundata import Panel, Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HEIGHT = 286.0
CROWD, ROOM = 8, 14.0
"""So many points can be named at that height; each one more needs a line."""
LABEL_SIZE = 10.5
LABEL_HEIGHT = 12.0


def height(panel: Panel) -> float:
    return HEIGHT + ROOM * max(0, len(points(panel)) - CROWD)


def points(panel: Panel) -> list[Row]:
    """The rows that have both figures."""
    return [row for row in panel.rows if row.flash_model and row.accuracy is not None]


def draw(area: Area, panel: Panel) -> None:
    published = by_size(panel.dataset)
    rows = points(panel)
    area.heading(panel.dataset, "test accuracy, %")
    axes = area.axes(30, 40, area.width - 34, area.height - 84)
    _scales(axes, rows, published)
    for row in rows:
        _point(axes, row)
    for title in dict.fromkeys(row.title for row in rows):
        budgets = sorted((row for row in rows if row.title == title), key=lambda row: row.flash_model or 0)
        line = [(row.flash_model or 0, 100 * (row.accuracy or 0)) for row in budgets]
        axes.plot(*zip(*line, strict=True), color=theme.colour(budgets[0].model), lw=1.2, zorder=3)
    for curve in curves(published):
        sizes, accuracies = zip(*map(_where, curve), strict=True)
        axes.plot(sizes, accuracies, "-", color=theme.MUTED.light, lw=0.8, alpha=0.5, zorder=1)
        axes.plot(
            sizes, accuracies, "o", ms=6, mfc=theme.PAPER.light, mec=theme.MUTED.light, mew=1.2, zorder=2
        )
    _name(axes, rows, published)


def describe(panel: Panel) -> str:
    ours = [
        f"{label} {numbers.percent(row.accuracy)} at {numbers.of_bytes(row.flash_model)}"
        for label, row in zip(panel.labels(), panel.rows, strict=True)
        if row.accuracy is not None and row.flash_model is not None
    ]
    theirs = [
        f"{item.title} {numbers.percent(item.accuracy or 0)} at {numbers.kilobytes(item.size or 0)}"
        for item in by_size(panel.dataset)
    ]
    published = f" Published: {'; '.join(theirs)}." if theirs else ""
    return f"Test accuracy against model size on {panel.dataset}: {'; '.join(ours)}.{published}"


def _where(item: Published) -> tuple[float, float]:
    return item.size or 0.0, 100 * (item.accuracy or 0.0)


def curves(published: list[Published]) -> list[list[Published]]:
    """A method's points in the order of their size; a method is named once, at its last."""
    curves: dict[str, list[Published]] = {}
    for item in sorted(published, key=lambda item: item.size or 0.0):
        curves.setdefault(item.title, []).append(item)
    return list(curves.values())


def _interval(row: Row) -> tuple[float, float]:
    low, high = row.interval or (row.accuracy or 0.0, row.accuracy or 0.0)
    return 100 * low, 100 * high


def _scales(axes: Axes, rows: list[Row], published: list[Published]) -> None:
    """Sizes double from tick to tick; the accuracies get the room that they and their intervals need."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

    sizes = [float(row.flash_model or 1) for row in rows] + [item.size or 1.0 for item in published]
    lowest, highest = math.log2(min(sizes)), math.log2(max(sizes))
    spare = max(0.28 * (highest - lowest), 0.75)
    axes.set_xscale("log", base=2)
    axes.set_xlim(2 ** (lowest - spare * 0.4), 2 ** (highest + spare))
    first, last = math.ceil(lowest - spare * 0.4), math.floor(highest + spare)
    step = math.ceil((last - first + 1) / 7)
    axes.xaxis.set_major_locator(FixedLocator([2.0**power for power in range(first, last + 1, step)]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: numbers.kilobytes(value)))
    axes.set_xlabel("size of the model", color=theme.MUTED.light, size=10.5)

    values = [bound for row in rows for bound in _interval(row)] + [_where(item)[1] for item in published]
    bottom, top = min(values), max(values)
    room = max(0.08 * (top - bottom), 0.4)
    axes.set_ylim(bottom - room, min(top + room, 100.6))
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    axes.grid(axis="y")
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)


def _point(axes: Axes, row: Row) -> None:
    colour = theme.colour(row.model)
    size, accuracy = float(row.flash_model or 0), 100 * (row.accuracy or 0)
    axes.plot([size, size], _interval(row), color=colour, lw=1, alpha=0.55, zorder=3, solid_capstyle="butt")
    axes.plot(
        size,
        accuracy,
        theme.MARKERS.get(row.numbers, "^"),
        ms=7.5,
        mfc=colour,
        mec=theme.PAPER.light,
        zorder=4,
    )


def _name(axes: Axes, rows: list[Row], published: list[Published]) -> None:
    """A label a model, beside whichever of its points has room; ours first, and always."""
    names = [(row.title, theme.colour(row.model), True) for row in rows]
    names += [(item.title, theme.MUTED.light, False) for item in published]
    spots = [(float(row.flash_model or 0), 100 * (row.accuracy or 0)) for row in rows]
    spots += [_where(item) for item in published]
    anchors = [
        Point(float(x), float(y), text_width(name, LABEL_SIZE, ours), LABEL_HEIGHT, f"{name} {ours}", ours)
        for (x, y), (name, _, ours) in zip(axes.transData.transform(spots), names, strict=True)
    ]
    whiskers = []
    for row in rows:
        tips = axes.transData.transform([(float(row.flash_model or 0), end) for end in _interval(row)])
        whiskers.append(Box(tips[0][0] - 1, tips[0][1], tips[0][0] + 1, tips[1][1]))
    frame = axes.get_window_extent()
    boxes = place(anchors, Box(frame.x0, frame.y0, frame.x1 + 4, frame.y1 + 10), whiskers)
    for (name, colour, ours), spot, anchor, box in zip(names, spots, anchors, boxes, strict=True):
        if box is not None:
            axes.annotate(
                name,
                spot,
                (box.left - anchor.x, (box.bottom + box.top) / 2 - anchor.y),
                textcoords="offset points",
                color=colour,
                size=LABEL_SIZE,
                weight="bold" if ours else "normal",
                va="center_baseline",
                bbox=theme.HALO,
                arrowprops=_line(colour) if distance(box, anchor) >= FAR else None,
                annotation_clip=False,
                zorder=5,
            )


def _line(colour: str) -> dict[str, Any]:
    """From a label that had to move away to its point."""
    return {"arrowstyle": "-", "color": colour, "lw": 0.7, "shrinkA": 0, "shrinkB": 4, "relpos": (0.5, 0.5)}
