"""What a run shows while it goes on."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

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


def terminal(width: int) -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=width, height=24, color_system=None)


def test_a_terminal_shows_the_accuracy_so_far_and_then_the_row() -> None:
    with progress.display(terminal(100)) as shown:
        bars = progress.Bars(shown, 2)
        bars(Event(Kind.SAMPLE, 0, "uno-digits", 50, 100, 40))
        job = shown.tasks[1]
        assert (job.completed, job.total) == (50, 100)
        assert (job.fields["count"], job.fields["accuracy"]) == ("50/100", "80.0 %")
        bars(Event(Kind.ROW, 0, "uno-digits", row=ROW))
        assert [task.description for task in shown.tasks] == ["all jobs"]
        assert (shown.tasks[0].completed, shown.tasks[0].fields["count"]) == (1, "1/2 jobs")


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_figure_is_cut_in_a_narrow_terminal(width: int) -> None:
    """A long name gives way to what is counted."""
    console = terminal(width)
    shown = progress.display(console)
    bars = progress.Bars(shown, 12)
    bars(Event(Kind.TRAINING, 1, "uno-usps-10-protonn-float32-16384", note="candidate 12 of 30: 96.74 %"))
    bars(Event(Kind.SAMPLE, 0, "uno-digits-protonn-float32-16384-0.88ms", 1234, 2007, 1200))
    with console.capture() as captured:
        console.print(shown.get_renderable())
    lines = captured.get().splitlines()
    assert len(lines) == 3
    assert all(len(line) <= width for line in lines)
    assert "0/12 jobs" in lines[0]
    assert "1234/2007" in lines[2] and "97.2 %" in lines[2]
    assert ("━" in lines[2]) == (width >= progress.BAR_FROM)


@pytest.mark.parametrize("width", [60, 80])
def test_a_row_fits_on_a_line_of_the_terminal(width: int) -> None:
    console = terminal(width)
    with progress.display(console) as shown:
        bars = progress.Bars(shown, 12)
        bars(Event(Kind.ROW, 0, "uno-digits-protonn-float32-16384-0.88ms-seed3", row=ROW))
        bars(Event(Kind.ROW, 1, "uno-digits-linear-int8-512", row=ROW))
    assert isinstance(console.file, io.StringIO)
    rows = [line for line in console.file.getvalue().splitlines() if "1.250 ms" in line]
    assert len(rows) == 2
    assert "0.88ms-seed3" in rows[0]
    assert all(line.rstrip().endswith("1024 B") for line in rows)


def test_what_is_measured_makes_room_though_its_row_has_to_wait() -> None:
    shown = progress.display(terminal(80))
    bars = progress.Bars(shown, 5)
    bars(Event(Kind.SAMPLE, 0, "slow", 1, 100, 1))
    bars(Event(Kind.SAMPLE, 1, "quick", 100, 100, 90))
    assert [task.description for task in shown.tasks] == ["all jobs", "slow", "quick"]
    bars(Event(Kind.TRAINED, 2, "next"))
    assert [task.description for task in shown.tasks] == ["all jobs", "slow", "next"]
    assert shown.tasks[0].fields["count"] == "1/5 jobs"
    bars(Event(Kind.ROW, 0, "slow", row=ROW))
    bars(Event(Kind.ROW, 1, "quick", row=ROW))
    assert shown.tasks[0].fields["count"] == "2/5 jobs"


def test_the_rate_is_told_once_there_is_something_to_tell() -> None:
    moments = iter([100.0, 100.001, 102.0])
    shown = progress.display(terminal(80))
    bars = progress.Bars(shown, 1, clock=lambda: next(moments))
    rates = []
    for done in (10, 400, 1010):
        bars(Event(Kind.SAMPLE, 0, "uno-digits", done, 2000, done))
        rates.append(shown.tasks[1].fields["rate"])
    assert rates == ["", "", "500/s"]
