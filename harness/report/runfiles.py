"""The files of a run folder: run.json, and the whole lines of rows.csv and samples.csv, each checked."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from harness.errors import RunFolderError
from harness.jobs import KEY_COLUMNS
from harness.store import SAMPLE_COLUMNS, SCHEMA, read_about

Key = tuple[str, ...]
"""What names a job, as KEY_COLUMNS."""
Outcomes = bytearray
"""What became of each sample of a job, by its number: 0 not there, 1 wrong, 2 right."""
WRONG, RIGHT = 1, 2
Confusion = Counter[tuple[str, str]]
"""How many samples of each label got which class."""
SINCE_SCHEMA_2 = {
    **{"seed": "0", "speed": "no", "max_ms": "", "shape": "", "clipped": ""},
    **{"energy_low_uJ": "", "energy_high_uJ": "", "energy_net_uJ": "", "energy_meter": "", "volts": ""},
    "volts_kind": "",
}
"""Columns that older runs lack, and what holds for those."""
MOST_SAMPLES = 10_000_000
"""More than any test set has: a number beyond it is a damaged one, and no memory is taken for it."""


def about(path: Path) -> dict[str, Any]:
    """run.json, if it is of a schema that this version knows."""
    found = read_about(path, "Run the suite again.")
    if found.get("schema") not in (1, SCHEMA):
        raise RunFolderError(
            f"{path} is of schema {found.get('schema')!r}, and this version of kilobench knows {SCHEMA}.",
            "Report it with the version that made it, or run the suite again.",
        )
    return found


def samples(path: Path, notes: list[str]) -> tuple[dict[Key, Outcomes], dict[Key, Confusion]]:
    """What became of every sample, and the confusion of every job.

    A large run has millions of lines, so that they are taken job by job, and counted without a loop of ours.
    """
    outcomes: dict[Key, Outcomes] = {}
    confusions: dict[Key, Confusion] = {}
    if not path.is_file():
        notes.append("samples.csv is missing, so that the figures cannot be traced back to samples.")
        return outcomes, confusions
    key_of = itemgetter(*map(SAMPLE_COLUMNS.index, KEY_COLUMNS))
    number_of = itemgetter(SAMPLE_COLUMNS.index("sample"))
    answer_of = itemgetter(*map(SAMPLE_COLUMNS.index, ("label", "device_class")))
    for key, found in groupby(lines(path, SAMPLE_COLUMNS, notes), key_of):
        block = list(found)
        answers = list(map(answer_of, block))
        places = _places(path, list(map(number_of, block)))
        outcome = outcomes.setdefault(key, bytearray())
        outcome.extend(bytes(max(0, max(places) + 1 - len(outcome))))
        for place, (label, answer) in zip(places, answers, strict=True):
            outcome[place] = RIGHT if label == answer else WRONG
        confusions.setdefault(key, Counter()).update(answers)
    return outcomes, confusions


def _places(path: Path, texts: list[str]) -> list[int]:
    """The numbers of samples."""
    if all(map(str.isdecimal, texts)):
        places = list(map(int, texts))
        if max(places) < MOST_SAMPLES:
            return places
    wrong = next(text for text in texts if not text.isdecimal() or int(text) >= MOST_SAMPLES)
    raise RunFolderError(f"{path}: {wrong!r} is not the number of a sample.", "Run the suite again.")


def lines(path: Path, columns: tuple[str, ...], notes: list[str]) -> Iterator[list[str]]:
    """The whole lines of a CSV with exactly these columns, or with those of older runs, which are completed.

    A torn last line is left out, and noted.
    """
    try:
        text = path.read_text(encoding="utf8")
    except (OSError, UnicodeDecodeError) as error:
        raise RunFolderError(f"{path} cannot be read: {error}.", "Run the suite again.") from error
    whole, newline, torn = text.rpartition("\n")
    if torn:
        notes.append(
            f"The last line of {path.name} was cut short and is left out; "
            "`kilobench run … --resume` measures it again."
        )
    table = csv.reader(io.StringIO(whole + newline))
    older = tuple(column for column in columns if column not in SINCE_SCHEMA_2)
    header = tuple(next(table, ()))
    if header not in (columns, older):
        raise RunFolderError(
            f"{path} does not begin with the columns of a run.", f"It should begin with {','.join(columns)}."
        )
    for number, cells in enumerate(table, start=2):
        if len(cells) != len(header):
            raise RunFolderError(
                f"{path}, line {number}: {len(cells)} columns instead of {len(header)}.",
                "Run the suite again.",
            )
        yield cells if header == columns else _completed(columns, header, cells)


def _completed(columns: tuple[str, ...], header: tuple[str, ...], cells: list[str]) -> list[str]:
    known = {**SINCE_SCHEMA_2, **dict(zip(header, cells, strict=True))}
    return [known[column] for column in columns]
