"""Bars: prediction time with the accuracy on top, and flash and RAM against the board's limits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.report import numbers, theme
from harness.report.area import Area, text_width
from harness.report.published import by_time
from harness.report.rundata import Panel, Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PITCH = 23.0
"""From bar to bar."""
THICKNESS = 0.62
HEAD = 40.0
FOOT = 34.0
NAME_SIZE = 10.5
MOST = 24
"""Bars of ours in a panel; where there are more rows, the most accurate ones have one."""
LOG_FROM = 12.0
"""Slowest over fastest from which bars of one linear scale would be hairlines."""


@dataclass(frozen=True)
class Bar:
    """One line of the time plot."""

    name: str
    ms: float
    accuracy: float
    colour: str
    ours: bool
    solid: bool


def named(panel: Panel) -> list[tuple[str, Row]]:
    """The rows that have a bar, in the panel's order, and what they are called among all of its rows."""
    ranked = sorted(panel.rows, key=lambda row: row.accuracy or 0, reverse=True)
    chosen = set(ranked[:MOST])
    return [(label, row) for label, row in zip(panel.labels(), panel.rows, strict=True) if row in chosen]


def _left_out(panel: Panel) -> str:
    count = len(panel.rows)
    return f"the {MOST} most accurate of {count}" if count > MOST else ""


