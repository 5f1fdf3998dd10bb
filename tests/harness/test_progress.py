"""What a run shows while it goes on."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.progress import Progress

from harness.commands import progress
from harness.events import Event, Kind

ROW = {"accuracy": "0.975", "ms": "1.25", "cycles_median": "20000", "flash_model": "1024", "status": "ok"}


def test_a_line_a_job_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.listener(12, plain=False) as hear:
        hear(Event(Kind.SAMPLE, 0, "uno-digits", 5, 10, 4))
        hear(Event(Kind.ROW, 2, "uno-digits", row=ROW))
    assert capsys.readouterr().err.split() == ["3/12", "uno-digits", "97.5", "%", "1.250", "ms", "1024", "B"]


def test_a_board_without_a_time_shows_instructions(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.listener(1, plain=True) as hear:
        hear(Event(Kind.ROW, 0, "hifive1-digits", row={**ROW, "ms": ""}))
    assert "20000 instructions" in capsys.readouterr().err


def test_a_terminal_shows_the_accuracy_so_far_and_then_the_row() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    with Progress(console=console) as shown:
        bars = progress._Bars(shown, 2)
        bars(Event(Kind.SAMPLE, 0, "uno-digits", 50, 100, 40))
        job = shown.tasks[1]
        assert (job.completed, job.total) == (50, 100)
        assert job.fields["state"].endswith("80.0 %")
        bars(Event(Kind.ROW, 0, "uno-digits", row=ROW))
        assert [task.description for task in shown.tasks] == ["all jobs"]
        assert shown.tasks[0].completed == 1
