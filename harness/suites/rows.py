"""A row of a suite: a model on a dataset, with whatever is special about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, Self

from harness import boards
from harness.jobs import Job, Params
from harness.suites import values


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
    def read(cls, place: str, table: Mapping[str, Any]) -> Self:
        """The row of a TOML table, every key and value checked."""
        values.check_keys(place, table, READERS, needed=("dataset", "model", "budget"))
        return cls(**{key: READERS[key](place, key, value) for key, value in table.items()})

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


def _one_or_more(place: str, key: str, value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else values.strings(place, key, value)


def _budgets(place: str, key: str, value: Any) -> tuple[int, ...]:
    return tuple(values.size(place, text) for text in _one_or_more(place, key, value))


def _numbers(place: str, key: str, value: Any) -> tuple[str, ...]:
    return values.number_formats(place, key, _one_or_more(place, key, value))


def _boards(place: str, key: str, value: Any) -> tuple[str, ...]:
    return tuple(
        values.one_of(place, key, name, boards.names()) for name in values.strings(place, key, value)
    )


def _params(place: str, key: str, value: Any) -> Params:
    if not isinstance(value, dict) or not all(isinstance(item, str | int | float) for item in value.values()):
        raise values.wrong(place, f"key {key!r} must be a table of numbers, texts and switches")
    return tuple(sorted(value.items()))


READERS: dict[str, Callable[[str, str, Any], Any]] = {
    "dataset": _one_or_more,
    "model": _one_or_more,
    "budget": _budgets,
    "numbers": _numbers,
    "seeds": values.wholes,
    "boards": _boards,
    "effort": values.string,
    "speed": values.switch,
    "max_ms": values.positive,
    "params": _params,
    "stream": values.switch,
}
