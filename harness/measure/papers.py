"""The papers' figures from nothing and from what is kept: how long they take, and who wins at equal bytes.

Renews results/papers: the verdicts, the points behind every picture, and the rows that a board gave.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import paths
from harness.figures import contest
from harness.figures.everything import PAPERS
from harness.measure.figures import Figure
from models import datasets

KEPT = ("paper-vs-ours.md", *(f"{paper}/*.csv" for paper in PAPERS), "run/rows.csv", "run/run.json")
"""Of what the command writes, that is small enough to be committed."""


@dataclass(frozen=True)
class Call:
    """One call of `kilobench figures`."""

    seconds: float
    cores: float
    """That were busy, on average."""
    told: dict[str, Any]


def regenerated() -> Iterator[Figure]:
    """All of them at effort fast: with an empty cache, and again."""
    made = paths.project() / "results" / "papers.new"
    shutil.rmtree(made, ignore_errors=True)
    with tempfile.TemporaryDirectory() as cache:
        cold, warm = (_call(made, Path(cache)) for _ in range(2))
    keep(made, paths.project() / "results" / "papers")
    count = os.cpu_count() or 1
    figures = f"{len(cold.told['figures'])} figures, all in {made}"
    yield Figure("figures from a cold cache", cold.seconds / 60, 45, " min", at_most=True, detail=figures)
    yield Figure("figures from a warm cache", warm.seconds, 60, " s", at_most=True)
    yield Figure(f"share of {count} cores that is used, cold", 100 * cold.cores / count, 85, " %")
    won, cells = int(cold.told["won"]), int(cold.told["cells"])
    share = 100 * won / cells
    yield Figure(
        "cells where ProtoNN or Bonsai beats every baseline at equal bytes",
        share,
        100 * contest.WANTED,
        " %",
        detail=f"{won} of {cells}; the others are in paper-vs-ours.md",
    )


def keep(made: Path, folder: Path) -> None:
    """Replace `folder` by those of the files that are worth committing."""
    shutil.rmtree(folder, ignore_errors=True)
    for pattern in KEPT:
        for path in sorted(made.glob(pattern)):
            there = folder / path.relative_to(made)
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, there)


def _call(made: Path, cache: Path) -> Call:
    """In a process of its own, so that nothing is left in memory from the first call to the second."""
    command = [str(Path(sys.executable).parent / "kilobench"), "figures", "--effort", "fast", "--json"]
    env = {**os.environ, "KILOBENCH_CACHE": str(cache)}
    downloaded = datasets.cache_folder()
    if any(downloaded.glob("*.npz")):
        # They lie in the cache as well, and the line to their source is not what is measured.
        env.setdefault(datasets.FOLDER_VARIABLE, str(downloaded))
    before = _busy()
    began = time.perf_counter()
    done = subprocess.run(
        [*command, "--out", str(made)], env=env, check=True, stdout=subprocess.PIPE, text=True
    )
    seconds = time.perf_counter() - began
    return Call(seconds, (_busy() - before) / seconds, json.loads(done.stdout))


def _busy() -> float:
    """CPU seconds of all processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


SOURCES = (regenerated,)
