"""Streams a test set through a device and stores every answer before it asks for the next.

The device's class is compared with the host's, its cycle count with what the trigger pin shows, and its scores
with the host's for as many samples as asked. A disagreement is noted beside the sample and does not end the
session: how many there are is part of the finding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from harness.errors import DeviceError, NoAnswer
from harness.jobs import Sample
from harness.link.client import Link, Prediction
from harness.link.identity import Expected, Hello
from harness.spool import SampleLog
from harness.targets.base import Facts, Target
from models.device import Array, DeviceModel

BOOT_SECONDS = 3.0
"""An Uno's boot loader listens for about one second before it starts the firmware."""
RESETS = 2
"""How often a board that hangs is restarted before the job is given up."""
SOME_SCORES = 16

WINDOWS, SCORES, OVERRUNS = "windows", "scores", "overruns"


@dataclass(frozen=True)
class Checks:
    """What is compared beside the class."""

    scores: int
    """Of the first so many samples."""
    offset_cycles: int = 0
    """What the trigger window has more than the device's own count, in each window."""

    @classmethod
    def named(cls, scores: str, samples: int) -> Checks:
        return cls({"none": 0, "some": min(SOME_SCORES, samples), "all": samples}[scores])


@dataclass(frozen=True)
class Measurement:
    facts: Facts
    hello: Hello
    samples: tuple[Sample, ...]
    problems: tuple[str, ...]
    """One sentence a kind of disagreement, with the numbers."""
    resent: int
    restarts: int


class Session:
    """One job on one target, from opening the port to the last sample."""

    def __init__(self, target: Target, model: DeviceModel, log: SampleLog) -> None:
        self._target = target
        self._model = model
        self._log = log
        self._resets = RESETS
        self._link = Link(target.open(), Expected.of(target.board, model))
        self._link.wait_ready(BOOT_SECONDS)
        self._hello = self._link.hello()

    def run(
        self, X: Array, y: Array, checks: Checks, on_sample: Callable[[int], None] | None = None
    ) -> Measurement:
        """All samples that are not yet in the log, in order; on_sample hears how many are."""
        if len(X) == 0:
            raise DeviceError("There is no sample to send.", "Choose a dataset with a test part.")
        model, link, log = self._model, self._link, self._log
        encoded = model.encode(X)
        scores = model.scores(encoded)
        names = [str(name) for name in model.classes]
        host = [names[index] for index in model.decide(scores).tolist()]
        labels = [str(label) for label in y.tolist()]
        vectors = [row.tobytes() for row in np.ascontiguousarray(encoded)]
        start = self._take_up(vectors, names)
        if start < len(vectors):
            link.send(vectors[start])
        for index in range(start, len(vectors)):
            restarts = link.restarts
            prediction = self._receive(vectors[index])
            if link.restarts == restarts:  # else the windows of a sample that was cut short are among them
                self._compare_windows(index, prediction, checks.offset_cycles)
            else:
                self._target.windows()
            if index < checks.scores:
                self._compare_scores(index, scores[index])
            log.append(
                Sample(index, labels[index], names[prediction.class_index], host[index], prediction.cycles)
            )
            if index + 1 < len(vectors):
                link.send(vectors[index + 1])
            if on_sample is not None:
                on_sample(index + 1)
        return self._measurement(len(vectors))

    def _take_up(self, vectors: list[bytes], names: list[str]) -> int:
        """The first sample to measure. The last one that is stored is asked for again: a device that answers
        otherwise now is not the one that was measured, and everything is measured anew."""
        stored = self._log.samples
        if not stored:
            return 0
        last = stored[-1]
        if last.index == len(stored) - 1 < len(vectors):
            again = self._link.predict(vectors[last.index])
            self._target.windows()
            if (names[again.class_index], again.cycles) == (last.device_class, last.cycles):
                return len(stored)
        self._log.restart()
        return 0

    def _receive(self, vector: bytes) -> Prediction:
        """The prediction of the sample that was sent; a board that hangs is reset and gets it again."""
        while True:
            try:
                return self._link.receive()
            except NoAnswer:
                if self._resets == 0:
                    raise
                self._resets -= 1
                self._target.reset()
                self._link.wait_ready(BOOT_SECONDS)
                self._link.hello()
                self._link.restarts += 1
                self._link.send(vector)

    def _compare_windows(self, index: int, prediction: Prediction, offset: int) -> None:
        windows = self._target.windows()
        if not windows:
            return
        seen = sum(window.cycles for window in windows) - offset * len(windows)
        if seen != prediction.cycles:
            text = f"{prediction.cycles} cycles by its timer and {seen} by the trigger pin"
            self._log.add_problem(index, WINDOWS, text)

    def _compare_scores(self, index: int, expected: Array) -> None:
        got = self._link.scores()
        if got.tobytes() != expected.astype(got.dtype).tobytes():
            text = f"{got.tolist()} instead of {expected.tolist()}"
            self._log.add_problem(index, SCORES, text)

    def _measurement(self, total: int) -> Measurement:
        facts = self._target.facts()
        found = self._log.problems()
        problems = []
        for kind, sentence in (
            (WINDOWS, "The device's cycle count and the trigger window differ"),
            (SCORES, "The device's scores differ from the host's"),
        ):
            those = [(index, text) for (index, of), text in found.items() if of == kind]
            if those:
                index, text = those[0]
                problems.append(f"{sentence} on {len(those)} of {total} samples, first on number {index}: {text}.")
        return Measurement(
            facts, self._hello, tuple(self._log.samples), tuple(problems), self._link.resent, self._link.restarts
        )
