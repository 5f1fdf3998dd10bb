"""How a run shows that it goes on: live bars in a terminal, one line a job anywhere else."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from harness.events import Event, Kind, Listener
from harness.jobs import Status

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


@contextmanager
def listener(total: int, plain: bool) -> Iterator[Listener]:
    """What to call with every event of a run of `total` jobs. All of it goes to stderr."""
    if plain or not sys.stderr.isatty():
        yield lambda event: _line(event, total)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=28),
        MofNCompleteColumn(),
        TextColumn("{task.fields[unit]}"),
        TextColumn("{task.fields[state]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True, highlight=False), transient=True) as progress:
        yield _Bars(progress, total)


class _Bars:
    """A bar for the run, and one for each job that is at work."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress = progress
        self._total = total
        self._all = progress.add_task("all jobs", total=total, unit="jobs", state="")
        self._tasks: dict[int, TaskID] = {}

    def __call__(self, event: Event) -> None:
        if event.kind is Kind.ROW:
            self._progress.console.print(_row(event, self._total), markup=False)
            self._progress.update(self._all, completed=event.job + 1)
            if event.job in self._tasks:
                self._progress.remove_task(self._tasks.pop(event.job))
            return
        if event.kind is Kind.WAITING:
            self._progress.console.print(f"{event.name}: {event.note}", markup=False)
        if event.job not in self._tasks:
            self._tasks[event.job] = self._progress.add_task(event.name, total=None, unit="samples", state="")
        task = self._tasks[event.job]
        if event.kind is Kind.SAMPLE:
            self._progress.update(
                task,
                description=event.name,
                completed=event.done,
                total=event.of,
                state=self._state(task, event),
            )
        elif event.note:
            self._progress.update(task, description=f"{event.name}: {event.note}")

    def _state(self, task: TaskID, event: Event) -> str:
        """How fast, and how accurate so far."""
        speed = self._progress.tasks[self._progress.task_ids.index(task)].speed
        rate = f"{speed:,.0f}/s  " if speed else ""
        return f"{rate}{100 * event.right / event.done:.1f} %" if event.done else ""


def _line(event: Event, total: int) -> None:
    if event.kind is Kind.ROW:
        sys.stderr.write(_row(event, total) + "\n")
        sys.stderr.flush()
    elif event.kind is Kind.WAITING:
        sys.stderr.write(f"{event.name}: {event.note}\n")
        sys.stderr.flush()


def _row(event: Event, total: int) -> str:
    row: Mapping[str, str] = event.row or {}
    number = f"{event.job + 1:>{len(str(total))}}/{total}"
    if row.get("accuracy"):
        time = f"{float(row['ms']):8.3f} ms" if row["ms"] else f"{row['cycles_median']:>8} instructions"
        figures = f"{100 * float(row['accuracy']):5.1f} %  {time}  {row['flash_model']:>6} B"
        trouble = "" if row["status"] == Status.OK else f"  {row['status']}: {row['reason']}"
        return f"{number}  {event.name:<32}  {figures}{trouble}"
    return f"{number}  {event.name:<32}  {row.get('status')}: {row.get('reason')}"
