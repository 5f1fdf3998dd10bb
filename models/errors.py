"""The errors that loading data, training and model files can raise; harness.errors shows the whole tree."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class KilobenchError(Exception):
    """What is wrong in one sentence, and in another what to do about it."""

    def __init__(self, problem: str, remedy: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.problem} {self.remedy}".strip()


class InputError(KilobenchError):
    """A name, number or file the user gave is not usable."""


class UnknownName(InputError):
    """No such board, suite, model or dataset."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        near = difflib.get_close_matches(name, names, n=1, cutoff=0.4)
        hint = f"Did you mean {near[0]!r}? " if near else ""
        super().__init__(f"There is no {kind} named {name!r}.", f"{hint}Known: {', '.join(names)}.")


class DatasetError(InputError):
    """A dataset that is missing, empty, misshapen or holds NaN."""


class ModelFileError(InputError):
    """A model file that is truncated, foreign or of another version."""


class BudgetError(InputError):
    """A byte budget that no model of the family can meet."""


class TooSlow(BudgetError):
    """A time that no model of the family can meet on a board."""

    def __init__(self, predicted_ms: float, limit_ms: float, board: str) -> None:
        super().__init__(
            f"The fastest model that was found takes {predicted_ms:.3g} ms on the {board}, "
            f"more than {limit_ms:g} ms.",
            "Allow more time, or fewer bytes.",
        )
        self.predicted_ms = predicted_ms