def _heading(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


def time_height(panel: Panel) -> float:
    bars = time_bars(panel)
    return HEAD + FOOT + PITCH * (len(bars) + _gap(bars))


def _gap(bars: list[Bar]) -> int:
    """A line of its own announces the published ones."""
    return 0 if all(bar.ours for bar in bars) else 1


def time_bars(panel: Panel) -> list[Bar]:
    """Ours from fast to slow, then what was published for the same chip."""
    ours = [
        Bar(label, row.ms, row.accuracy, theme.colour(row.model), True, row.numbers != "float32")
        for label, row in named(panel)
        if row.ms and row.accuracy is not None
    ]
    theirs = []
    if panel.is_published_chip:
        theirs = [
            Bar(item.title + _form(item.method), item.uno_ms, item.accuracy, theme.MUTED.light, False, False)
            for item in by_time(panel.dataset)
            if item.uno_ms and item.accuracy is not None
        ]
    return sorted(ours, key=lambda bar: bar.ms) + sorted(theirs, key=lambda bar: bar.ms)


def draw_time(area: Area, panel: Panel) -> None:
    bars = time_bars(panel)
    slowest, fastest = max(bar.ms for bar in bars), min(bar.ms for bar in bars)
    logarithmic = slowest / fastest >= LOG_FROM
    unit = f"ms{' (logarithmic)' if logarithmic else ''}"
    area.heading(panel.title, _heading("time of one prediction", unit, _left_out(panel)))
    gutter = max(text_width(bar.name, NAME_SIZE) for bar in bars) + 10
    ours = sum(bar.ours for bar in bars)
    names = [bar.name for bar in bars]
    axes = _rows(area, gutter, 4, [*names[:ours], *(["published"] * _gap(bars)), *names[ours:]])
    for label in axes.get_yticklabels()[ours:]:
        label.set_color(theme.MUTED.light)
    # The tip of the longest bar leaves room for its label.
    room = max(text_width(_tip(bar), NAME_SIZE, bold=True) for bar in bars) + 14
    start = _time_scale(axes, fastest, slowest, logarithmic, 1 - room / (area.width - gutter - 4))
    lines = [number if bar.ours else number + _gap(bars) for number, bar in enumerate(bars)]
    axes.barh(
        lines,
        [bar.ms - start for bar in bars],
        THICKNESS,
        left=start,
        color=[_face(bar) for bar in bars],
        edgecolor=[bar.colour for bar in bars],
        linewidth=1,
        zorder=2,
    )
    for line, bar in zip(lines, bars, strict=True):
        accuracy = numbers.percent(bar.accuracy)
        _beside(axes, bar.ms, line, accuracy, weight="bold" if bar.ours else "normal")
        offset = 5 + text_width(accuracy, NAME_SIZE, bar.ours) + 6
        _beside(axes, bar.ms, line, numbers.milliseconds(bar.ms), offset, color=theme.MUTED.light)


def _time_scale(axes: Axes, fastest: float, slowest: float, logarithmic: bool, share: float) -> float:
    """Scale the axis so that the longest bar takes `share` of it; the time at which bars begin."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

    start = 0.0
    if logarithmic:
        start = 10.0 ** math.floor(math.log10(fastest * 0.85))  # even the shortest bar is to be seen
        axes.set_xscale("log")
        axes.set_xlim(start, start * (slowest / start) ** (1 / share))
        decades = range(round(math.log10(start)), math.ceil(math.log10(slowest)) + 1)
        axes.xaxis.set_major_locator(FixedLocator([10.0**power for power in decades]))
    else:
        axes.set_xlim(0, slowest / share)
        axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.grid(axis="x")
    return start


def _face(bar: Bar) -> str:
    """Full colour for integers, a tint for float, nothing for what others published."""
    if not bar.ours:
        return theme.PAPER.light
    return bar.colour if bar.solid else theme.tint(bar.colour)


def describe_time(panel: Panel) -> str:
    told = [
        f"{'' if bar.ours else 'published '}{bar.name} {numbers.milliseconds(bar.ms)} "
        f"at {numbers.percent(bar.accuracy)} accuracy"
        for bar in time_bars(panel)
    ]
    what = _heading(f"Time of one prediction on {panel.title}", _left_out(panel))
    return f"{what}: {'; '.join(told)}."


def memory_height(panel: Panel) -> float:
    return HEAD + FOOT + PITCH * min(MOST, len(panel.rows))


def draw_memory(area: Area, panel: Panel) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter

    area.heading(_heading(panel.title, _left_out(panel)), "")
    names, rows = zip(*named(panel), strict=True)
    gutter = max(text_width(name, NAME_SIZE) for name in names) + 10
    width = (area.width - gutter - 24) / 2
    flash_limit, ram_limit = _limits(panel)
    for x, parts in ((gutter, "flash: model + code"), (gutter + width + 20, "RAM: static + stack")):
        area.text(x, area.height - 29, parts, size=10.5, color=theme.MUTED.light, va="center")
    flash = _rows(area, gutter, area.width - gutter - width, list(names))
    ram = _rows(area, gutter + width + 20, 4, [""] * len(names))
    for axes, limit in ((flash, flash_limit), (ram, ram_limit)):
        axes.set_xlim(0, limit)
        axes.axvline(limit, color=theme.INK.light, lw=1.4, clip_on=False)
        axes.xaxis.set_major_locator(FixedLocator([0, limit]))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: numbers.of_bytes(value)))
        axes.get_xticklabels()[0].set_horizontalalignment("left")
        axes.get_xticklabels()[-1].set_horizontalalignment("right")
    colours = [theme.colour(row.model) for row in rows]
    flashes = [(row.flash_model or 0, (row.flash_total or 0) - (row.flash_model or 0)) for row in rows]
    _stack(flash, flashes, colours, flash_limit, width)
    _stack(ram, [(row.ram_static or 0, row.stack_peak or 0) for row in rows], colours, ram_limit, width)


def describe_memory(panel: Panel) -> str:
    flash_limit, ram_limit = _limits(panel)
    told = [
        f"{name} {numbers.of_bytes(row.flash_total or 0)} of flash, {numbers.of_bytes(row.ram or 0)} of RAM"
        for name, row in named(panel)
    ]
    limits = f"{numbers.of_bytes(flash_limit)} of flash and {numbers.of_bytes(ram_limit)} of RAM"
    what = _heading(f"Memory used on {panel.title}", _left_out(panel))
    return f"{what}, where the board has {limits}: {'; '.join(told)}."


def _limits(panel: Panel) -> tuple[int, int]:
    """The board's flash and RAM; of a board that is not known, the most that any row used."""
    if panel.limits:
        return panel.limits.flash_bytes, panel.limits.ram_bytes
    return max(row.flash_total or 1 for row in panel.rows), max(row.ram or 1 for row in panel.rows)


def _form(method: str) -> str:
    """Which of a paper's two forms a method is, where it has two."""
    return " float" if "float" in method else " optimised" if "optimized" in method else ""


def _tip(bar: Bar) -> str:
    return f"{numbers.percent(bar.accuracy)}  {numbers.milliseconds(bar.ms)}"


def _rows(area: Area, left: float, right: float, names: list[str]) -> Axes:
    """Axes with a named line a bar, the first on top."""
    from matplotlib.ticker import FixedFormatter, FixedLocator

    axes = area.axes(left, FOOT - 8, area.width - left - right, PITCH * len(names))
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.yaxis.set_major_locator(FixedLocator(list(range(len(names)))))
    axes.yaxis.set_major_formatter(FixedFormatter(names))
    axes.tick_params(axis="y", length=0, labelcolor=theme.INK.light, labelsize=NAME_SIZE)
    axes.tick_params(axis="x", length=0)
    axes.spines["bottom"].set_visible(False)
    return axes


def _beside(axes: Axes, x: float, line: int, text: str, offset: float = 5, **style: Any) -> None:
    axes.annotate(
        text,
        (x, line),
        (offset, 0),
        textcoords="offset points",
        va="center_baseline",
        size=NAME_SIZE,
        bbox=theme.HALO,
        annotation_clip=False,
        **style,
    )


def _stack(axes: Axes, parts: list[tuple[int, int]], colours: list[str], limit: int, width: float) -> None:
    """Two parts of a whole, and their sum at the tip, or before it where the bar leaves no room."""
    lines = list(range(len(parts)))
    first, second = [one for one, _ in parts], [other for _, other in parts]
    axes.barh(lines, first, THICKNESS, color=colours, linewidth=0, zorder=2)
    faint = [theme.tint(colour) for colour in colours]
    axes.barh(lines, second, THICKNESS, left=first, color=faint, linewidth=0, zorder=2)
    for line, total in zip(lines, map(sum, parts), strict=True):
        text = numbers.of_bytes(total)
        if text_width(text, NAME_SIZE) + 8 <= width * (1 - total / limit):
            _beside(axes, total, line, text)
        else:
            _beside(axes, total, line, text, -4, ha="right")
