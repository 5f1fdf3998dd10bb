"""From a choice of papers to their figures: trials, rows of a board, pictures, and the verdicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from harness.errors import InputError, KilobenchError, UnknownName
from harness.figures import bonsai, npc, protonn, snc, trials, versus, write
from harness.figures.spec import Plan, Spec
from harness.report import rundata
from harness.report.rundata import Row
from harness.spool import write_whole

PAPERS = {"protonn": protonn.SPECS, "bonsai": bonsai.SPECS, "snc": snc.SPECS, "npc": npc.SPECS}
SUITE = "paper"


@dataclass(frozen=True)
class Made:
    written: tuple[write.Written, ...]
    index: Path
    versus: Path


def chosen(papers: Sequence[str], only: Sequence[str]) -> list[Spec]:
    """The figures of these papers, or those of them that are named."""
    for paper in papers:
        if paper not in PAPERS:
            raise UnknownName("paper", paper, PAPERS)
    specs = [spec for paper in papers or PAPERS for spec in PAPERS[paper]]
    names = {spec.name for spec in specs}
    for name in only:
        if not any(_is(known, name) for known in names):
            raise UnknownName("figure", name, sorted(names))
    return [spec for spec in specs if not only or any(_is(spec.name, name) for name in only)]


def _is(figure: str, name: str) -> bool:
    """fig4 is all of its parts."""
    return figure == name or figure.startswith(f"{name}-")


def make(
    specs: Sequence[Spec],
    plan: Plan,
    folder: Path,
    *,
    rows: Path | None = None,
    jobs: int | None = None,
    tell: Callable[[str], None] | None = None,
) -> Made:
    """Everything into `folder`; `rows` is the run of the suite `paper`."""
    if not plan.seeds:
        raise InputError("No seed is left to compute with.", "Give --seeds 1 or more.")
    results = trials.perform((t for spec in specs for t in spec.trials(plan)), jobs=jobs, tell=tell)
    measured = _rows(rows)
    written = []
    for spec in specs:
        points = spec.points(plan, results, measured)
        written.append(write.write(spec, points, partial(spec.figure, plan, results, points), folder))
    found = [pair for item in written for pair in versus.pairs(item.spec, item.points)]
    circumstances = f"Effort {plan.effort}, seeds {', '.join(map(str, plan.seeds))}."
    table = folder / "paper-vs-ours.md"
    write_whole(table, versus.markdown(found, circumstances))
    return Made(tuple(written), write.index(written, folder, circumstances), table)


def _rows(folder: Path | None) -> Sequence[Row]:
    """Without a run of the suite, what only a board can tell is drawn from published numbers alone."""
    if folder is None:
        return ()
    try:
        return rundata.read(folder).rows
    except KilobenchError:
        return ()
