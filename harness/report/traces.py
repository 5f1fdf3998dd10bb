"""The supply current of every job, as its meter recorded it, and the windows its energy was taken from."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.errors import RunFolderError
from harness.power import storage
from harness.power.base import MODELLED, Floats, Trace
from harness.power.storage import Recording
from harness.report import numbers, theme
from harness.report.area import Area
from harness.report.plots import Plot
from harness.report.rundata import Panel, Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HEIGHT = 176.0
STEPS = 300
"""A trace with more samples than a picture has points is drawn as a band from the lowest to the highest."""
ROOM_ABOVE = 1.15


@dataclass(frozen=True)
class TracePanel(Panel):
    """One job and what its meter has seen."""

    recording: Recording | None = None


def panels(run: Run) -> list[TracePanel]:
    """A panel a recording; a file that is gone or cannot be read has none, and the report goes on without.

    Modelled currents of a board have the same two levels in every job, so that the first stands for all.
    """
    found = []
    by_key = {row.key: row for row in run.measured}
    modelled: set[str] = set()
    for key, name in _files(run.about):
        row = by_key.get(key)
        if row is None or (row.energy_kind == MODELLED and row.board in modelled):
            continue
        with contextlib.suppress(RunFolderError):
            recording = storage.load(run.folder / name)
            found.append(TracePanel(row.dataset, row.board, (row,), None, run.on_one_board, recording))
            modelled |= {row.board} if row.energy_kind == MODELLED else set()
    return found


def _files(about: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], str]]:
    jobs = about.get("jobs")
    for job in jobs.values() if isinstance(jobs, dict) else ():
        energy = job.get("energy") if isinstance(job, dict) else None
        for name in energy.get("traces", []) if isinstance(energy, dict) else []:
            yield tuple(job.get("key", ())), str(name)


def _recording(panel: Panel) -> Recording:
    assert isinstance(panel, TracePanel) and panel.recording is not None
    return panel.recording


def draw(area: Area, panel: Panel) -> None:
    recording = _recording(panel)
    trace, (row,) = recording.trace, panel.rows
    area.heading(
        f"{panel.title}, {panel.labels()[0]}", f"supply current, mA, {trace.kind}{_by(recording, trace)}"
    )
    axes = area.axes(34, 36, area.width - 40, area.height - 82)
    colour = theme.colour(row.model)
    begin = float(trace.time[0])
    for span in recording.spans:
        axes.axvspan(span.start - begin, span.end - begin, color=theme.RULE.light, lw=0, zorder=0)
    if len(trace.time) > STEPS:
        _band(axes, trace, colour)
    else:
        milliamperes = 1e3 * np.append(trace.current, trace.current[-1])
        axes.step(trace.edges - begin, milliamperes, where="post", color=colour, lw=1.2, zorder=2)
    axes.set_xlim(0, trace.seconds)
    axes.set_ylim(min(0.0, 1e3 * float(trace.current.min())), ROOM_ABOVE * 1e3 * float(trace.current.max()))
    axes.set_xlabel("seconds", color=theme.MUTED.light, size=10.5)
    axes.grid(axis="y")


def _band(axes: Axes, trace: Trace, colour: str) -> None:
    """Lowest, mean and highest of each step."""
    begins = np.linspace(0, len(trace.time), STEPS + 1).astype(int)
    moments: Floats = trace.edges[begins] - trace.time[0]
    pieces = [1e3 * trace.current[first:last] for first, last in pairwise(begins)]
    low, high = ([float(pick(piece)) for piece in pieces] for pick in (np.min, np.max))
    mean = [float(piece.mean()) for piece in pieces]
    axes.fill_between(moments[:-1], low, high, step="post", color=theme.tint(colour), lw=0, zorder=1)
    axes.step(moments[:-1], mean, where="post", color=colour, lw=1.0, zorder=2)


def _by(recording: Recording, trace: Trace) -> str:
    meter = str(recording.about.get("meter", ""))
    return f" by {meter}" if meter and meter != trace.kind else ""


def describe(panel: Panel) -> str:
    recording = _recording(panel)
    trace = recording.trace
    inside = np.zeros(len(trace.time), bool)
    for span in recording.spans:
        inside |= (trace.time >= span.start) & (trace.time < span.end)
    levels = [
        f"{numbers.significant(1e3 * float(trace.current[where].mean()))}{numbers.THIN}mA {words}"
        for where, words in ((inside, "in the windows"), (~inside, "between them"))
        if where.any()
    ]
    what = f"Supply current of {panel.labels()[0]} on {panel.title}, {trace.kind}{_by(recording, trace)}"
    length = f"{numbers.significant(trace.seconds)}{numbers.THIN}s"
    return f"{what}, over {length} with {len(recording.spans)} windows: {', '.join(levels)}."


PLOT = Plot(
    "current",
    "Supply current",
    "As the meter recorded it, or as it was modelled: predictions are repeated in the grey windows, and the "
    "board is idle between them. A modelled one has the same two levels in every job, so that one stands for "
    "all. The raw traces are in traces/.",
    "",
    lambda panel: isinstance(panel, TracePanel) and panel.recording is not None,
    draw,
    lambda _: HEIGHT,
    describe,
)
