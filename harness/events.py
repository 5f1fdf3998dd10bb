"""What a run tells while it goes on, for a progress display."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

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


class Progress(Protocol):
    """What is asked of a log of samples."""

    @property
    def right(self) -> int: ...


class SampleTicker:
    """Passes on how many samples are done, and how many of them are right, a few times a second."""

    def __init__(self, tell: Listener, job: int, name: str, total: int, log: Progress) -> None:
        self._tell = tell
        self._job, self._name, self._total = job, name, total
        self._log = log
        self._next = 0.0

    def __call__(self, done: int) -> None:
        now = time.monotonic()
        if now >= self._next or done == self._total:
            self._next = now + INTERVAL
            self._tell(Event(Kind.SAMPLE, self._job, self._name, done, self._total, self._log.right))


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
