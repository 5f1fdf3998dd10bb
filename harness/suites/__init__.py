"""Suites: what is to be measured, as data. One TOML file each beside this module, or a user's own.

A suite is every combination of its datasets, models, budgets and number formats, in that order, then its rows
one by one, as far as they are for the board; the board is chosen when it is run.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from harness.errors import InputError, UnknownName
from harness.jobs import Job
from harness.suites.rows import SuiteRow, number_formats, sizes
from harness.tomltable import Source

PRODUCT = ("datasets", "models", "numbers", "budgets")
"""Keys of a suite that is combinations; it has all of them or none."""
REMEDY = "Compare it with harness/suites/quick.toml and uno.toml."


@dataclass(frozen=True)
class Suite:
    name: str
    title: str
    datasets: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    budgets: tuple[int, ...] = ()
    """Bytes; written in the file as text, such as "2kB"."""
    effort: str = "normal"
    seed: int = 0
    speed: bool = False
    """Every row in the layout of the fewest cycles that the board has flash for."""
    samples: int | None = None
    """Only the first so many samples of each test set; all of them if None."""
    check_scores: str = "some"
    """Whether scores are compared with the host's, beside the class: some (the first 16), all or none."""
    rows: tuple[SuiteRow, ...] = ()

    def jobs(self, board: str) -> list[Job]:
        """Every measurement of the suite on this board, in the order of its rows."""
        combinations = product(self.datasets, self.models, self.budgets, self.numbers)
        jobs = [
            Job(board, dataset, model, numbers, size, self.seed, self.effort, self.speed)
            for dataset, model, size, numbers in combinations
        ]
        for row in self.rows:
            jobs += row.jobs(board, effort=self.effort, seed=self.seed, speed=self.speed)
        return jobs

    def definition(self) -> dict[str, Any]:
        """As run.json keeps it, to tell whether a run that is continued is the same."""
        about = dataclasses.asdict(self)
        del about["title"]
        return {key: _listed(value) for key, value in about.items()}


def folder() -> Path:
    return Path(__file__).parent


def names() -> list[str]:
    return sorted(path.stem for path in folder().glob("*.toml"))


def load(name: str) -> Suite:
    """The suite of that name, or of that TOML file; UnknownName suggests the nearest."""
    path = Path(name)
    if path.suffix == ".toml":
        return read(path)
    if name not in names():
        raise UnknownName("suite", name, names())
    return read(folder() / f"{name}.toml")


def read(path: Path) -> Suite:
    """One suite file, every key and value checked."""
    if not path.exists():
        raise InputError(f"There is no suite file {path}.", f"Name a file, or one of {', '.join(names())}.")
    source = Source(path, InputError, REMEDY)
    table = source.read()
    rows = table.pop("row", [])
    known = {field.name for field in dataclasses.fields(Suite)} - {"name", "rows"}
    source.check_keys(table, known | {"row"}, needed=("title",) if rows else ("title", *PRODUCT))
    given = [key for key in PRODUCT if key in table]
    if given and len(given) < len(PRODUCT):
        missing = next(key for key in PRODUCT if key not in table)
        raise source.wrong(f"key {missing!r} is missing beside {given[0]!r}")
    suite = Suite(
        name=path.stem,
        **{key: _value(source, key, value) for key, value in table.items()},
        rows=_rows(source, rows),
    )
    _check_apart(source, suite)
    return suite


def _rows(source: Source, tables: Any) -> tuple[SuiteRow, ...]:
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise source.wrong("rows are not tables", "Begin each with [[row]].")
    return tuple(
        SuiteRow.read(source.at(f"row {number}"), table) for number, table in enumerate(tables, start=1)
    )


def _check_apart(source: Source, suite: Suite) -> None:
    """Two jobs of one name would be one line in a run."""
    for board in {board for row in suite.rows for board in row.boards} or {"uno"}:
        seen: set[tuple[str, ...]] = set()
        for job in suite.jobs(board):
            if job.key in seen:
                raise source.wrong(
                    f"{job.name} is there twice", "Leave one out, or tell them apart by their seeds."
                )
            seen.add(job.key)


def _value(source: Source, key: str, value: Any) -> Any:
    if key in PRODUCT:
        texts = source.strings(key, value)
        if key == "budgets":
            return sizes(source, texts)
        return number_formats(source, key, texts) if key == "numbers" else texts
    if key in ("title", "effort"):
        return source.string(key, value)
    if key == "check_scores":
        return source.one_of(key, value, ("some", "all", "none"))
    if key == "speed":
        return source.switch(key, value)
    return source.whole(key, value, least=1 if key == "samples" else 0)


def _listed(value: Any) -> Any:
    """As JSON gives it back: tuples are lists there."""
    if isinstance(value, dict):
        return {key: _listed(item) for key, item in value.items()}
    return [_listed(item) for item in value] if isinstance(value, list | tuple) else value
