"""Streams a test set through a device and stores every answer before it asks for the next.

The device's class is compared with the host's, its cycle count with the trigger pin, and its scores with the
host's for as many samples as asked. A disagreement is noted beside the sample and does not end the
session: how many there are is part of the finding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from harness.errors import InputError
from harness.lifeline import Lifeline, Tell
from harness.link.client import Link
from harness.link.identity import Expected, Hello
from harness.pin import WINDOWS, PinCheck
from harness.spool import SampleLog
from harness.tally import Sample, Tally
from harness.targets.base import Facts, Target
from harness.testset import TestSet
from models.device import Array, DeviceModel

BATCH = 32
"""Samples whose trigger windows are checked together."""
SOME_SCORES = 16

SCORES = "scores"
T = TypeVar("T")


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
    tally: Tally
    problems: tuple[str, ...]
    """One sentence a kind of disagreement, with the numbers."""
    resent: int
    restarts: int


class Session:
    """One job on one target, from opening the port to the last sample."""

    def __init__(
        self,
        target: Target,
        model: DeviceModel,
        log: SampleLog,
        *,
        wait: bool = False,
        tell: Tell | None = None,
    ) -> None:
        """wait: for a board that was unplugged, as long as it takes; `tell` hears of it."""
        self._target = target
        self._model = model
        self._log = log
        self._line = Lifeline(target, Expected.of(target.board, model), wait=wait, tell=tell)

    def after(self, work: Callable[[Link], T]) -> T:
        """What is measured beside the samples; from its beginning again, if the board had to be revived."""
        return self._line.doing(work)

    def run(
        self, X: Array, y: Array, checks: Checks, on_sample: Callable[[int], None] | None = None
    ) -> Measurement:
        """All samples that are not yet in the log, in order; on_sample hears how many are done."""
        if len(X) == 0:
            raise InputError("There is no sample to send.", "Choose a dataset with a test part.")
        line, log = self._line, self._log
        questions = TestSet(self._model, X, y)
        names = [str(name) for name in self._model.classes]
        total = len(questions)
        index = self._take_up(total)
        before = list(log.read(index))
        vector, label, host_class, expected = questions[index]
        pin = PinCheck(self._target, line.link, log, len(vector), checks.offset_cycles)
        line.send(vector)
        while index < total:
            prediction, scores = line.receive(with_scores=index < checks.scores)
            sample = Sample(index, label, names[prediction.class_index], host_class, prediction.cycles)
            if scores is not None:
                self._compare_scores(index, scores, expected)
            if index == log.stored:
                log.append(sample)
            elif before.pop(0) != sample:  # what answers now is not what was measured before
                log.restart()
                pin.forget()
                index = 0
                vector, label, host_class, expected = questions[0]
                line.send(vector)
                continue
            pin.add(sample)
            index += 1
            looks = index % BATCH == 0 or index == total or pin.disturbed
            if looks:
                pin.look()
                log.note_stack(self._target.facts().stack_peak or 0)
            if index < total:
                vector, label, host_class, expected = questions[index]
                line.send(vector)
            if looks:
                pin.compare()
                log.count_up()
            if on_sample is not None:
                on_sample(index)
        return self._measurement(total)

    def _take_up(self, total: int) -> int:
        """Where to begin: with the batch of the last stored sample, whose windows may be unchecked."""
        if self._log.stored > total:
            self._log.restart()
        return max(0, self._log.stored - 1) // BATCH * BATCH

    def _compare_scores(self, number: int, got: Array, expected: Array) -> None:
        if got.tobytes() != expected.astype(got.dtype).tobytes():
            self._log.add_problem(number, SCORES, f"{got.tolist()} instead of {expected.tolist()}")

    def _measurement(self, total: int) -> Measurement:
        facts = self._target.facts()
        if facts.stack_peak is not None:
            facts = replace(facts, stack_peak=max(facts.stack_peak, self._log.stack_peak))
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
            self._line.hello,
            self._log.tally,
            tuple(problems),
            self._line.link.resent,
            self._line.link.restarts,
        )
