"""What a run tells while it goes on, for a progress display."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

from harness.jobs import Sample
from harness.spool import LineFile, whole_lines

INTERVAL = 0.1
"""Seconds between two events about samples of one job."""


class Kind(StrEnum):
    STARTED = "started"
    TRAINING = "training"
    """The note says what training does."""
    TRAINED = "trained"
    BUILT = "built"
    WAITING = "waiting"
    """The board is gone and the run waits for it, or it has come back; the note says so."""
    SAMPLE = "sample"
    ROW = "row"
    """The job is done and its row is written."""


@dataclass(frozen=True)
class Event:
    kind: Kind
    job: int
    """Its place in the suite, from 0."""
    name: str
    done: int = 0
    """Samples, in SAMPLE."""
    of: int = 0
    right: int = 0
    """Of those that are done."""
    note: str = ""
    row: Mapping[str, str] | None = None
    """In ROW."""


Listener = Callable[[Event], None]


class SampleTicker:
    """Passes on how many samples are done, and how many of them are right, a few times a second."""

    def __init__(self, tell: Listener, job: int, name: str, total: int, samples: Sequence[Sample]) -> None:
        self._tell = tell
        self._job, self._name, self._total = job, name, total
        self._samples = samples
        self._counted, self._right = 0, 0
        self._next = 0.0

    def __call__(self, done: int) -> None:
        now = time.monotonic()
        if now >= self._next or done == self._total:
            self._next = now + INTERVAL
            self._tell(Event(Kind.SAMPLE, self._job, self._name, done, self._total, self._count()))

    def _count(self) -> int:
        """Only what is new is looked at; samples that were taken back are counted again."""
        if self._counted > len(self._samples):
            self._counted, self._right = 0, 0
        new = self._samples[self._counted :]
        self._right += sum(sample.label == sample.device_class for sample in new)
        self._counted += len(new)
        return self._right


class EventFile:
    """Events of a process that measures, for the one that started it."""

    def __init__(self, path: Path) -> None:
        self._file = LineFile(path)

    def tell(self, event: Event) -> None:
        self._file.append(json.dumps(asdict(event)).encode() + b"\n")

    def close(self) -> None:
        self._file.close()


class EventReader:
    """The events of all files of a folder, each once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen: dict[Path, int] = {}

    def new(self) -> list[Event]:
        events = []
        for path in sorted(self._folder.glob("*.events")):
            with path.open("rb") as file:
                file.seek(self._seen.get(path, 0))
                lines = whole_lines(file.read())
            self._seen[path] = self._seen.get(path, 0) + len(lines)
            for line in lines.splitlines():
                values = json.loads(line)
                events.append(Event(**{**values, "kind": Kind(values["kind"])}))
        return events
