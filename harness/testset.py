"""The samples of a test set as they are sent, each with what the host makes of it.

They are prepared some at a time, just before they are needed: memory does not depend on how many there are.
"""

from __future__ import annotations

import numpy as np

from models.device import Array, DeviceModel

BLOCK = 1024
"""Samples that are prepared together, so that the host's emulation has long arrays to work on."""


Question = tuple[bytes, str, str, Array]
"""A sample's bytes for the device, its label, and the host's class and scores."""


class TestSet:
    """Gives the questions in ascending order; going back costs a block."""

    __test__ = False  # pytest takes every class of such a name for its own

    def __init__(self, model: DeviceModel, X: Array, y: Array) -> None:
        self._model = model
        self._X, self._y = X, y
        self._names = [str(name) for name in model.classes]
        self._first = -BLOCK

    def __len__(self) -> int:
        return len(self._X)

    def __getitem__(self, number: int) -> Question:
        at = number - self._first
        if not 0 <= at < BLOCK:
            self._prepare(number - number % BLOCK)
            at = number - self._first
        return self._questions[at]

    def _prepare(self, first: int) -> None:
        model, block = self._model, slice(first, first + BLOCK)
        encoded = np.ascontiguousarray(model.encode(self._X[block]))
        scores = model.scores(encoded)
        vectors = [row.tobytes() for row in encoded]
        labels = map(str, self._y[block].tolist())
        host = [self._names[winner] for winner in model.decide(scores).tolist()]
        self._questions: list[Question] = list(zip(vectors, labels, host, scores, strict=True))
        self._first = first
