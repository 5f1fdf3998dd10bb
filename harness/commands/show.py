"""How commands print facts: a table for people, JSON for programs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from models.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
BenchFile = Annotated[
    Path | None,
    typer.Option("--bench", metavar="FILE", help="What is wired to this desk.  [default: your bench.toml]"),
]
OwnBoards = Annotated[
    Path | None, typer.Option("--boards", metavar="DIR", help="A folder with board files of your own.")
]

WIDE = 200
"""Columns where output is not a terminal: a file or a pipe has no edge to wrap at."""


def use_boards(folder: Path | None) -> None:
    """Board files of the user's own, for this process and those it starts."""
    if folder is None:
        return
    from harness.boards import FOLDERS_VARIABLE

    if not folder.is_dir():
        raise InputError(f"There is no folder {folder}.", "Name one that holds board files (.toml).")
    os.environ[FOLDERS_VARIABLE] = os.pathsep.join(
        part for part in (str(folder.resolve()), os.environ.get(FOLDERS_VARIABLE, "")) if part
    )


def as_json(facts: Any) -> None:
    typer.echo(json.dumps(facts, indent=2, ensure_ascii=False))


def console() -> Console:
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else WIDE, highlight=False)


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str] = ()) -> None:
    """A table without frames; the headings in `right` are of columns of numbers."""
    from rich import box
    from rich.table import Table

    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for heading in headings:
        grid.add_column(heading, justify="right" if heading in right else "left")
    for row in rows:
        grid.add_row(*row)
    console().print(grid)


def grouped(count: int) -> str:
    """Groups of three, set apart by spaces."""
    return f"{count:,}".replace(",", " ")


def bytes_text(count: int) -> str:
    return f"{grouped(count)} B"


def bar(parts: Sequence[tuple[int, str]], whole: int, width: int = 40) -> str:
    """One line of `width` cells: each part's share of the whole in its own character, the rest dotted."""
    cells = ""
    for amount, character in parts:
        share = round(width * amount / whole)
        cells += character * (max(share, 1) if amount else 0)
    return cells[:width].ljust(width, "·")


def facts(lines: Sequence[tuple[str, str]]) -> None:
    """Name and value, a line each; a line without a name belongs to the one above."""
    width = max(len(name) for name, _ in lines) + 2
    for name, value in lines:
        typer.echo(f"{name:<{width}}{value}")


@contextmanager
def working(what: str, quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """A spinner on stderr while something takes its time; yields what to call with news. Silent in a pipe."""
    if quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    with Console(stderr=True).status(f"{what} …") as status:
        yield lambda news: status.update(f"{what}: {news}")
