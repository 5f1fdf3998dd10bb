"""From a choice of papers to their figures: trials, rows of a board, pictures, and the verdicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from harness.errors import InputError, KilobenchError, UnknownName
from harness.figures import bonsai, contest, npc, protonn, snc, trials, versus, write
from harness.figures.spec import Plan, Results, Spec
from harness.report import rundata
from harness.report.rundata import Row
from harness.spool import write_whole

PAPERS = {"protonn": protonn.SPECS, "bonsai": bonsai.SPECS, "snc": snc.SPECS, "npc": npc.SPECS}

ON_THE_BOARD = "Ours: the suite paper on a simulated Uno, one seed."


@dataclass(frozen=True)
class Made:
    written: tuple[write.Written, ...]
    index: Path
    versus: Path
    matches: tuple[contest.Match, ...]
    """ProtoNN and Bonsai against the baselines, as far as these figures show them."""


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


def compute(
    specs: Sequence[Spec],
    plan: Plan,
    *,
    jobs: int | None = None,
    tell: Callable[[str], None] | None = None,
) -> Results:
    """What all of them are drawn from; each trial is done once, whoever asks for it."""
    if not plan.seeds:
        raise InputError("No seed is left to compute with.", "Give --seeds 1 or more.")
    return trials.perform((t for spec in specs for t in spec.trials(plan)), jobs=jobs, tell=tell)


def draw(
    specs: Sequence[Spec], plan: Plan, results: Results, folder: Path, *, rows: Path | None = None
) -> Made:
    """Everything into `folder`; `rows` is the run of the suite `paper`."""
    measured = _rows(rows)
    circumstances = f"Ours: {plan}."
    written = []
    for spec in specs:
        points = spec.points(plan, results, measured)
        picture = partial(spec.figure, plan, results, points)
        note = ON_THE_BOARD if spec.device else circumstances
        written.append(write.write(spec, points, picture, folder, note))
    found = [pair for item in written for pair in versus.pairs(item.spec, item.points)]
    table = folder / "paper-vs-ours.md"
    matches = contest.matches(plan, results)
    write_whole(table, versus.markdown(found, circumstances, contest.markdown(matches)))
    return Made(tuple(written), write.index(written, folder, circumstances), table, tuple(matches))


def _rows(folder: Path | None) -> Sequence[Row]:
    """Without a run of the suite, what only a board can tell is drawn from published numbers alone."""
    if folder is None:
        return ()
    try:
        return rundata.read(folder).rows
    except KilobenchError:
        return ()
