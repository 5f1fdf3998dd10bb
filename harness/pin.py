"""Compares the device's own cycle counts with the trigger pin, where it can be seen."""

from __future__ import annotations

from harness.link.client import Link
from harness.spool import SampleLog
from harness.tally import Sample
from harness.targets.base import Target, Window

WINDOWS = "windows"


class PinCheck:
    """Collects samples and compares them, some at a time, with the windows of the pin.

    The pin is asked after many samples, not after each: a question to a simulator takes as long as a sample.
    """

    def __init__(self, target: Target, link: Link, log: SampleLog, vector_bytes: int, offset: int) -> None:
        self._target = target
        self._link = link
        self._log = log
        self._windows_each = link.windows_of(vector_bytes)
        self._offset = offset
        self._visible = target.facts().cycles is not None
        self._batch: list[Sample] = []
        self._seen: list[Window] = []
        self.forget()

    @property
    def disturbed(self) -> bool:
        """The device was restarted in the last sample: check before anything else is sent."""
        return self._link.restarts != self._restarts

    def add(self, sample: Sample) -> None:
        self._batch.append(sample)

    def forget(self) -> None:
        """Begin anew, with nothing collected on either side."""
        self._restarts = self._link.restarts
        self._batch.clear()
        self._seen.clear()
        self._target.windows()

    def look(self) -> None:
        """Fetch the windows, before the device is asked for more; `compare` has the time of its computing."""
        self._seen += self._target.windows()
        if self.disturbed:
            # Windows of a sample that was begun twice measure nothing. Those before it are whole.
            self._restarts = self._link.restarts
            self._batch.pop()
            del self._seen[len(self._batch) * self._windows_each :]

    def compare(self) -> None:
        """Note every sample up to the last look whose windows are not as long as the device says."""
        each = self._windows_each
        windows, self._seen = self._seen, []
        batch, self._batch = self._batch, []
        if not self._visible or not batch:
            return
        if len(windows) != len(batch) * each:
            text = f"{len(windows)} windows of the pin for {len(batch)} samples with {each} each"
            self._log.add_problem(batch[0].number, WINDOWS, text)
            return
        cycles = [window.cycles - self._offset for window in windows]
        for at, sample in enumerate(batch):
            seen = sum(cycles[at * each : (at + 1) * each])
            if seen != sample.cycles:
                text = f"{sample.cycles} cycles by its timer and {seen} by the trigger pin"
                self._log.add_problem(sample.number, WINDOWS, text)
