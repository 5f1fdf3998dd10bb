"""kilobench run: which board it takes, what it prints, and how it is stopped and continued."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness import cli, runner
from tests.harness import fixture_run as fixture
from tests.harness.commandline import SMALL, SUITE, needs_avr, refused, usb_port


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.toml"
    path.write_text(SUITE)
    return path


def test_without_a_board_run_says_what_to_do(
    capsys: pytest.CaptureFixture[str], ports: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = refused(capsys, "run", "quick")
    assert "No Arduino Uno R3 is connected." in said
    assert "--sim" in said
    ports += [usb_port("/dev/ttyACM0"), usb_port("/dev/ttyACM1")]
    said = refused(capsys, "run", "quick")
    assert "/dev/ttyACM0, /dev/ttyACM1" in said
    assert "--port" in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("meter", "problem"),
    [
        ("ina291:/dev/x", "There is no meter named 'ina291'. Did you mean 'ina219'?"),
        ("ina219:/dev/nothing", "There is no port /dev/nothing."),
        ("ppk2:/dev/nothing", "it does not measure voltage"),
    ],
)
def test_a_meter_that_is_none_ends_a_run_before_it_begins(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    meter: str,
    problem: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    said = refused(capsys, "run", "quick", "--sim", "--meter", meter)
    assert problem in " ".join(said.split())
    assert list(tmp_path.iterdir()) == []


def test_models_that_are_not_there_leave_nothing_behind(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the next try would be told that its folder holds another run."""
    monkeypatch.chdir(tmp_path)
    said = refused(capsys, "run", "quick", "--sim", "--models", "reference", "--out", "now")
    assert "reference holds no trained models." in said
    assert "leave --models out the first time" in said
    assert list(tmp_path.iterdir()) == []


def test_the_only_connected_board_is_used(
    capsys: pytest.CaptureFixture[str], ports: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ports.append(usb_port("/dev/ttyACM7"))
    asked: dict[str, Any] = {}

    def fake(suite: object, *, out: Path, **options: Any) -> runner.RunSummary:
        asked.update(options)
        fixture.write(out, fixture.rows())
        return runner.RunSummary(out, rows=8, ok=8, skipped=0, failed=0)

    monkeypatch.setattr(runner, "run", fake)
    assert cli.run_line(["run", "quick", "--out", str(tmp_path / "run")]) == 0
    assert [place.port for place in asked["places"]] == ["/dev/ttyACM7"]
    assert "report.html" in capsys.readouterr().out


def test_failed_jobs_give_the_table_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fake(suite: object, *, out: Path, **options: Any) -> runner.RunSummary:
        fixture.write(out, [fixture.row("digits", "linear", "int8", status="failed", reason="It is wrong.")])
        return runner.RunSummary(out, rows=1, ok=0, skipped=0, failed=1)

    monkeypatch.setattr(runner, "run", fake)
    assert cli.run_line(["run", "quick", "--sim", "--out", str(tmp_path / "run")]) == 2
    said = capsys.readouterr()
    assert "It is wrong." in said.out
    assert "1 of 1 jobs failed." in said.err


def test_ctrl_c_is_130_and_tells_how_to_continue(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(suite: object, **options: Any) -> runner.RunSummary:
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "run", interrupted)
    assert cli.run_line(["run", "quick", "--sim", "--out", str(tmp_path / "run")]) == 130
    said = capsys.readouterr()
    assert f"kilobench run quick --board uno --sim --out {tmp_path / 'run'} --resume" in said.err
    assert said.err.endswith("kilobench: stopped.\n")
    assert "Traceback" not in said.err


def test_resume_finds_the_run_that_was_stopped(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "no unfinished run of quick on uno" in refused(capsys, "run", "quick", "--sim", "--resume")
    for name, about in (("1", "{}"), ("2", "{}"), ("3", '{"finished": "yes"}')):
        folder = tmp_path / "results" / f"quick-uno-{name}"
        folder.mkdir(parents=True)
        (folder / "run.json").write_text(about)
    taken: list[Path] = []

    def fake(suite: object, *, out: Path, **options: Any) -> runner.RunSummary:
        taken.append(out)
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "run", fake)
    cli.run_line(["run", "quick", "--sim", "--resume"])
    assert [path.name for path in taken] == ["quick-uno-2"]


@needs_avr
@pytest.mark.slow
def test_a_suite_from_nothing_to_the_report(
    capsys: pytest.CaptureFixture[str], suite: Path, tmp_path: Path
) -> None:
    line = ["run", str(suite), "--sim", "--jobs", "1", "--out", str(tmp_path / "run")]
    assert cli.run_line([*line, "--json"]) == 0
    said = capsys.readouterr()
    facts = json.loads(said.out)
    assert [row["status"] for row in facts["rows"]] == ["ok", "ok"]
    assert all(row["agreement"] == 1 and row["n_samples"] == 12 for row in facts["rows"])
    assert facts["notes"] == []
    assert len(said.err.splitlines()) == 2, "one line a job"
    assert "holds another run" in refused(capsys, *line)
    assert cli.run_line([*line, "--resume"]) == 0, "a finished run has nothing left to do"
    assert "Integer firmware is" in capsys.readouterr().out


@needs_avr
@pytest.mark.slow
def test_a_real_ctrl_c_keeps_what_was_measured(suite: Path, tmp_path: Path) -> None:
    suite.write_text(SMALL)
    out = tmp_path / "run"
    line = [sys.executable, "-c", "import harness.cli; harness.cli.main()", "run", str(suite), "--sim"]
    process = subprocess.Popen(
        [*line, "--out", str(out), "--jobs", "1"], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stderr is not None
    assert "1/2" in process.stderr.readline()
    os.killpg(process.pid, signal.SIGINT)
    said = process.communicate(timeout=60)[1]
    if process.returncode == 0:
        pytest.skip("the run ended before the signal came")
    assert process.returncode == 130
    assert "--resume" in said
    assert "Traceback" not in said
    assert (out / "rows.csv").read_text().count("\n") == 2, "the header and the first row"
    assert cli.run_line([*line[3:], "--out", str(out), "--resume"]) == 0
    assert (out / "rows.csv").read_text().count("\n") == 3
