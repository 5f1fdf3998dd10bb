"""Reports of many rows, many datasets and several boards: what is left out of the plots, and said to be."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.measure import largerun
from harness.report import bars, methods, plots, rundata, scatter, summary, tables, traces
from harness.report.rundata import Panel, Run
from tests.harness import fixture_run as fixture

TIME = next(plot for plot in plots.PLOTS if plot.name == "time")


def run_of(folder: Path, *lines: dict[str, object]) -> Run:
    return rundata.read(fixture.write(folder, list(lines)))


def crowd(folder: Path, count: int) -> Panel:
    """One dataset with so many budgets of a model, each more accurate than the one before."""
    lines = [
        fixture.row("digits", "protonn", "int8", budget=1024 + number, accuracy=(300 + number) / 450)
        for number in range(count)
    ]
    (panel,) = run_of(folder, *lines).panels()
    return panel


def test_the_most_accurate_have_a_bar_and_the_rest_is_counted(tmp_path: Path) -> None:
    panel = crowd(tmp_path, bars.MOST + 6)
    drawn = [row for _, row in bars.named(panel)]
    assert drawn == list(panel.rows[6:])
    assert f"the {bars.MOST} most accurate of {bars.MOST + 6}" in bars.describe_time(panel)
    assert f"the {bars.MOST} most accurate of {bars.MOST + 6}" in plots.inline(TIME, panel)


def test_a_bar_is_called_what_the_table_calls_its_row(tmp_path: Path) -> None:
    panel = crowd(tmp_path, bars.MOST + 1)
    assert [label for label, _ in bars.named(panel)] == panel.labels()[1:]


def test_nothing_is_said_to_be_left_out_where_nothing_is(tmp_path: Path) -> None:
    panel = crowd(tmp_path, bars.MOST)
    assert len(bars.named(panel)) == bars.MOST
    assert "most accurate of" not in bars.describe_time(panel) + bars.describe_memory(panel)


def test_a_crowded_plot_is_told_by_what_is_unbeaten(tmp_path: Path) -> None:
    panel = crowd(tmp_path, scatter.MOST_TOLD + 1)
    words = scatter.describe(scatter.TIME, panel)
    assert f"{scatter.MOST_TOLD + 1} models, of which unbeaten in both: " in words
    assert words.count(" at ") == 1  # all take as long, so that the most accurate beats the others


def test_only_so_many_datasets_are_drawn(tmp_path: Path) -> None:
    (panel,) = run_of(tmp_path, fixture.row("digits", "linear", "int8")).panels()
    many = [replace(panel, dataset=f"set {number}") for number in range(plots.MOST_PANELS + 3)]
    assert TIME.drawn(many) == many[: plots.MOST_PANELS]
    assert f"the first {plots.MOST_PANELS} of {len(many)}." in TIME.note(many)
    assert "Drawn" not in TIME.note(many[:5])


def test_hollow_is_explained_where_something_is_hollow(tmp_path: Path) -> None:
    run = run_of(tmp_path, *fixture.rows(usps=True))
    digits, _, usps = run.panels()
    assert "Hollow" not in TIME.note([digits])
    assert "Hollow" in TIME.note([digits, usps])


def test_boards_are_told_apart_where_there_are_several(tmp_path: Path) -> None:
    row = fixture.row("digits", "linear", "int8")
    gone = {**fixture.skipped("digits", "protonn", "int8", "Does not fit."), "board": "nano"}
    run = run_of(tmp_path, row, {**row, "board": "mega2560"}, gone)
    assert [panel.title for panel in run.panels()] == ["digits (uno)", "digits (mega2560)"]
    assert "| digits (mega2560) | Linear int8 |" in tables.markdown(run)
    assert summary.headline(run).startswith("On digits (uno), Linear int8")
    assert tables.troubles(run)[0].startswith("digits ProtoNN int8 16 kB (nano): skipped.")


def test_what_differs_between_boards_is_told_of_each(tmp_path: Path) -> None:
    row = fixture.row("digits", "linear", "int8")
    lines = [row, {**row, "board": "microbit", "target": "qemu", "timing": "modelled"}]
    told = {
        "uno": ("cycle-exact (simulated)", "simavr 1.6"),
        "microbit": ("modelled (simulated)", "QEMU 7.2"),
    }
    jobs = {
        board: {"key": [board], "timing": timing, "simulator": simulator, "compiler": "gcc 12"}
        for board, (timing, simulator) in told.items()
    }
    run = rundata.read(fixture.write(tmp_path, lines, board="uno+microbit", target="simavr+qemu", jobs=jobs))
    entries = dict(methods.list_all(run))
    assert methods.title(run) == "quick on Arduino Uno R3 (simulated) and BBC micro:bit v1 (simulated)"
    assert entries["runs on"] == "uno: simavr 1.6 microbit: QEMU 7.2"
    assert "uno: Timing is cycle-exact" in entries["prediction time"]
    assert "microbit: Timing is modelled" in entries["prediction time"]
    assert entries["compiler"] == "gcc 12"
    assert entries["energy"].count("Modelled, not measured") == 2
    assert "Time on microbit is modelled from documented timings." in tables.legend(run)


def test_integers_are_compared_with_floats_of_the_same_training(tmp_path: Path) -> None:
    lines = [
        fixture.row("digits", "linear", numbers, seed=seed, ms=ms)
        for numbers, seed, ms in (
            ("int8", 0, 1.0),
            ("int8", 1, 2.0),
            ("float32", 0, 10.0),
            ("float32", 1, 40.0),
        )
    ]
    pairs = summary.integer_and_float(run_of(tmp_path, *lines))
    assert [(fast.ms, slow.ms) for fast, slow in pairs] == [(1.0, 10.0), (2.0, 40.0)]


@pytest.fixture(scope="module")
def suites_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("large") / "run"
    return rundata.read(largerun.write(folder, largerun.all_suites()))


def test_a_run_made_for_measuring_is_a_valid_one(suites_run: Run) -> None:
    assert suites_run.notes == ()
    assert {row.status for row in suites_run.rows} == {"ok", "skipped"}
    assert {row.dataset for row in suites_run.rows} >= {"digits", "cancer", "usps-2", "mnist-10"}
    assert len({row.anchor for row in suites_run.rows}) == len(suites_run.rows)


def test_one_modelled_current_stands_for_all(suites_run: Run) -> None:
    (panel,) = traces.panels(suites_run)
    assert panel.rows == (suites_run.measured[0],)
