"""What a click on a job shows: its figures, where its cycles go, and which classes it confuses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from harness.report import tables
from harness.report.rundata import Row, Run
from harness.report.runfiles import Confusion

WORTH_TELLING = ("compiler", "flags", "timing", "simulator", "streaming", "clipped", "resent", "restarts")
STAGE = ("name", "what", "cycles", "floor")
MOST_CLASSES = 30
"""What a matrix is read with; of more classes the commonest mistakes are told."""
MOST_MISTAKES = 20


def as_json(run: Run) -> str:
    """For a script element: every job by its anchor. `<` is written so that no text can end the element."""
    known = _by_key(run.about)
    names = {
        row: f"{label} on {panel.title}"
        for panel in run.panels()
        for row, label in zip(panel.rows, panel.labels(), strict=True)
    }
    jobs = {row.anchor: _job(run, row, names[row], known.get(row.key, {})) for row in run.measured}
    return json.dumps(jobs, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _by_key(about: Mapping[str, Any]) -> dict[tuple[str, ...], Mapping[str, Any]]:
    jobs = about.get("jobs")
    found = jobs.values() if isinstance(jobs, dict) else ()
    return {tuple(job["key"]): job for job in found if isinstance(job, dict) and "key" in job}


def _job(run: Run, row: Row, name: str, about: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "figures": [
            [column.name, f"{column.text(row)} {column.unit}"]
            for column in tables.columns(run)
            if column.value(row) is not None
        ],
        "about": [[key, _word(about[key])] for key in WORTH_TELLING if about.get(key) not in (None, "", 0)],
        "stages": [{key: stage.get(key) for key in STAGE} for stage in about.get("stages", [])],
        "confusion": _confusion(run.confusions.get(row.key)),
        "status": "" if row.ok else f"{row.status}: {row.reason}",
    }


def _word(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _confusion(counts: Confusion | None) -> dict[str, Any]:
    """Labels, and each count that is not zero as (true, found, count) by the labels' places."""
    if not counts:
        return {}
    labels = sorted({name for pair in counts for name in pair}, key=_natural)
    if len(labels) > MOST_CLASSES:
        return {"mistakes": _mistakes(counts), "classes": len(labels)}
    place = {label: number for number, label in enumerate(labels)}
    cells = sorted((place[label], place[found], count) for (label, found), count in counts.items())
    return {"labels": labels, "cells": cells}


def _mistakes(counts: Confusion) -> list[tuple[str, str, int]]:
    """The commonest first; those that are as common in the order of their labels."""
    wrong = [(label, found, count) for (label, found), count in counts.items() if label != found]
    return sorted(wrong, key=lambda one: (-one[2], _natural(one[0]), _natural(one[1])))[:MOST_MISTAKES]


def _natural(label: str) -> tuple[int, float, str]:
    """Numbers by their value, then words by their letters."""
    try:
        return 0, float(label), ""
    except ValueError:
        return 1, 0.0, label
