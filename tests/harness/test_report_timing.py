"""How time was had is said wherever time would stand; instructions are never called a time."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from harness.report import latex, methods, rundata, summary, tables
from harness.report.rundata import Run
from tests.harness import fixture_run as fixture


def run(folder: Path, *, timing: str, board: str, simulated: str, **changes: Any) -> Run:
    """Both arithmetics of two models on a board whose time was had so."""
    lines = [
        fixture.row("digits", model, numbers, board=board, target="qemu", timing=timing, **changes)
        for model in ("protonn", "linear")
        for numbers in ("int8", "float32")
    ]
    job = {"timing": f"{timing} (simulated)", "simulator": simulated}
    return rundata.read(fixture.write(folder, lines, board=board, target="qemu", jobs={"a": job}))


@pytest.fixture
def untimed(tmp_path: Path) -> Run:
    figures = {"ms": "", "energy_uJ": "", "energy_kind": ""}
    return run(tmp_path, timing="instructions", board="hifive1b", simulated="QEMU 7.2.22", **figures)


def test_tables_without_a_time_show_instructions(untimed: Run) -> None:
    heading = tables.markdown(untimed).splitlines()[0]
    assert "| instructions, median |" in heading
    assert not any(word in heading for word in ("time", "cycles", "energy"))
    assert "No time is known of this board." in tables.legend(untimed)
    titles = [str(column.header) for column in tables.terminal(untimed, 80).columns]
    assert "instructions\nmedian" in titles and "time\nms" not in titles
    assert "instructions & model" in latex.table(untimed)


def test_a_spreadsheet_keeps_them_apart(untimed: Run) -> None:
    first = next(csv.DictReader(io.StringIO(tables.comma_separated(untimed))))
    assert (first["timing"], first["instructions_median"]) == ("instructions", "21412")
    assert (first["time_ms"], first["cycles_median"], first["energy_uJ"]) == ("", "", "")


def test_sentences_speak_of_instructions(untimed: Run) -> None:
    text = " ".join([summary.headline(untimed), *summary.details(untimed)])
    assert text.startswith("Float firmware takes 17 to 19 times the instructions of integer firmware")
    assert "the one of the fewest instructions" in text
    assert not any(word in text for word in ("fast", " ms"))
    told = dict(methods.list_all(untimed))
    assert "No time is known" in told["prediction time"]
    assert told["runs on"] == "QEMU 7.2.22"


def test_a_modelled_time_is_called_so(tmp_path: Path) -> None:
    timed = run(tmp_path, timing="modelled", board="microbit", simulated="QEMU 7.2.22")
    assert "| time, ms |" in tables.markdown(timed)
    assert "Time is modelled" in tables.legend(timed)
    assert "the processor's manual" in dict(methods.list_all(timed))["prediction time"]
    assert "times as fast" in summary.headline(timed)


def test_an_exact_time_needs_no_remark(tmp_path: Path) -> None:
    exact = rundata.read(fixture.write(tmp_path, fixture.rows()))
    assert "Time" not in tables.legend(exact)
    assert "instructions" not in tables.markdown(exact)
