"""Figures of what is made from run folders: the report with its page, and the comparison of two runs."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from harness.measure import browser, largerun
from harness.measure.figures import Figure

TRIES, PAINTS = 3, 5


def comparison() -> Iterator[Figure]:
    """Two runs of 500 jobs, a fifth of which differ."""
    with tempfile.TemporaryDirectory() as folder:
        wanted = largerun.five_hundred()
        old = largerun.write(Path(folder, "old"), wanted)
        new = largerun.write(Path(folder, "new"), wanted, later=True)
        times = [_seconds("compare", str(old), str(new), status=1) for _ in range(TRIES)]
    yield Figure(
        "kilobench compare of two runs of 500 jobs, median of 3",
        statistics.median(times),
        2,
        " s",
        at_most=True,
        detail=f"{largerun.SAMPLES} samples a job",
    )


def page() -> Iterator[Figure]:
    """The report of all suites, and of 500 jobs, which no suite has."""
    for what, wanted in (("all suites", largerun.all_suites()), ("500 jobs", largerun.five_hundred())):
        with tempfile.TemporaryDirectory() as folder:
            run = largerun.write(Path(folder, "run"), wanted)
            spent = _seconds("report", str(run))
            text = (run / "report.html").read_text("utf8")
            detail = f"{len(wanted)} jobs"
            yield Figure(f"kilobench report, {what}", spent, 60, " s", at_most=True, detail=detail)
            size = len(text.encode()) / 1e6
            yield Figure(f"report.html, {what}", size, 3, " MB", at_most=True, detail=detail)
            if browser.program() is None:
                print("first paint is not measured: there is no Chromium", file=sys.stderr)
                continue
            paints = [browser.first_paint(text, Path(folder, f"profile-{n}")) for n in range(PAINTS)]
            yield Figure(
                f"first paint in headless Chromium, {what}, median of {PAINTS}",
                statistics.median(paints),
                1,
                " s",
                at_most=True,
                detail=f"slowest {max(paints):.2f} s",
            )


def _seconds(*words: str, status: int = 0) -> float:
    """How long the command takes as a user starts it, which ends as expected."""
    command = [str(Path(sys.executable).parent / "kilobench"), *words]
    start = time.perf_counter()
    done = subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
    spent = time.perf_counter() - start
    if done.returncode != status:
        raise RuntimeError(f"kilobench {words[0]} ended with {done.returncode} instead of {status}")
    return spent


SOURCES = (comparison, page)
