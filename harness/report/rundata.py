"""A run that was read back: its rows, what became of every sample, and what is not as it should be."""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from harness.boards import Board
from harness.boards import load as load_board
from harness.errors import KilobenchError, RunFolderError
from harness.jobs import KEY_COLUMNS
from harness.report import naming, published, runfiles
from harness.report.runfiles import RIGHT, Confusion, Key, Outcomes
from harness.stats import fraction_interval
from models import budget

TITLES = {
    "protonn": "ProtoNN",
    "linear": "Linear",
    "bonsai": "Bonsai",
    "snc": "SNC",
    "npc-e": "NPC-e",
    "npc-h": "NPC-h",
    "ldkl": "LDKL",
    "ldkl-l1": "LDKL-L1",
    "kmeans": "k-means",
    "sampled": "Sampled",
    "cnn": "CNN",
    "fcnn": "FCNN",
    "mlp": "MLP",
    "tree": "Tree",
    "forest": "Forest",
    "gbdt": "GBDT",
}
"""Models as the papers write them; a plug-in's is shown by its own name."""


@dataclass(frozen=True)
class Row:
    """One line of rows.csv, in its columns' order. What a skipped job has no figure for is None."""

    board: str
    target: str
    dataset: str
    model: str
    numbers: str
    budget: int | None
    seed: int | None
    speed: str
    """Whether weights are laid out for the fewest cycles: yes or no."""
    max_ms: str
    """What the training had to keep to; empty if nothing."""
    shape: str
    """Parameters that were given, not searched."""
    flash_model: int | None
    flash_total: int | None
    ram_static: int | None
    stack_peak: int | None
    paper_kB: float | None
    n_samples: int | None
    clipped: int | None
    """Features of the test set beyond the range that the model was quantized for."""
    accuracy: float | None
    """Of 1, as is agreement."""
    agreement: float | None
    timing: str
    """How time was had: cycle-exact, modelled, instructions (no time is known then) or device timer."""
    cycles_median: float | None
    """Instructions, where timing says so; and so the two below."""
    cycles_min: int | None
    cycles_max: int | None
    ms: float | None
    energy_uJ: float | None
    """Of a prediction, gross: all that the supply delivers."""
    energy_low_uJ: float | None
    energy_high_uJ: float | None
    energy_net_uJ: float | None
    """Above what the idle board uses in that time."""
    energy_kind: str
    energy_meter: str
    volts: float | None
    volts_kind: str
    """Whether the supply's voltage was measured or stated."""
    status: str
    reason: str

    @property
    def key(self) -> Key:
        values = (getattr(self, column) for column in KEY_COLUMNS)
        return tuple("" if value is None else str(value) for value in values)

    @property
    def anchor(self) -> str:
        """The row's place in a page."""
        return f"job-{zlib.crc32(' '.join(self.key).encode()):08x}"

    @property
    def ok(self) -> bool:
        return self.status == "ok"

    @property
    def measured(self) -> bool:
        """A job that failed may have figures all the same; they are shown, with why not to trust them."""
        return self.accuracy is not None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Where the accuracy lies with 95 % confidence, given so few samples."""
        if self.accuracy is None or not self.n_samples:
            return None
        return fraction_interval(round(self.accuracy * self.n_samples), self.n_samples)

    @property
    def ram(self) -> int | None:
        """Static RAM and the deepest stack; without the latter where the target can't see it."""
        return None if self.ram_static is None else self.ram_static + (self.stack_peak or 0)

    @property
    def cycles(self) -> float | None:
        return None if self.timing == "instructions" else self.cycles_median

    @property
    def instructions(self) -> float | None:
        """Where nothing more is known."""
        return self.cycles_median if self.timing == "instructions" else None

    @property
    def work(self) -> float | None:
        """What a prediction takes, to be compared on one board: milliseconds, or instructions."""
        return self.ms if self.instructions is None else self.instructions

    @property
    def family(self) -> str:
        return TITLES.get(self.model, self.model)

    @property
    def title(self) -> str:
        return f"{self.family} {self.numbers}"

    @property
    def name(self) -> str:
        """Dataset, model and all that is special about the row; its board has to be said beside it."""
        return naming.whole(self)

    @property
    def size(self) -> str:
        """The budget, in words."""
        return "" if self.budget is None else re.sub(r"(?<=\d)(?=\D+$)", " ", budget.show(self.budget))


COLUMNS = tuple(field.name for field in fields(Row))
PARSERS = {"int | None": int, "float | None": float}


