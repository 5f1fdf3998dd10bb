"""The pictures that most figures are: curves, dots and bars. Ours are filled, published ones hollow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.figures.spec import Point, by
from harness.report import theme

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 4.2, 3.4
"""Inches of a panel."""
MARKERS = "osD^vP*Xh<>pd8"
SIDE = 0.21
"""Half of the way between our bar and the published one."""
SHORT = 10
"""Characters of a text that fits on a bar."""
LEAST_BARS = 4
"""Methods that a panel has room for at least, so that a bar is never a block."""
CYCLE = (
    "#0063a6", "#00735a", "#b54a00", "#9b3583", "#775a00", "#46515c", "#c1272d", "#3b7a00", "#5a4fcf",
    "#006d77", "#a3005c", "#7f4f24", "#4f7cac", "#8a7f00",
)  # fmt: skip
"""Dark enough to be read on paper; a marker of its own tells each method from its neighbours."""


def curves(points: Sequence[Point], *, x: str, y: str, log: bool = True) -> Figure:
    """A panel a dataset, a curve a method."""
    groups = by(points, lambda point: point.dataset)
    styles = _styles(points)
    figure, panels = _panels(len(groups))
    for axes, (dataset, own) in zip(panels, groups.items(), strict=True):
        for method, line in by(own, lambda point: point.method).items():
            _curve(axes, method, line, styles[method])
        if log:
            axes.set_xscale("log", base=2)
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.set_title(_title(dataset, own), loc="left", weight="bold")
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        axes.grid(axis="y")
    _legend(figure, panels)
    return figure


def dots(points: Sequence[Point], *, x: str) -> Figure:
    """A panel a dataset, a line a method; ours and the published value on the same line."""
    groups = by(points, lambda point: point.dataset)
    most = max((len({point.method for point in own}) for own in groups.values()), default=1)
    figure, panels = _panels(len(groups), height=max(1.8, 0.3 * most + 1.1))
    for axes, (dataset, own) in zip(panels, groups.items(), strict=True):
        methods = list(dict.fromkeys(point.method for point in own))
        for point in own:
            place = len(methods) - methods.index(point.method)
            _dot(axes, point, place)
        axes.set_yticks(range(len(methods), 0, -1), methods)
        axes.set_ylim(0.3, len(methods) + 0.7)
        axes.set_title(_title(dataset, own, "\n"), loc="left", weight="bold")
        axes.set_xlabel(x)
        axes.grid(axis="x")
    _ours_and_published(figure, "o")
    return figure


def bars(points: Sequence[Point], *, y: str) -> Figure:
    """A panel a dataset, and for each method our bar beside the published one, with a text on it."""
    groups = by(points, lambda point: point.dataset)
    figure, panels = _panels(len(groups), height=4.0)
    for axes, (dataset, own) in zip(panels, groups.items(), strict=True):
        methods = list(dict.fromkeys(point.method for point in own))
        for point in own:
            _bar(axes, point, methods.index(point.method) + (-SIDE if point.ours else SIDE))
        axes.set_xticks(range(len(methods)), methods, rotation=35, ha="right", rotation_mode="anchor", size=8)
        axes.set_title(_title(dataset, own), loc="left", weight="bold")
        axes.set_ylabel(y)
        axes.set_yscale("log")
        _whole_decades(axes, [point.y for point in own])
        axes.set_xlim(-0.6, max(len(methods), LEAST_BARS) - 0.4)
    _ours_and_published(figure, "s")
    return figure


def _whole_decades(axes: Axes, values: Sequence[float]) -> None:
    """From a power of ten on, so that bars of several panels can be told long or short."""
    low = 10.0 ** math.floor(math.log10(min(values)) - 0.05)
    axes.set_ylim(low, max(values) * (max(values) / low) ** 0.22)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_minor_formatter(lambda value, _: "")


def _bar(axes: Axes, point: Point, place: float) -> None:
    colour = CYCLE[0] if point.ours else theme.MUTED.light
    axes.bar(
        place,
        point.y,
        1.8 * SIDE,
        color=colour if point.ours else "none",
        edgecolor=colour,
        yerr=point.sd or None,
    )
    # Bars with long remarks stand for what was modelled: that is in the caption and the CSV.
    text = point.label if len(point.label) <= SHORT else ""
    axes.annotate(
        text, (place, point.y), (0, 3), textcoords="offset points", ha="center", size=6.5, rotation=90
    )


def _title(dataset: str, points: Sequence[Point], gap: str = " ") -> str:
    return dataset if any(point.ours for point in points) else f"{dataset}{gap}(published alone)"


def _ours_and_published(figure: Figure, marker: str) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], ls="", marker=marker, color=CYCLE[0], label="ours"),
        Line2D([], [], ls="", marker=marker, mfc="none", mec=theme.MUTED.light, label="published"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False)


def _panels(count: int, height: float = HEIGHT) -> tuple[Figure, list[Axes]]:
    from matplotlib.figure import Figure

    columns = {1: 1, 2: 2, 4: 2}.get(max(1, count), 3 if count <= 6 else 4)
    rows = math.ceil(max(1, count) / columns)
    figure = Figure((columns * WIDTH, rows * height + 0.5), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    panels = [axes for line in grid for axes in line]
    for axes in panels[count:]:
        axes.set_axis_off()
    return figure, panels[:count]


def _styles(points: Sequence[Point]) -> dict[str, tuple[str, str]]:
    methods = list(dict.fromkeys(point.method for point in points))
    return {
        method: (CYCLE[number % len(CYCLE)], MARKERS[number % len(MARKERS)])
        for number, method in enumerate(methods)
    }


def _curve(axes: Axes, method: str, line: Sequence[Point], style: tuple[str, str]) -> None:
    colour, marker = style
    for ours in (True, False):
        own = sorted((point for point in line if point.ours == ours), key=lambda point: point.x or 0)
        if not own:
            continue
        axes.errorbar(
            [point.x or 0 for point in own],
            [point.y for point in own],
            [point.sd for point in own] if ours else None,
            color=colour,
            marker=marker,
            ms=6,
            mfc=colour if ours else "none",
            lw=1.4 if ours else 0.9,
            ls="-" if ours else ":",
            capsize=2,
            label=method if ours else f"{method}, published",
        )


def _dot(axes: Axes, point: Point, place: float) -> None:
    if point.ours:
        axes.errorbar(point.y, place, xerr=point.sd or None, color=CYCLE[0], marker="o", ms=7, capsize=2)
    else:
        axes.plot(point.y, place, "o", ms=8, mfc="none", mec=theme.MUTED.light, mew=1.4)


def _legend(figure: Figure, panels: Sequence[Axes]) -> None:
    """One for all panels, each method once."""
    named: dict[str, Artist] = {}
    for axes in panels:
        handles, labels = axes.get_legend_handles_labels()
        for handle, label in zip(handles, labels, strict=True):
            named.setdefault(label, handle)
    if named:
        columns = min(6, max(2, len(named) // 3 + 1))
        figure.legend(
            named.values(), named, loc="outside lower center", ncols=columns, frameon=False, fontsize=8
        )
