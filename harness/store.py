"""A run on disk: run.json says what was done, rows.csv has a line a job, samples.csv a line a sample.

The two tables grow by whole lines in the order of the suite, whatever order the jobs end in, and hold nothing
that differs between two runs of the same suite: no time of day, no duration. One process writes them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness import locks
from harness.errors import RunFolderError
from harness.jobs import KEY_COLUMNS, ROW_COLUMNS, Job, Result, Status
from harness.spool import LineFile, Spool, quoted, whole_lines, write_whole, writing

SCHEMA = 2
SAMPLE_COLUMNS = (*KEY_COLUMNS, "sample", "label", "device_class", "host_class", "cycles")
SAME_RUN = ("schema", "suite", "definition", "board", "target", "meter")
"""What a run that is continued must have in common with the one in the folder."""


class RunStore:
    """The folder of one run, held by this process until `close`."""

    def __init__(self, folder: Path, jobs: Sequence[Job], about: Mapping[str, Any], *, resume: bool) -> None:
        self.folder = folder
        self.spool = Spool(folder / "parts")
        self.jobs = jobs
        self._copied = 0
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
        self._hold()
        with ExitStack() as on_failure:
            on_failure.callback(self._release)
            self.about = self._take_up(about) if resume and self._exists() else self._begin(about)
            self.spool.prepare()
            with writing(folder / "models"):
                (folder / "models").mkdir(exist_ok=True)
            self._rows = on_failure.enter_context(LineFile(folder / "rows.csv"))
            self._samples = on_failure.enter_context(LineFile(folder / "samples.csv"))
            self.rows: list[Mapping[str, str]] = self._clean_up(retry=resume)
            on_failure.pop_all()

    @property
    def pending(self) -> list[tuple[int, Job]]:
        """Jobs without a row, with their places in the suite."""
        return list(enumerate(self.jobs))[len(self.rows) :]

    def collect(self) -> list[Mapping[str, str]]:
        """Take over what the jobs have left in the spool, in the suite's order; the rows that are new."""
        new = []
        for _, job in self.pending:
            result = self.spool.result(job)  # before the samples: when it is there, they are complete
            self._copy_samples(job)
            if result is None:
                break
            self._append(job, result)
            new.append(result.row)
        return new

    def close(self) -> None:
        self._rows.close()
        self._samples.close()
        self._release()

    def complete(self) -> None:
        """The last row is written: note it, and remove what only a continuation needs."""
        self.about["finished"] = _now()
        self._write_about()
        self.spool.remove()

    def _copy_samples(self, job: Job) -> None:
        try:
            with self.spool.samples_path(job).open("rb") as file:
                file.seek(self._copied)
                lines = whole_lines(file.read())
        except FileNotFoundError:
            return
        self._samples.append(lines)
        self._copied += len(lines)

    def _append(self, job: Job, result: Result) -> None:
        self._samples.sync()
        self.about["jobs"][job.name] = {"key": list(job.key), **result.about}
        if result.row["status"] != Status.OK:
            self.about["jobs"][job.name] |= self._for_a_retry(job)
        for key in ("compiler", "flags"):  # the first job's stand for the run; each job has its own too
            if key in result.about:
                self.about.setdefault(key, result.about[key])
        self._write_about()
        self._rows.append(quoted(result.row[column] for column in ROW_COLUMNS).encode() + b"\n")
        self._rows.sync()
        self.spool.forget(job)
        self.rows.append(result.row)
        self._copied = 0

    def _for_a_retry(self, job: Job) -> dict[str, Any]:
        """What the tables do not tell of a job that was given up."""
        stack = self.spool.stack_path(job)
        return {
            "disagreed": self.spool.problems_path(job).exists(),
            "stack": stack.read_text(encoding="utf8") if stack.exists() else "0",
        }

    # Opening

    def _exists(self) -> bool:
        return (self.folder / "run.json").exists()

    def _begin(self, about: Mapping[str, Any]) -> dict[str, Any]:
        if self._exists():
            raise RunFolderError(
                f"{self.folder} holds another run ({_describe(self._read_about())}).",
                "Choose another folder with --out, or continue that run with --resume.",
            )
        for name in ("rows.csv", "samples.csv"):
            if (self.folder / name).exists():
                raise RunFolderError(
                    f"{self.folder} holds a {name} without the run.json that belongs to it.",
                    "Choose another folder with --out.",
                )
        self.about = {"schema": SCHEMA, **about, "started": _now(), "jobs": {}}
        self._write_about()
        return self.about

    def _take_up(self, about: Mapping[str, Any]) -> dict[str, Any]:
        before = self._read_about()
        wanted = {"schema": SCHEMA, **about}
        for key in SAME_RUN:
            if before.get(key) != wanted.get(key):
                raise RunFolderError(
                    f"{self.folder} holds another run: "
                    f"its {key} is {before.get(key)!r}, not {wanted.get(key)!r}.",
                    "Choose another folder with --out, or give the same suite and board.",
                )
        if _simulated(before) != _simulated(wanted):
            raise RunFolderError(
                f"{self.folder} holds a run on {before.get('target')!r}, and this one is on "
                f"{wanted.get('target')!r}.",
                "Choose another folder with --out, or the same board.",
            )
        before.setdefault("resumed", []).append(_now())
        before.pop("finished", None)
        self.about = before
        self._write_about()
        return before

    def _read_about(self) -> dict[str, Any]:
        return read_about(self.folder / "run.json", "Choose another folder.")

    def _write_about(self) -> None:
        write_whole(self.folder / "run.json", json.dumps(self.about, indent=2, ensure_ascii=False) + "\n")

    def _clean_up(self, *, retry: bool) -> list[Mapping[str, str]]:
        """The rows that are there. Samples of other jobs than theirs come again from the spool."""
        rows = [dict(zip(ROW_COLUMNS, row, strict=True)) for row in _table(self._rows, ROW_COLUMNS)]
        keys = [tuple(row[column] for column in KEY_COLUMNS) for row in rows]
        if keys != [job.key for job in self.jobs[: len(keys)]]:
            raise RunFolderError(
                f"{self.folder / 'rows.csv'} has other rows than this suite.", "Choose another folder."
            )
        lines = {key: bytearray() for key in keys}
        for sample in _table(self._samples, SAMPLE_COLUMNS):
            key = tuple(sample[: len(KEY_COLUMNS)])
            if key not in lines:
                break
            lines[key] += quoted(sample).encode() + b"\n"
        for job in self.jobs[: len(keys)]:
            self.spool.forget(job)
        good = len(rows)
        if retry:
            good = next((at for at, row in enumerate(rows) if row["status"] != Status.OK), good)
            self._put_back(rows[good:], lines, good)
            self._rows.truncate(_bytes(ROW_COLUMNS, *(row.values() for row in rows[:good])))
        kept = sum(len(lines[key]) for key in keys[:good])
        self._samples.truncate(_bytes(SAMPLE_COLUMNS) + kept)
        return list(rows[:good])

    def _put_back(
        self, rows: Sequence[Mapping[str, str]], lines: Mapping[tuple[str, ...], bytearray], first: int
    ) -> None:
        """To the spool, from the first row on that is to be tried again: tables grow in the suite's order.

        All of it is there before a table is cut, so that a kill in between costs nothing. A job that was
        given up in the middle goes on from its last sample; one whose measurements disagree begins anew.
        """
        for job, row in zip(self.jobs[first:], rows, strict=False):
            about = self.about["jobs"].get(job.name, {})
            if row["status"] == Status.OK:
                self.spool.put_samples(job, lines[job.key])
                self.spool.finish(job, Result(row, about))
            elif not row["n_samples"] and not about.get("disagreed"):
                self.spool.put_samples(job, lines[job.key])
                write_whole(self.spool.stack_path(job), about.get("stack", "0"))

    # One run at a time

    def _hold(self) -> None:
        path = self.folder / ".lock"
        with writing(path):
            self._lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        if not locks.take(self._lock):
            owner = locks.owner(self._lock)
            os.close(self._lock)
            raise RunFolderError(
                f"Another run is writing to {self.folder} now: {owner or 'it has just begun'}.",
                "Wait for its end, or choose another folder with --out.",
            )
        with writing(path):
            locks.sign(self._lock)

    def _release(self) -> None:
        os.close(self._lock)


