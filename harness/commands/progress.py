"""How a run shows that it goes on: live bars in a terminal, one line a job anywhere else."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from harness.events import Event, Kind, Listener
from harness.jobs import Status

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

NAME_WIDTH = 40
"""What a job's name is padded to, so that figures stand below each other."""
LEAST_SECONDS = 0.3
"""To tell how fast samples come."""
BAR_FROM = 90
"""Columns of a terminal that has room for bars; a narrower one shows the numbers alone."""


@contextmanager
def listener(total: int, plain: bool) -> Iterator[Listener]:
    """What to call with every event of a run of `total` jobs. All of it goes to stderr."""
    if plain or not sys.stderr.isatty():
        yield lambda event: _line(event, total)
        return
    from rich.console import Console

    with display(Console(stderr=True, highlight=False)) as progress:
        yield Bars(progress, total)


def display(console: Console) -> Progress:
    """Names give way where the terminal is narrow, and bars are left out; figures are never cut."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.table import Column

    name = Column(ratio=1, no_wrap=True, overflow="ellipsis")
    bars = [BarColumn(bar_width=24)] if console.width >= BAR_FROM else []
    figures = [
        TextColumn(f"{{task.fields[{field}]}}", justify="right", table_column=Column(no_wrap=True))
        for field in ("count", "rate", "accuracy")
    ]
    left = TimeRemainingColumn(compact=True, table_column=Column(no_wrap=True))
    columns = (TextColumn("{task.description}", table_column=name), *bars, *figures, left)
    return Progress(*columns, console=console, transient=True, expand=True)


class Bars:
    """A line for the run, and one for each job that is at work; rows that are done scroll away above."""

    def __init__(self, progress: Progress, total: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._progress = progress
        self._total = total
        self._clock = clock
        self._all = self._add("all jobs", total)
        self._lines: dict[int, TaskID] = {}
        self._began: dict[int, tuple[float, int]] = {}
        """When the first samples of a job were heard of, and how many they were."""
        self._measured: set[int] = set()
        self._count_jobs()

    def __call__(self, event: Event) -> None:
        console = self._progress.console
        if event.kind is Kind.ROW:
            console.print(_row(event, self._total, console.width), markup=False, soft_wrap=True)
            self._put_away(event.job)
            return
        if event.kind is Kind.WAITING:
            console.print(f"{event.name}: {event.note}", markup=False)
        if event.job not in self._lines:
            # Rows come in the suite's order, so that what is measured may have to wait for a slower job.
            for job in [job for job in self._lines if self._is_measured(job)]:
                self._put_away(job)
            self._lines[event.job] = self._add(event.name, None)
        if event.kind is Kind.SAMPLE:
            self._samples(self._lines[event.job], event)
        elif event.note:
            self._progress.update(self._lines[event.job], description=f"{event.name}: {event.note}")

    def _add(self, description: str, total: int | None) -> TaskID:
        return self._progress.add_task(description, total=total, count="", rate="", accuracy="")

    def _is_measured(self, job: int) -> bool:
        return any(task.finished for task in self._progress.tasks if task.id == self._lines[job])

    def _put_away(self, job: int) -> None:
        if job in self._lines:
            self._progress.remove_task(self._lines.pop(job))
        self._measured.add(job)
        self._count_jobs()

    def _count_jobs(self) -> None:
        done = len(self._measured)
        self._progress.update(self._all, completed=done, count=f"{done}/{self._total} jobs")

    def _samples(self, line: TaskID, event: Event) -> None:
        """How many, how fast, and how accurate so far."""
        self._progress.update(
            line,
            description=event.name,
            completed=event.done,
            total=event.of,
            count=f"{event.done}/{event.of}",
            rate=self._rate(event),
            accuracy=f"{100 * event.right / event.done:.1f} %" if event.done else "",
        )

    def _rate(self, event: Event) -> str:
        """Samples a second; news of other processes come in heaps, so that a short while tells nothing."""
        now = self._clock()
        began, already = self._began.setdefault(event.job, (now, event.done))
        seconds = now - began
        return f"{(event.done - already) / seconds:,.0f}/s" if seconds >= LEAST_SECONDS else ""


def _line(event: Event, total: int) -> None:
    if event.kind is Kind.ROW:
        sys.stderr.write(_row(event, total) + "\n")
        sys.stderr.flush()
    elif event.kind is Kind.WAITING:
        sys.stderr.write(f"{event.name}: {event.note}\n")
        sys.stderr.flush()


def _row(event: Event, total: int, width: int | None = None) -> str:
    """One line of a job that is done; the name is shortened where the terminal has no room for all."""
    row: Mapping[str, str] = event.row or {}
    number = f"{event.job + 1:>{len(str(total))}}/{total}"
    if not row.get("accuracy"):
        return f"{number}  {event.name:<{NAME_WIDTH}}  {row.get('status')}: {row.get('reason')}"
    cost = f"{float(row['ms']):8.3f} ms" if row["ms"] else f"{row['cycles_median']:>8} instructions"
    figures = f"{100 * float(row['accuracy']):5.1f} %  {cost}  {row['flash_model']:>6} B"
    trouble = "" if row["status"] == Status.OK else f"  {row['status']}: {row['reason']}"
    room = NAME_WIDTH if width is None else max(12, width - len(number) - len(figures) - 4)
    return f"{number}  {_fitted(event.name, room, width)}  {figures}{trouble}"


def _fitted(name: str, room: int, width: int | None) -> str:
    """Padded; in a terminal shortened from the left, since what differs stands at the end."""
    padded = min(room, NAME_WIDTH)
    if width is None or len(name) <= room:
        return f"{name:<{padded}}"
    return f"…{name[len(name) - room + 1 :]}"
