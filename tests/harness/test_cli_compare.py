"""kilobench compare as CI meets it: what is printed, which files are written, and with which exit code."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from harness import cli
from tests.harness import fixture_run

JOB = ("digits", "protonn", "int8")


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return fixture_run.write(tmp_path / "old", fixture_run.rows())


@pytest.fixture
def slower(tmp_path: Path) -> Path:
    """The first job takes more cycles."""
    lines = [fixture_run.row(*JOB, cycles_median=30_000), *fixture_run.rows()[1:]]
    return fixture_run.write(tmp_path / "new", lines)


def test_a_regression_is_exit_code_1_and_in_the_files_that_ci_reads(
    old: Path, slower: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = ["--junit", str(tmp_path / "junit.xml"), "--json-file", str(tmp_path / "compare.json")]
    assert cli.run_line(["compare", str(old), str(slower), *files]) == 1
    printed = capsys.readouterr().out
    assert "cycles" in printed
    assert "8 jobs: 1 worse beyond the tolerance, 7 the same." in printed
    suite = ElementTree.parse(tmp_path / "junit.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == ("8", "1")
    assert "21412 → 30000" in suite.findall("testcase/failure")[0].get("message", "")
    facts = json.loads((tmp_path / "compare.json").read_text())
    assert facts["regressions"] == 1
    assert facts["jobs"][0]["figures"]["cycles"]["new"] == 30_000
    assert facts["jobs"][0]["seed"] == 0


def test_what_is_tolerated_is_exit_code_0_and_told(
    old: Path, slower: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run_line(["compare", str(old), str(slower), "--tolerance", "cycles=50"]) == 0
    assert "8 jobs: 1 worse within the tolerance, 7 the same." in capsys.readouterr().out


def test_a_file_that_cannot_be_written_is_exit_code_2_after_the_table(
    old: Path, slower: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = tmp_path / "nowhere" / "junit.xml"
    assert cli.run_line(["compare", str(old), str(slower), "--junit", str(wanted)]) == 2
    printed = capsys.readouterr()
    assert "1 worse beyond the tolerance" in printed.out
    assert printed.err.startswith(f"kilobench: {wanted} cannot be written: No such file or directory.")
    assert "--resume" not in printed.err


def test_runs_without_a_job_in_common_are_exit_code_2(
    old: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [{**line, "board": "nano"} for line in fixture_run.rows()]
    other = fixture_run.write(tmp_path / "nano", lines, board="nano")
    assert cli.run_line(["compare", str(old), str(other)]) == 2
    told = capsys.readouterr().err
    assert "have no job in common." in told
    assert "The board differs: uno before, nano now." in told


def test_boards_are_named_where_there_are_several(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = fixture_run.row(*JOB)
    old = fixture_run.write(tmp_path / "old", [line, {**line, "board": "nano"}])
    new = fixture_run.write(tmp_path / "new", [line, {**line, "board": "nano", "ram_static": 500}])
    assert cli.run_line(["compare", str(old), str(new)]) == 1
    assert "nano digits ProtoNN int8 2 kB" in capsys.readouterr().out


@pytest.mark.parametrize("value", ["nan", "inf"])
def test_a_figure_that_is_no_number_is_exit_code_2(
    old: Path, tmp_path: Path, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    new = fixture_run.write(tmp_path / "new", fixture_run.rows())
    (new / "rows.csv").write_text((new / "rows.csv").read_text().replace(",21412,", f",{value},"))
    assert cli.run_line(["compare", str(old), str(new)]) == 2
    assert f"cycles_median is '{value}', which is not a number." in capsys.readouterr().err


@pytest.mark.parametrize("number", ["-1", "x", "", "99999999999"])
def test_a_damaged_number_of_a_sample_is_exit_code_2(
    old: Path, tmp_path: Path, number: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither counted from the end, nor room made for all the samples before it."""
    new = fixture_run.write(tmp_path / "new", fixture_run.rows())
    text = (new / "samples.csv").read_text()
    (new / "samples.csv").write_text(text.replace(",17,1,1,1,", f",{number},1,1,1,", 1))
    assert cli.run_line(["compare", str(old), str(new)]) == 2
    assert f"samples.csv: '{number}' is not the number of a sample." in capsys.readouterr().err


def test_a_run_that_goes_on_is_told_to_be_one(
    old: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new = fixture_run.write(tmp_path / "new", fixture_run.rows()[:6])
    about = json.loads((new / "run.json").read_text())
    del about["finished"]
    (new / "run.json").write_text(json.dumps(about))
    assert cli.run_line(["compare", str(old), str(new)]) == 1
    printed = capsys.readouterr().out
    assert "In the new run: The run is not complete" in printed
    assert "2 worse beyond the tolerance" in printed


def test_a_folder_that_is_no_run_is_exit_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run_line(["compare", str(tmp_path), str(tmp_path)]) == 2
    assert "holds no run" in capsys.readouterr().err
