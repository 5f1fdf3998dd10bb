"""What a run becomes: tables, plots, and one page to send to a colleague."""

from __future__ import annotations

from harness.report.everything import ReportFiles, make

__all__ = ["ReportFiles", "make"]
