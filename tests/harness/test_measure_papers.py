"""What is kept of the regenerated figures, and what is said of two calls."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness import paths
from harness.measure import papers
from harness.measure.papers import Call


def written(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name, "utf8")


def test_points_verdicts_and_rows_are_kept_but_no_pictures_and_no_samples(tmp_path: Path) -> None:
    made, folder = tmp_path / "made", tmp_path / "papers"
    wanted = ("paper-vs-ours.md", "npc/fig2.csv", "run/rows.csv", "run/run.json")
    written(made, *wanted, "npc/fig2.png", "run/samples.csv", "index.md")
    written(folder, "snc/of-an-earlier-time.csv")
    papers.keep(made, folder)
    assert {str(path.relative_to(folder)) for path in folder.rglob("*.*")} == set(wanted)


def test_time_cores_and_cells_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = {"figures": [{}, {}], "won": 9, "cells": 10}
    calls = iter([Call(1800.0, 1.9, told), Call(30.0, 1.0, told)])
    monkeypatch.setattr(papers, "_call", lambda made, cache: next(calls))
    monkeypatch.setattr(paths, "project", lambda: tmp_path)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    cold, warm, cores, cells = papers.regenerated()
    assert (cold.measured, warm.measured, cores.measured, cells.measured) == (30.0, 30.0, 95.0, 90.0)
    assert all(figure.reached for figure in (cold, warm, cores, cells))
