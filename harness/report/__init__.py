"""What a run becomes: tables, plots, and one page to send to a colleague."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.report.everything import ReportFiles


def make(folder: Path) -> ReportFiles:
    """Read the run in `folder` and write its tables, plots and page there."""
    # What draws takes long to load, and a comparison only reads runs.
    from harness.report import everything

    return everything.make(folder)
