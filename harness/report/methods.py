"""What was measured, and how: the circumstances without which a figure means nothing."""

from __future__ import annotations

from typing import Any

from harness.report import tables
from harness.report.rundata import Run


def title(run: Run) -> str:
    """Which suite on which board, real or simulated."""
    panels = run.panels()
    boards = list(dict.fromkeys(panel.limits.title if panel.limits else panel.board for panel in panels))
    suite = str(run.about.get("suite", "run"))
    simulated = " (simulated)" if any(row.target == "simavr" for row in run.rows) else ""
    return f"{suite} on {', '.join(boards)}{simulated}" if boards else suite


def list_all(run: Run) -> list[tuple[str, str]]:
    """Terms and what they were in this run; what run.json does not tell is left out."""
    about = run.about
    board = next((panel.limits for panel in run.panels() if panel.limits), None)
    entries: list[tuple[str, Any]] = [("suite", about.get("suite"))]
    if board:
        mhz = f"{board.clock_hz / 1e6:g} MHz"
        entries.append(("board", f"{board.title}, {board.mcu} at {mhz}"))
    entries += [
        ("prediction time", "compute only"),
        ("energy", tables.energy_kind(run.measured)),
        ("compiler", about.get("compiler")),
        ("flags", about.get("flags")),
    ]
    return [(term, str(text)) for term, text in entries if text]
