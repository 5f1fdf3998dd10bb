"""Suites: what is to be measured, as data. One TOML file each beside this module, or a user's own.

A suite is every combination of its datasets, models, budgets and number formats, in that order; the board is
chosen when it is run.
"""

from __future__ import annotations

import dataclasses
import tomllib
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from harness.errors import InputError, KilobenchError, UnknownName
from harness.jobs import Job
from models import budget
from models.device import WIRE_TYPES

CHECKS = ("some", "all", "none")


@dataclass(frozen=True)
class Suite:
    name: str
    title: str
    datasets: tuple[str, ...]
    models: tuple[str, ...]
    numbers: tuple[str, ...]
    budgets: tuple[int, ...]
    """Bytes; written in the file as text, such as "2kB"."""
    effort: str = "normal"
    seed: int = 0
    samples: int | None = None
    """Only the first so many samples of each test set; all of them if None."""
    check_scores: str = "some"
    """Whether scores are compared with the host's, beside the class: some (the first 16), all or none."""

    def jobs(self, board: str) -> list[Job]:
        """Every measurement of the suite, in the order of its rows."""
        combinations = product(self.datasets, self.models, self.budgets, self.numbers)
        return [
            Job(board, dataset, model, numbers, size, self.seed, self.effort)
            for dataset, model, size, numbers in combinations
        ]

    def definition(self) -> dict[str, Any]:
        """As run.json keeps it, to tell whether a run that is continued is the same."""
        return {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in dataclasses.asdict(self).items()
            if key != "title"
        }


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
    try:
        table = tomllib.loads(path.read_text(encoding="utf8"))
    except FileNotFoundError as error:
        raise InputError(
            f"There is no suite file {path}.", f"Name a file, or one of {', '.join(names())}."
        ) from error
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise _wrong(path, str(error)) from error
    fields = {field.name: field for field in dataclasses.fields(Suite) if field.name != "name"}
    for key in sorted(set(table) - set(fields)):
        raise _wrong(path, f"unknown key {key!r}", f"Known: {', '.join(sorted(fields))}.")
    for key, field in fields.items():
        if key not in table and field.default is dataclasses.MISSING:
            raise _wrong(path, f"key {key!r} is missing")
    values = {key: _value(path, key, value) for key, value in table.items()}
    return Suite(name=path.stem, **values)


def _value(path: Path, key: str, value: Any) -> Any:
    if key in ("datasets", "models", "numbers", "budgets"):
        if not isinstance(value, list) or not value or not all(isinstance(item, str) for item in value):
            raise _wrong(path, f"key {key!r} must be a list of one or more strings")
        for item in value:
            if value.count(item) > 1:
                raise _wrong(path, f"key {key!r} names {item!r} twice")
        if key == "budgets":
            return tuple(_budget(path, item) for item in value)
        if key == "numbers":
            for item in value:
                _one_of(path, key, item, tuple(WIRE_TYPES))
        return tuple(value)
    if key in ("title", "effort"):
        if not isinstance(value, str):
            raise _wrong(path, f"key {key!r} must be a string")
    elif key == "check_scores":
        _one_of(path, key, value, CHECKS)
    elif type(value) is not int or value < (1 if key == "samples" else 0):
        raise _wrong(path, f"key {key!r} is {value!r} and must be a whole number")
    return value


def _budget(path: Path, text: str) -> int:
    try:
        return budget.parse(text)
    except KilobenchError as error:
        raise _wrong(path, error.problem.rstrip("."), error.remedy) from error


def _one_of(path: Path, key: str, value: Any, known: tuple[str, ...]) -> None:
    if value not in known:
        raise _wrong(path, f"key {key!r} is {value!r}", f"It must be one of {', '.join(known)}.")


def _wrong(
    path: Path, problem: str, remedy: str = "Compare it with harness/suites/quick.toml."
) -> InputError:
    return InputError(f"{path}: {problem}.", remedy)
