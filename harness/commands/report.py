"""kilobench report: tables, plots and a page from a run folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands import show

if TYPE_CHECKING:
    from harness.report.everything import ReportFiles


def command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that `kilobench run` wrote.")],
    as_json: show.Json = False,
) -> None:
    """Tables, plots and one self-contained page of a run."""
    from harness.report import make

    with show.working("drawing", quiet=as_json):
        made = make(folder)
    if as_json:
        show.as_json(facts(made))
    else:
        print_table(made)


def facts(made: ReportFiles) -> dict[str, object]:
    """What `--json` prints, here and at the end of a run."""
    from dataclasses import asdict

    from harness.report import summary

    return {
        "folder": str(made.run.folder),
        "summary": summary.headline(made.run),
        "rows": [asdict(row) for row in made.run.rows],
        "notes": list(made.run.notes),
        "page": str(made.page),
        "tables": [str(path) for path in made.tables],
        "plots": [str(path) for path in made.plots],
    }


def print_table(made: ReportFiles) -> None:
    """The table, what it says, what is missing, and where the page is."""
    from harness.report import summary, tables

    console = show.console()
    if made.run.measured:
        console.print(tables.terminal(made.run, console.width))
        console.print()
    for sentence in [summary.headline(made.run), *tables.troubles(made.run), *made.run.notes]:
        console.print(sentence, markup=False)
    console.print()
    console.print(f"report  {made.page}", markup=False, soft_wrap=True)