@dataclass(frozen=True)
class Panel:
    """What is compared with each other: one dataset on one board."""

    dataset: str
    board: str
    rows: tuple[Row, ...]
    limits: Board | None
    """The board type, unless it is one that this version does not know."""
    alone: bool = True
    """No other board is in the run."""

    @property
    def title(self) -> str:
        return self.dataset if self.alone else f"{self.dataset} ({self.board})"

    @property
    def is_published_chip(self) -> bool:
        """Whether the papers' times and energies are of the same chip."""
        return self.limits is not None and self.limits.mcu == published.MCU

    def labels(self) -> list[str]:
        """A name for each row that tells it from the others."""
        return naming.apart(self.rows)


@dataclass(frozen=True)
class Run:
    """A run folder, read."""

    folder: Path
    about: Mapping[str, Any]
    """run.json as it is."""
    rows: tuple[Row, ...]
    notes: tuple[str, ...]
    """Sentences about what is not as it should be, for the reader of the report."""
    outcomes: Mapping[Key, Outcomes] = field(default_factory=dict)
    confusions: Mapping[Key, Confusion] = field(default_factory=dict)

    @property
    def measured(self) -> list[Row]:
        return [row for row in self.rows if row.measured]

    @property
    def troubled(self) -> list[Row]:
        """Skipped and failed jobs."""
        return [row for row in self.rows if not row.ok]

    def panels(self) -> list[Panel]:
        """Datasets in the order in which the run met them."""
        groups: dict[tuple[str, str], list[Row]] = {}
        for row in self.measured:
            groups.setdefault((row.dataset, row.board), []).append(row)
        return [
            Panel(dataset, board, tuple(rows), board_type(board), self.on_one_board)
            for (dataset, board), rows in groups.items()
        ]

    @property
    def on_one_board(self) -> bool:
        return len({row.board for row in self.rows}) == 1


def read(folder: Path) -> Run:
    """The run in that folder; RunFolderError where there is none that can be reported."""
    if not folder.is_dir():
        raise RunFolderError(
            f"There is no folder {folder}.", "Give the folder that `kilobench run` named at its end."
        )
    for name in ("run.json", "rows.csv"):
        if not (folder / name).is_file():
            raise RunFolderError(
                f"{folder} holds no run: {name} is missing.", "Give the folder that `kilobench run` wrote."
            )
    about = runfiles.about(folder / "run.json")
    notes: list[str] = []
    lines = runfiles.lines(folder / "rows.csv", COLUMNS, notes)
    rows = tuple(_row(dict(zip(COLUMNS, cells, strict=True)), folder) for cells in lines)
    if not rows:
        raise RunFolderError(
            f"The run in {folder} has no finished job yet.", "Complete it with `kilobench run … --resume`."
        )
    if "finished" not in about:
        notes.append("The run is not complete; `kilobench run … --resume` takes it up again.")
    outcomes, confusions = runfiles.samples(folder / "samples.csv", notes)
    return Run(folder, about, rows, (*notes, *_retrace(rows, outcomes)), outcomes, confusions)


def _retrace(rows: Sequence[Row], outcomes: Mapping[Key, Outcomes]) -> list[str]:
    """Counts every sample again: the accuracy in a row must be that of its samples."""
    notes: list[str] = []
    for row in rows if outcomes else ():
        found = outcomes.get(row.key, bytearray())
        right, total = found.count(RIGHT), len(found) - found.count(0)
        told = round((row.accuracy or 0) * (row.n_samples or 0)), row.n_samples
        if row.measured and told != (right, total):
            notes.append(
                f"{row.dataset}, {row.title}: rows.csv has {told[0]} of {told[1]} samples right, "
                f"samples.csv {right} of {total}."
            )
    return notes


def _row(cells: dict[str, str], folder: Path) -> Row:
    values: dict[str, Any] = {}
    for column in fields(Row):
        text = cells[column.name]
        parse = PARSERS.get(str(column.type))
        try:
            values[column.name] = text if parse is None else _finite(parse(text)) if text else None
        except ValueError as error:
            raise RunFolderError(
                f"{folder / 'rows.csv'}: {column.name} is {text!r}, which is not a number.",
                "Run the suite again.",
            ) from error
    return Row(**values)


def _finite(value: float) -> float:
    """A figure that is not known is an empty cell; what is written there and is no number is a damage."""
    if not math.isfinite(value):
        raise ValueError(value)
    return value


def board_type(name: str) -> Board | None:
    """The board of that name, or None where this version has none."""
    try:
        return load_board(name)
    except KilobenchError:
        return None
