"""The samples of a test set as they are sent, each with what the host makes of it.

They are prepared some at a time, just before they are needed: memory does not depend on how many there are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from models.device import Array, DeviceModel

BLOCK = 1024
"""Samples that are prepared together, so that the host's emulation has long arrays to work on."""


class Question(NamedTuple):
    """One sample for the device, and the answers that are expected."""

    vector: bytes
    label: str
    host_class: str
    scores: Array


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
        if not 0 <= number - self._first < BLOCK:
            self._prepare(number - number % BLOCK)
        at = number - self._first
        vector, label = self._vectors[at].tobytes(), self._labels[at]
        return Question(vector, label, self._names[self._host[at]], self._scores[at])

    def _prepare(self, first: int) -> None:
        model, block = self._model, slice(first, first + BLOCK)
        self._vectors = np.ascontiguousarray(model.encode(self._X[block]))
        self._scores = model.scores(self._vectors)
        self._host: list[int] = model.decide(self._scores).tolist()
        self._labels = [str(label) for label in self._y[block].tolist()]
        self._first = first
