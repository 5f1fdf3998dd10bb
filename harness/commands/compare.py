"""kilobench compare: what got slower, bigger or worse between two runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands import show
from harness.errors import InputError

if TYPE_CHECKING:
    from harness.compare import Change, Comparison, JobChange

EXIT_REGRESSION = 1
STYLES = {"regression": "bold red", "worse": "yellow", "better": "green", "changed": "cyan", "same": "dim"}


def command(
    old: Annotated[Path, typer.Argument(metavar="OLD", help="The folder of the run to hold it against.")],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="The folder of the run that is judged.")],
    *,
    tolerance: Annotated[
        str, typer.Option(metavar="PERCENT", help="For all figures (1%), or for some (cycles=1,energy=5).")
    ] = "",
    every: Annotated[bool, typer.Option("--all", help="Show the jobs that did not change, too.")] = False,
    json_file: Annotated[
        Path | None, typer.Option("--json-file", metavar="FILE", help="JSON as well.")
    ] = None,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="JUnit XML as well, for CI.")] = None,
    as_json: show.Json = False,
) -> None:
    """Hold a run against an earlier one; exit 1 if anything got worse beyond the tolerance."""
    import json

    from harness import compare
    from harness.junit import as_junit
    from harness.report import rundata

    allowed = compare.tolerances(tolerance) if tolerance else {}
    found = compare.compare(rundata.read(old), rundata.read(new), allowed)
    facts = {"old": str(old), "new": str(new), **compare.facts(found)}
    if as_json:
        show.as_json(facts)
    else:
        _print(found, every)
    # After what is to be read, which a file that cannot be written must not take away.
    if json_file is not None:
        _write(json_file, json.dumps(facts, indent=2, ensure_ascii=False) + "\n")
    if junit is not None:
        _write(junit, as_junit(found))
    if found.regressions:
        raise typer.Exit(EXIT_REGRESSION)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf8")
    except OSError as error:
        raise InputError(
            f"{path} cannot be written: {error.strerror}.", "Name a file in a folder that is there and yours."
        ) from error


def _print(found: Comparison, every: bool) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    console = show.console()
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for heading in ("job", "verdict", "figure", "old", "new", "difference", "note"):
        grid.add_column(heading, justify="right" if heading in ("old", "new", "difference") else "left")
    several = len({job.row.board for job in found.jobs}) > 1
    names = {job: f"{job.row.board} {job.name}" if several else job.name for job in found.jobs}
    for job in found.jobs:
        if job.verdict != "same" or every:
            for number, cells in enumerate(_lines(job, every)):
                head = (names[job], Text(job.verdict, STYLES[job.verdict])) if number == 0 else ("", "")
                grid.add_row(*head, *cells)
            grid.add_section()
    if grid.row_count:
        console.print(grid)
        console.print()
    for note in found.notes:
        console.print(note, markup=False)
    console.print(_headline(found), markup=False)


def _lines(job: JobChange, every: bool) -> list[tuple[str, ...]]:
    shown = [change for change in job.changes if every or change.verdict != "same"]
    return [_cells(change) for change in shown] or [("", "", "", "", job.note)]


def _cells(change: Change) -> tuple[str, ...]:
    from harness.compare import shown

    unit = f" {change.unit}" if change.unit else ""
    return (f"{change.metric}{unit}", shown(change.old), shown(change.new), change.difference, change.note)


def _headline(found: Comparison) -> str:
    from harness.compare import Verdict

    words = {
        Verdict.REGRESSION: "worse beyond the tolerance",
        Verdict.WORSE: "worse within the tolerance",
        Verdict.BETTER: "better",
        Verdict.CHANGED: "changed otherwise",
        Verdict.SAME: "the same",
    }
    counts = [f"{found.count(verdict)} {text}" for verdict, text in words.items() if found.count(verdict)]
    jobs = "1 job" if len(found.jobs) == 1 else f"{len(found.jobs)} jobs"
    return f"{jobs}: {', '.join(counts)}."
