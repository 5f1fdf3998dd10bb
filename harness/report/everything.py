"""From a run folder to everything a reader wants of it, written beside the rows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness.errors import RunFolderError
from harness.report import latex, page, plots, tables, traces
from harness.report.rundata import Run, read


@dataclass(frozen=True)
class ReportFiles:
    """What was written."""

    run: Run
    page: Path
    tables: tuple[Path, ...]
    plots: tuple[Path, ...]


def make(folder: Path) -> ReportFiles:
    """Read the run in `folder` and write its tables, plots and page there."""
    run = read(folder)
    try:
        return _write(run)
    except OSError as error:
        raise RunFolderError(
            f"The report cannot be written to {folder}: {error.strerror}.",
            "Copy the folder to where you may write, and report that.",
        ) from error


def _write(run: Run) -> ReportFiles:
    texts = {
        "table.md": tables.markdown(run),
        "table.csv": tables.comma_separated(run),
        "table.tex": latex.table(run),
        "report.html": page.render(run),
    }
    for name, text in texts.items():
        (run.folder / name).write_text(text, encoding="utf8")
    pictures: list[Path] = []
    for plot in (*plots.PLOTS, traces.PLOT):
        shown = plot.drawn(traces.panels(run) if plot is traces.PLOT else run.panels())
        if shown:
            pictures += plots.save(plot, shown, run.folder)
    *written, html = (run.folder / name for name in texts)
    return ReportFiles(run, html, tuple(written), tuple(pictures))
