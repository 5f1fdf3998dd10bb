"""A job is one row: a model in one number format, trained on one dataset within one budget, on one board."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from harness.boards import Board
from harness.errors import DoesNotFit, InputError, KilobenchError, SetupError
from harness.tally import Sample, Tally
from harness.targets.base import INSTRUCTIONS, kind

ROW_COLUMNS = (
    "board",
    "target",
    "dataset",
    "model",
    "numbers",
    "budget",
    "seed",
    "speed",
    "max_ms",
    "shape",
    "flash_model",
    "flash_total",
    "ram_static",
    "stack_peak",
    "paper_kB",
    "n_samples",
    "clipped",
    "accuracy",
    "agreement",
    "timing",
    "cycles_median",
    "cycles_min",
    "cycles_max",
    "ms",
    "energy_uJ",
    "energy_low_uJ",
    "energy_high_uJ",
    "energy_net_uJ",
    "energy_kind",
    "energy_meter",
    "volts",
    "volts_kind",
    "status",
    "reason",
)
ENERGY_COLUMNS = tuple(column for column in ROW_COLUMNS if column.startswith(("energy_", "volts")))
"""Empty where nothing could be measured."""
KEY_COLUMNS = ("board", "dataset", "model", "numbers", "budget", "seed", "speed", "max_ms", "shape")
"""What names a job, in rows.csv and in samples.csv."""
Params = tuple[tuple[str, Any], ...]
"""Parameters of an estimator that are given, not searched, by name."""


class Status(StrEnum):
    OK = "ok"
    SKIPPED = "skipped"
    """It could not be run here: it does not fit, or its data are missing. The reason says which."""
    FAILED = "failed"
    """It was run and something is wrong; figures that were had stand beside the reason."""


@dataclass(frozen=True)
class Job:
    board: str
    dataset: str
    model: str
    numbers: str
    budget: int
    seed: int = 0
    effort: str = "normal"
    speed: bool = False
    """Lay the weights out for the fewest cycles that the board has flash for."""
    max_ms: float | None = None
    """The integer model is trained to take no longer on the board."""
    params: Params = ()
    stream: bool | None = None
    """Fold features in as they come, or keep them in RAM; None keeps them if they fit."""

    @property
    def key(self) -> tuple[str, ...]:
        """As KEY_COLUMNS."""
        return (
            *(self.board, self.dataset, self.model, self.numbers, str(self.budget), str(self.seed)),
            *("yes" if self.speed else "no", _milliseconds(self.max_ms), _shape(self.params)),
        )

    @property
    def name(self) -> str:
        """For people and for file names: what is as usual is not said."""
        words = (self.board, self.dataset, self.model, self.numbers, str(self.budget))
        speed = ["speed"] if self.speed and self.max_ms is None else []
        return file_name((*words, *speed, *self.recipe.remarks))

    @property
    def recipe(self) -> Recipe:
        limit = None if self.max_ms is None else Limit(self.max_ms, self.board, self.speed, self.stream)
        return Recipe(self.dataset, self.model, self.budget, self.seed, self.effort, self.params, limit)


class Limit(NamedTuple):
    """How long a prediction may take, and where."""

    ms: float
    board: str
    speed: bool
    stream: bool | None = None


class Recipe(NamedTuple):
    """What a training depends on; jobs with the same one share it."""

    dataset: str
    model: str
    budget: int
    seed: int
    effort: str
    params: Params = ()
    limit: Limit | None = None

    @property
    def name(self) -> str:
        return file_name((self.dataset, self.model, str(self.budget), *self.remarks))

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is not as usual."""
        found = [f"seed{self.seed}" if self.seed else ""]
        if self.limit is not None:
            found += [f"{_milliseconds(self.limit.ms)}ms", "speed" if self.limit.speed else ""]
        return tuple(filter(None, (*found, _shape(self.params).replace(" ", "-"))))


@dataclass(frozen=True)
class Result:
    """What became of a job: its row, and what run.json keeps of it."""

    row: Mapping[str, str]
    about: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Figures:
    """What is known of a job's firmware before the first sample."""

    target: str
    flash_model: int
    flash_total: int
    ram_static: int
    paper_bytes: int


def measured(
    job: Job,
    board: Board,
    figures: Figures,
    samples: Iterable[Sample] | Tally,
    *,
    timing: str,
    stack_peak: int | None,
    clipped: int = 0,
    energy: Mapping[str, str] | None = None,
    problems: Sequence[str] = (),
) -> dict[str, str]:
    """The row of a job that was run to its end.

    timing: as the target's facts have it. Where only instructions are known they stand for cycles, and the
    row gives no time.
    """
    tally = samples if isinstance(samples, Tally) else Tally(samples)
    cycles = tally.cycles
    problems = list(problems)
    if tally.first_stray is not None:
        first = tally.first_stray
        problems.append(
            f"Device and host disagree on {tally.strays} of {tally.n} samples, first on number "
            f"{first.number}: {first.device_class} and {first.host_class}."
        )
    return {
        **dict.fromkeys(ENERGY_COLUMNS, ""),
        **_named(job, figures.target),
        "flash_model": str(figures.flash_model),
        "flash_total": str(figures.flash_total),
        "ram_static": str(figures.ram_static),
        "stack_peak": "" if stack_peak is None else str(stack_peak),
        "paper_kB": f"{figures.paper_bytes / 1024:.3f}",
        "n_samples": str(tally.n),
        "clipped": str(clipped),
        "accuracy": f"{tally.accuracy:.6f}",
        "agreement": f"{tally.agreement:.6f}",
        "timing": kind(timing),
        "cycles_median": _whole(cycles.median),
        "cycles_min": _whole(cycles.minimum),
        "cycles_max": _whole(cycles.maximum),
        "ms": "" if timing == INSTRUCTIONS else f"{board.milliseconds(cycles.median):.6g}",
        **(energy or {}),
        "status": Status.FAILED if problems else Status.OK,
        "reason": " ".join(problems),
    }


def unmeasured(job: Job, target: str, error: Exception) -> dict[str, str]:
    """The row of a job that could not be run, or not to its end."""
    reason = str(error) if isinstance(error, KilobenchError) else f"{type(error).__name__}: {error}"
    return {
        **dict.fromkeys(ROW_COLUMNS, ""),
        **_named(job, target),
        "status": Status.SKIPPED
        if isinstance(error, DoesNotFit | InputError | SetupError)
        else Status.FAILED,
        "reason": " ".join(reason.split()),
    }


def file_name(words: tuple[str, ...]) -> str:
    """The words joined; where one is a path or the like, a few digits keep it apart from its likes."""
    text = "-".join(words)
    plain = re.sub(r"[^\w.+-]", "_", text)
    return plain if plain == text else f"{plain}-{zlib.crc32(text.encode()):08x}"


def _named(job: Job, target: str) -> dict[str, str]:
    return {**dict(zip(KEY_COLUMNS, job.key, strict=True)), "target": target}


def _milliseconds(limit: float | None) -> str:
    return "" if limit is None else f"{limit:g}"


def _shape(params: Params) -> str:
    return " ".join(f"{name}={value}" for name, value in params)


def _whole(value: float) -> str:
    """Cycles are whole, the median of an even number of them perhaps a half."""
    return str(int(value)) if value == int(value) else f"{value:.1f}"
