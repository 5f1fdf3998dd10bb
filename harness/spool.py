"""The hand-over between those who measure and the one who writes the run's files.

Each job has its own files in the run folder's `parts`, so that jobs can run side by side while the
run's files are written by one process, in the order of the suite. A sample is a line here before the next one
is asked for; whatever kills the processes, this is where a run is taken up again.
"""

from __future__ import annotations

import csv
import fcntl
import io
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any

from harness.errors import RunFolderError
from harness.jobs import Job, Result
from harness.tally import Sample, Tally

PIECE = 1 << 16
"""Bytes that are read at once in search of the last whole line."""
LOCK_PATIENCE = 30.0
"""Seconds for what is left of a killed run to notice and to let go of its files."""


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turns what the file system refuses into a sentence."""
    try:
        yield
    except OSError as error:
        raise RunFolderError(
            f"{path} cannot be written: {error.strerror or error}.",
            "Make room or choose another folder with --out; what was stored can be continued with --resume.",
        ) from error


def write_whole(path: Path, text: str) -> None:
    """Under its name there is the old file or the new one, never a part."""
    _write_whole(path, text.encode())


def _write_whole(path: Path, data: bytes | bytearray) -> None:
    # A process's own: what is left of a killed run may still be writing the same file.
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    with writing(path):
        try:
            with temporary.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise


def whole_lines(data: bytes) -> bytes:
    """Without a last line that was cut short."""
    return data[: data.rfind(b"\n") + 1]


class LineFile:
    """A file that grows by whole lines; one that was cut short is taken off on opening."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with writing(path):
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            with writing(path):
                self._lock()
                self._take_off_half_a_line()
        except BaseException:
            self.close()
            raise

    def _lock(self) -> None:
        deadline = time.monotonic() + LOCK_PATIENCE
        while True:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError as error:
                if time.monotonic() > deadline:
                    raise RunFolderError(
                        f"{self.path} is in use by another process.", "Wait until it has ended."
                    ) from error
                time.sleep(0.05)

    def _take_off_half_a_line(self) -> None:
        size = end = os.fstat(self._file).st_size
        while end > 0:
            begin = max(0, end - PIECE)
            kept = len(whole_lines(os.pread(self._file, end - begin, begin)))
            if kept:
                end = begin + kept
                break
            end = begin
        if end < size:
            os.ftruncate(self._file, end)

    def cells(self) -> Iterator[list[str]]:
        """What is stored, line by line, each taken apart as CSV."""
        with self.path.open(newline="", encoding="utf8") as file:
            yield from csv.reader(file)

    def append(self, lines: bytes) -> None:
        if not lines:
            return
        written = 0
        try:
            while written < len(lines):  # again where the disk is all but full: the next call says so
                written += os.write(self._file, lines[written:])
        except OSError:
            with writing(self.path):
                # Other readers than this class need no half line; a full disk can always be given back.
                os.ftruncate(self._file, os.fstat(self._file).st_size - written)
                raise

    def truncate(self, size: int) -> None:
        with writing(self.path):
            os.ftruncate(self._file, size)

    def sync(self) -> None:
        """To the disk itself, against a power failure."""
        with writing(self.path):
            os.fsync(self._file)

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> LineFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class SampleLog:
    """The samples of one job, and the disagreements seen among them."""

    def __init__(self, spool: Spool, job: Job) -> None:
        self._file = LineFile(spool.samples_path(job))
        self._problems = spool.problems_path(job)
        self._stack = spool.stack_path(job)
        self._prefix = quoted(job.key) + ","
        self._texts: dict[str, str] = {}
        self.stored = 0
        """How many samples there are; they are numbered from 0."""
        self._tally, self._uncounted = Tally(), list[Sample]()
        for number, sample in enumerate(self.read()):
            if sample.number != number:  # nothing of ours wrote this
                self.restart()
                break
            self.stored += 1
            self._tally.add(sample)
        self.stack_peak = self._noted_stack()
        """The deepest stack of all samples up to the last checked batch, 0 if nobody has seen one."""

    def read(self, first: int = 0) -> Iterator[Sample]:
        """The stored samples, from one on."""
        return map(_sample, islice(self._file.cells(), first, None))

    @property
    def tally(self) -> Tally:
        """Of all that are stored."""
        self.count_up()
        return self._tally

    @property
    def right(self) -> int:
        return self.tally.right

    def append(self, sample: Sample) -> None:
        number, label, device_class, host_class, cycles = sample
        texts = self._texts
        try:
            classes = f"{texts[label]},{texts[device_class]},{texts[host_class]}"
        except KeyError:
            texts.update((text, quoted((text,))) for text in (label, device_class, host_class))
            classes = f"{texts[label]},{texts[device_class]},{texts[host_class]}"
        self._file.append(f"{self._prefix}{number},{classes},{cycles}\n".encode())
        self.stored += 1
        self._uncounted.append(sample)

    def count_up(self) -> None:
        """Count what is new: not in `append`, for which a device waits."""
        for sample in self._uncounted:
            self._tally.add(sample)
        self._uncounted.clear()

    def restart(self) -> None:
        """Forget what was stored: it is not what the device says now."""
        self._file.truncate(0)
        self._problems.unlink(missing_ok=True)
        self._stack.unlink(missing_ok=True)
        self._tally, self._uncounted = Tally(), []
        self.stored = self.stack_peak = 0

    def _noted_stack(self) -> int:
        try:
            return int(self._stack.read_bytes())
        except FileNotFoundError:
            return 0

    def note_stack(self, peak: int) -> None:
        """A run that is continued asks no sample for its stack again."""
        if peak > self.stack_peak:
            write_whole(self._stack, str(peak))
            self.stack_peak = peak

    def add_problem(self, index: int, kind: str, text: str) -> None:
        """Before the sample itself is stored, so that no stored sample lacks its problem."""
        with LineFile(self._problems) as file:
            file.append(json.dumps([index, kind, text]).encode() + b"\n")

    def problems(self) -> dict[tuple[int, str], str]:
        """By sample and kind, in the order of the samples; one that was noted twice counts once."""
        if not self._problems.exists():
            return {}
        lines = whole_lines(self._problems.read_bytes()).splitlines()
        found = {(index, kind): text for index, kind, text in map(json.loads, lines)}
        return dict(sorted(found.items()))

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> SampleLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Spool:
    """The files of all jobs of a run that are not yet part of the run's own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def prepare(self) -> None:
        """Make the folder, without events of an earlier process."""
        with writing(self.folder):
            self.folder.mkdir(exist_ok=True)
            for path in (*self.folder.glob("*.events"), *self.folder.glob(".*.new")):
                path.unlink()
            for path in self.folder.parent.glob(".*.new"):
                path.unlink()

    def samples_path(self, job: Job) -> Path:
        return self.folder / f"{job.name}.csv"

    def problems_path(self, job: Job) -> Path:
        return self.folder / f"{job.name}.problems"

    def put_samples(self, job: Job, lines: bytes | bytearray) -> None:
        """What an earlier run has measured, whole or not at all."""
        _write_whole(self.samples_path(job), lines)

    def stack_path(self, job: Job) -> Path:
        return self.folder / f"{job.name}.stack"

    def result_path(self, job: Job) -> Path:
        return self.folder / f"{job.name}.json"

    def finish(self, job: Job, result: Result) -> None:
        """The job is done: its samples are complete."""
        text = json.dumps({"row": dict(result.row), "about": dict(result.about)})
        write_whole(self.result_path(job), text)

    def result(self, job: Job) -> Result | None:
        """What became of the job, if it is done."""
        try:
            found: Mapping[str, Any] = json.loads(self.result_path(job).read_bytes())
        except FileNotFoundError:
            return None
        return Result(found["row"], found["about"])

    def forget(self, job: Job) -> None:
        """The run's own files have it all."""
        for path in (
            self.result_path(job),
            self.problems_path(job),
            self.stack_path(job),
            self.samples_path(job),
        ):
            path.unlink(missing_ok=True)

    def remove(self) -> None:
        with writing(self.folder):
            for path in self.folder.iterdir():
                path.unlink()
            self.folder.rmdir()


def quoted(cells: Iterable[str]) -> str:
    """A line of CSV without its end."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="").writerow(cells)
    return buffer.getvalue()


def _sample(cells: list[str]) -> Sample:
    number, label, device_class, host_class, cycles = cells[-5:]
    return Sample(int(number), label, device_class, host_class, int(cycles))
