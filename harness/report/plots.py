"""The plots of a run: accuracy against size, time with accuracy, and what is left of the board.

Each plot is drawn a panel (a dataset on a board) at a time into an Area, so that the same code makes the
picture of all panels for a paper and the single ones of the page, which reflow on a phone.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from harness.report import bars, scatter, theme
from harness.report import svg as svg_element
from harness.report.area import POINTS_PER_INCH, Area
from harness.report.rundata import Panel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 374.0
"""Of a panel in points: what a phone shows without scaling the type down."""
MARGIN = 12.0
COLUMNS = 2
PNG_DPI = 200
MOST_PANELS = 24
"""Of a plot: nobody looks through more, and a page should open at once."""


@dataclass(frozen=True)
class Plot:
    name: str
    title: str
    caption: str
    hollow: str
    """What the hollow points or bars are, said where there are any."""
    shows: Callable[[Panel], bool]
    """Whether the panel has anything to draw."""
    draw: Callable[[Area, Panel], None]
    height: Callable[[Panel], float]
    describe: Callable[[Panel], str]
    """The plot in words, for those who can't see it."""
    has_published: Callable[[Panel], bool] = lambda _: False
    """Whether anything hollow is in the panel."""

    def drawn(self, panels: Sequence[Panel]) -> list[Panel]:
        """Those that have something to draw and for which there is room."""
        return [panel for panel in panels if self.shows(panel)][:MOST_PANELS]

    def note(self, panels: Sequence[Panel]) -> str:
        """How to read what is drawn of these panels, and what is not."""
        drawn, shown = self.drawn(panels), sum(map(self.shows, panels))
        hollow = self.hollow if any(map(self.has_published, drawn)) else ""
        left_out = f"Drawn are the first {len(drawn)} of {shown}." if shown > len(drawn) else ""
        return " ".join(part for part in (self.caption, hollow, left_out) if part)


def _pareto(name: str, title: str, caption: str, hollow: str, cost: scatter.Cost) -> Plot:
    return Plot(
        name,
        title,
        caption,
        hollow,
        partial(scatter.shows, cost),
        partial(scatter.draw, cost),
        partial(scatter.height, cost),
        partial(scatter.describe, cost),
        lambda panel: bool(cost.theirs(panel)),
    )


PLOTS = (
    _pareto(
        "accuracy",
        "Accuracy against model size",
        "Measured here, at the model's bytes in flash, with the 95 % interval of the accuracy. "
        "The broad line joins what no other beats in both.",
        "Hollow: published, at the size the paper gives.",
        scatter.SIZE,
    ),
    _pareto(
        "accuracy-time",
        "Accuracy against prediction time",
        "The median of one prediction, computing only.",
        "Hollow: published for the same chip.",
        scatter.TIME,
    ),
    _pareto(
        "accuracy-energy",
        "Accuracy against energy",
        "Of one prediction; the axis says whether it is measured or modelled.",
        "Hollow: published for the same chip, measured.",
        scatter.ENERGY,
    ),
    Plot(
        "time",
        "Prediction time",
        "On the bars: accuracy and the median time of one prediction, computing only.",
        "Hollow: published for the same chip.",
        lambda panel: any(bar.ours for bar in bars.time_bars(panel)),
        bars.draw_time,
        bars.time_height,
        bars.describe_time,
        lambda panel: any(not bar.ours for bar in bars.time_bars(panel)),
    ),
    Plot(
        "memory",
        "Flash and RAM of the board",
        "The full width is all that the board has. Strong: the model, and static RAM. "
        "Faint: the rest of the code, and the stack at its deepest.",
        "",
        lambda panel: any(row.flash_total for row in panel.rows),
        bars.draw_memory,
        bars.memory_height,
        bars.describe_memory,
    ),
)


def save(plot: Plot, panels: Sequence[Panel], folder: Path) -> list[Path]:
    """The picture of all panels as SVG and PNG."""
    with theme.applied():
        figure = _together(plot, panels)
        svg, png = folder / f"{plot.name}.svg", folder / f"{plot.name}.png"
        svg.write_text(_svg(figure), encoding="utf8")
        figure.savefig(png, dpi=PNG_DPI, metadata={"Software": None})
    return [svg, png]


def inline(plot: Plot, panel: Panel) -> str:
    """One panel as an SVG element for the page: its colours follow the theme, its ids are its own."""
    with theme.applied():
        height = plot.height(panel)
        figure = _figure(WIDTH, height)
        plot.draw(Area(figure, 0, 0, WIDTH, height), panel)
        svg = _svg(figure)
    name = " ".join((panel.dataset, panel.board, *(row.anchor for row in panel.rows)))
    prefix = f"{plot.name}-{zlib.crc32(name.encode()):08x}-"
    links = {row.anchor: label for row, label in zip(panel.rows, panel.labels(), strict=True)}
    return theme.to_variables(svg_element.embed(svg, prefix, plot.describe(panel), links))


def _together(plot: Plot, panels: Sequence[Panel]) -> Figure:
    """All panels in two columns, each row as high as its highest panel."""
    columns = min(COLUMNS, len(panels))
    lines = [panels[start : start + columns] for start in range(0, len(panels), columns)]
    heights = [max(plot.height(panel) for panel in line) for line in lines]
    width = columns * WIDTH + (columns + 1) * MARGIN
    height = sum(heights) + (len(lines) + 1) * MARGIN
    figure = _figure(width, height)
    top = height - MARGIN
    for line, tallest in zip(lines, heights, strict=True):
        for column, panel in enumerate(line):
            own = plot.height(panel)
            plot.draw(Area(figure, MARGIN + column * (WIDTH + MARGIN), top - own, WIDTH, own), panel)
        top -= tallest + MARGIN
    return figure


def _figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure((width / POINTS_PER_INCH, height / POINTS_PER_INCH), dpi=POINTS_PER_INCH)


def _svg(figure: Figure) -> str:
    """Without date and version, so that the same run gives the same file."""
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return svg_element.own_fonts(text.getvalue())
