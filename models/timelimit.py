"""How long a prediction may take: models that are predicted to take longer are not considered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from models.device import Array, DeviceModel
from models.errors import BudgetError, InputError, TooSlow

MARGIN = 0.97
"""Part of the limit that candidates must keep to: the chosen one may end a bit slower on all data."""
JUDGED_BY = 500
"""Samples that tell how near prototypes are, or which branches are taken; more tell hardly better."""
TRIED_ON = 2000
"""Samples of a trial, which is only to show how large a model of that shape becomes."""
SLACK = 1.1
"""A trial tells the time within a tenth, so what is up to that much too slow may yet be fast enough."""
SHARES = tuple(twentieths / 20 for twentieths in range(20, 3, -1))
"""Of the bytes allowed: a smaller model is a faster one. Tenths left a sixth of the time unused."""

Predict = Callable[[DeviceModel, Array], float | None]
"""Milliseconds of a model, given encoded samples; None where the family cannot tell."""


@dataclass(frozen=True)
class TimeLimit:
    ms: float
    board: str
    """As people call it."""
    predict: Predict

    def check(self, model: DeviceModel, X: Array, *, margin: float = 1.0) -> float:
        """The predicted milliseconds of a model on samples like these; TooSlow if beyond the limit."""
        found = self.predict(model, model.encode(X[:JUDGED_BY]))
        if found is None:
            raise InputError(
                f"The time of a {model.family} in {model.numbers} on the {self.board} cannot be predicted.",
                "Train it without a time limit.",
            )
        if found > margin * self.ms:
            raise TooSlow(found, self.ms, self.board)
        return found


def promising(
    limit: TimeLimit,
    propose: Callable[[int], Iterable[Mapping[str, Any]]],
    fit: Callable[[Mapping[str, Any], Array, Array], Any],
    X: Array,
    y: Array,
    *,
    budget: int,
    wanted: int,
) -> list[Mapping[str, Any]]:
    """Up to so many candidates that a brief trial does not show to be too slow, the larger models first.

    One epoch on few samples tells little of a model's accuracy, but its shape, and so nearly all of its time.
    At least half of the candidates are fast enough in their trial, not just nearly so.
    """
    found: list[Mapping[str, Any]] = []
    slow: list[TooSlow] = []
    doubtful = 0
    for params in _smaller_and_smaller(propose, budget, wanted):
        if len(found) == wanted:
            break
        brief = {**params, **({"epochs": 1} if "epochs" in params else {})}
        try:
            model = fit(brief, X[:TRIED_ON], y[:TRIED_ON]).to_device("int8")
            found_ms = limit.check(model, X, margin=SLACK if 2 * doubtful < wanted - 1 else 1.0)
        except TooSlow as error:
            slow.append(error)
        except BudgetError:
            continue
        else:
            found.append(params)
            doubtful += found_ms > limit.ms
    if not found and slow:
        raise fastest(slow)
    return found


def fastest(refused: Iterable[TooSlow]) -> TooSlow:
    """The one that came nearest stands for all."""
    return min(refused, key=lambda error: error.predicted_ms)


def _smaller_and_smaller(
    propose: Callable[[int], Iterable[Mapping[str, Any]]], budget: int, each: int
) -> Iterator[Mapping[str, Any]]:
    seen: list[Mapping[str, Any]] = []
    for share in SHARES:
        fresh = [params for params in propose(int(share * budget)) if params not in seen][:each]
        seen += fresh
        yield from fresh