def read_about(path: Path, remedy: str) -> dict[str, Any]:
    """A run's description as it is, of whatever schema."""
    try:
        about = json.loads(path.read_text(encoding="utf8"))
    except (OSError, ValueError) as error:
        raise RunFolderError(f"{path} cannot be read: {error}.", remedy) from error
    if not isinstance(about, dict):
        raise RunFolderError(f"{path} is not a run's description.", remedy)
    return about


def _table(file: LineFile, columns: tuple[str, ...]) -> Iterator[list[str]]:
    """The lines below the header, which is written where there is none yet."""
    header = quoted(columns)
    lines = file.cells()
    first = next(lines, None)
    if first is None:
        file.append(header.encode() + b"\n")
    elif first != list(columns):
        raise RunFolderError(f"{file.path} does not begin with {header}.", "Choose another folder.")
    return lines


def _bytes(*lines: Iterable[str]) -> int:
    """How long so many lines of a table are."""
    return sum(len(quoted(line).encode()) + 1 for line in lines)


def _simulated(about: Mapping[str, Any]) -> bool:
    """A real board may come back on another port, or another of its kind may take its place."""
    target = str(about.get("target", ""))
    return "/" not in target and not target.upper().startswith("COM")


def _describe(about: Mapping[str, Any]) -> str:
    return f"{about.get('suite')} on {about.get('board')}, started {about.get('started')}"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
