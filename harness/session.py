"""Streams a test set through a device and stores every answer before it asks for the next.

The device's class is compared with the host's, its cycle count with the trigger pin, and its scores with the
host's for as many samples as asked. A disagreement is noted beside the sample and does not end the
session: how many there are is part of the finding.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from harness.errors import InputError, NoAnswer
from harness.jobs import Sample
from harness.link.client import Link, Prediction
from harness.link.identity import Expected, Hello
from harness.pin import WINDOWS, PinCheck
from harness.spool import SampleLog
from harness.targets.base import Facts, Target
from models.device import Array, DeviceModel

BOOT_SECONDS = 3.0
"""An Uno's boot loader listens for about one second before it starts the firmware."""
BATCH = 32
"""Samples whose trigger windows are checked together."""
RESETS = 2
"""How often a board that hangs is restarted before the job is given up."""
SOME_SCORES = 16

SCORES = "scores"


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

    @property
    def link(self) -> Link:
        """For what is measured after the samples."""
        return self._link

    def run(
        self, X: Array, y: Array, checks: Checks, on_sample: Callable[[int], None] | None = None
    ) -> Measurement:
        """All samples that are not yet in the log, in order; on_sample hears how many are done."""
        if len(X) == 0:
            raise InputError("There is no sample to send.", "Choose a dataset with a test part.")
        model, link, log = self._model, self._link, self._log
        encoded = np.ascontiguousarray(model.encode(X))
        scores = model.scores(encoded)
        names = [str(name) for name in model.classes]
        host = [names[index] for index in model.decide(scores).tolist()]
        labels = [str(label) for label in y.tolist()]
        vectors = [row.tobytes() for row in encoded]
        total = len(vectors)
        index = self._take_up(total)
        pin = PinCheck(self._target, link, log, len(vectors[0]), checks.offset_cycles)
        link.send(vectors[index])
        while index < total:
            prediction, got = self._receive(vectors[index], with_scores=index < checks.scores)
            if got is not None:
                self._compare_scores(index, got, scores[index])
            sample = Sample(
                index, labels[index], names[prediction.class_index], host[index], prediction.cycles
            )
            if index == len(log.samples):
                log.append(sample)
            elif log.samples[index] != sample:  # what answers now is not what was measured before
                log.restart()
                pin.forget()
                index = 0
                link.send(vectors[0])
                continue
            index += 1
            pin.add(sample)
            if index % BATCH == 0 or index == total or pin.disturbed:
                pin.check()
            if index < total:
                link.send(vectors[index])
            if on_sample is not None:  # while the device works on the next
                on_sample(index)
        return self._measurement(total)

    def _take_up(self, total: int) -> int:
        """Where to begin: with the batch of the last stored sample, whose windows may be unchecked."""
        stored = self._log.samples
        if len(stored) > total or any(sample.number != number for number, sample in enumerate(stored)):
            self._log.restart()
        return max(0, len(stored) - 1) // BATCH * BATCH

    def _receive(self, vector: bytes, *, with_scores: bool) -> tuple[Prediction, Array | None]:
        """The answer to the sample that was sent; a board that hangs is reset and gets it again."""
        while True:
            try:
                prediction = self._link.receive()
                return prediction, self._link.scores() if with_scores else None
            except NoAnswer as silence:
                self._revive(silence)
                self._link.send(vector)

    def _revive(self, silence: NoAnswer) -> None:
        while self._resets:
            self._resets -= 1
            self._link.restarts += 1
            self._target.reset()
            self._link.wait_ready(BOOT_SECONDS)
            with contextlib.suppress(NoAnswer):
                self._link.hello()
                return
        raise silence

    def _compare_scores(self, number: int, got: Array, expected: Array) -> None:
        if got.tobytes() != expected.astype(got.dtype).tobytes():
            self._log.add_problem(number, SCORES, f"{got.tolist()} instead of {expected.tolist()}")

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
                problems.append(
                    f"{sentence} on {len(those)} of {total} samples, first on number {index}: {text}."
                )
        return Measurement(
            facts,
            self._hello,
            tuple(self._log.samples),
            tuple(problems),
            self._link.resent,
            self._link.restarts,
        )
