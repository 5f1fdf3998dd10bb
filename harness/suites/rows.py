"""A row of a suite: a model on a dataset, with whatever is special about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, Self

from harness import boards
from harness.errors import KilobenchError
from harness.jobs import Job, Params
from harness.tomltable import Source
from models import budget
from models.device import WIRE_TYPES


@dataclass(frozen=True)
class SuiteRow:
    """One [[row]] of a suite file: a job for every dataset, model, budget, seed and number format in it."""

    dataset: tuple[str, ...]
    model: tuple[str, ...]
    budget: tuple[int, ...]
    numbers: tuple[str, ...] = ("int8",)
    seeds: tuple[int, ...] = ()
    """The suite's own if none is named."""
    boards: tuple[str, ...] = ()
    """The row is for these alone; for every board if none is named."""
    effort: str | None = None
    """The suite's own if None."""
    speed: bool = False
    max_ms: float | None = None
    """Train the integer model to take no longer on the board."""
    params: Params = ()
    """Parameters of the estimator that are not searched."""
    stream: bool | None = None
    """Whether features are folded in as they come; None: unless the vector fits into RAM."""

    @classmethod
    def read(cls, source: Source, table: Mapping[str, Any]) -> Self:
        """The row of a TOML table, every key and value checked."""
        source.check_keys(table, READERS, needed=("dataset", "model", "budget"))
        return cls(**{key: READERS[key](source, key, value) for key, value in table.items()})

    def jobs(self, board: str, *, effort: str, seed: int, speed: bool) -> list[Job]:
        """Those on this board; the arguments are the suite's."""
        if self.boards and board not in self.boards:
            return []
        every = product(self.dataset, self.model, self.budget, self.seeds or (seed,), self.numbers)
        return [
            Job(
                board,
                dataset,
                model,
                numbers,
                size,
                seed=own_seed,
                effort=self.effort or effort,
                speed=self.speed or speed,
                max_ms=self.max_ms,
                params=self.params,
                stream=self.stream,
            )
            for dataset, model, size, own_seed, numbers in every
        ]


def sizes(source: Source, texts: Iterable[str]) -> tuple[int, ...]:
    """Budgets in bytes."""
    try:
        return tuple(budget.parse(text) for text in texts)
    except KilobenchError as error:
        raise source.wrong(error.problem, error.remedy) from error


def number_formats(source: Source, key: str, texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(source.one_of(key, text, WIRE_TYPES) for text in texts)


def _one_or_more(source: Source, key: str, value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else source.strings(key, value)


def _budgets(source: Source, key: str, value: Any) -> tuple[int, ...]:
    return sizes(source, _one_or_more(source, key, value))


def _numbers(source: Source, key: str, value: Any) -> tuple[str, ...]:
    return number_formats(source, key, _one_or_more(source, key, value))


def _boards(source: Source, key: str, value: Any) -> tuple[str, ...]:
    return tuple(source.one_of(key, name, boards.names()) for name in source.strings(key, value))


def _params(source: Source, key: str, value: Any) -> Params:
    if not isinstance(value, dict) or not all(isinstance(item, str | int | float) for item in value.values()):
        raise source.wrong(f"key {key!r} must be a table of numbers, texts and switches")
    return tuple(sorted(value.items()))


READERS: dict[str, Callable[[Source, str, Any], Any]] = {
    "dataset": _one_or_more,
    "model": _one_or_more,
    "budget": _budgets,
    "numbers": _numbers,
    "seeds": Source.wholes,
    "boards": _boards,
    "effort": Source.string,
    "speed": Source.switch,
    "max_ms": Source.positive,
    "params": _params,
    "stream": Source.switch,
}
