"""The command line as a user meets it: what is printed where, and with which exit code."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from serial.tools import list_ports

from harness import boards, cli, runner
from models import datasets, datasets_index, datasets_sources
from tests.harness import fixture_run as fixture

SUITE = """
title = "Seconds, not minutes"
datasets = ["cancer"]
models = ["linear"]
numbers = ["int8", "float32"]
budgets = ["512B"]
effort = "fast"
samples = 12
"""

needs_avr = pytest.mark.skipif(shutil.which("avr-gcc") is None, reason="avr-gcc is not installed")


@pytest.fixture
def ports(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The serial ports this machine seems to have: none, until a test adds one."""
    found: list[Any] = []
    monkeypatch.setattr(list_ports, "comports", lambda: found)
    return found


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No dataset but those of scikit-learn, and no way to get one."""
    monkeypatch.delenv(datasets.FOLDER_VARIABLE, raising=False)
    monkeypatch.setattr(datasets, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setenv(datasets_index.OFFLINE_VARIABLE, "1")
    monkeypatch.setattr(datasets_sources, "OPENML", {})


def port(device: str, vid: int = 0x2341, pid: int = 0x0043) -> SimpleNamespace:
    return SimpleNamespace(device=device, vid=vid, pid=pid, description="Arduino Uno")


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.toml"
    path.write_text(SUITE)
    return path


@pytest.fixture(scope="module")
def model_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "linear.kb"
    line = ["train", "linear", "cancer", "--budget", "512B", "--effort", "fast", "--out", str(path), "--json"]
    assert cli.run_line(line) == 0
    return path


def refused(capsys: pytest.CaptureFixture[str], *line: str) -> str:
    """What stderr says of a command that must fail with code 2: two lines, nothing on stdout."""
    capsys.readouterr()
    assert cli.run_line(line) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("kilobench: ")
    assert said.err.count("\n") == 2, said.err
    assert "Traceback" not in said.err
    return said.err


def test_nothing_heavy_is_imported_to_show_help() -> None:
    heavy = ("numpy", "scipy", "pandas", "matplotlib", "sklearn", "serial", "rich", "joblib", "platformio")
    code = (
        "import sys, harness.cli\n"
        "assert harness.cli.run_line(['--help']) == 0\n"
        f"print('heavy:', [name for name in {heavy!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "heavy: []"


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run_line(["--help"]) == 0
    text = capsys.readouterr().out
    for name in ("doctor", "boards", "datasets", "train", "build", "run", "report"):
        assert f"\n  {name} " in text
    assert cli.run_line([]) == 0
    assert capsys.readouterr().out.strip() == text.strip()


def test_the_version_is_the_installed_one(capsys: pytest.CaptureFixture[str]) -> None:
    from importlib.metadata import version

    assert cli.run_line(["--version"]) == 0
    assert capsys.readouterr().out == f"kilobench {version('kilobench')}\n"


@pytest.mark.parametrize(
    ("line", "problem", "remedy"),
    [
        (["bords"], "No such command 'bords'", "kilobench --help"),
        (["boards", "--jsno"], "No such option: --jsno", "kilobench boards --help"),
        (["train"], "Missing argument 'MODEL'", "kilobench train --help"),
        (["train", "linear", "digits", "--effort", "huge"], "'huge'", "kilobench train --help"),
        (["train", "linear", "digits", "--seed", "-1"], "'--seed'", "kilobench train --help"),
        (["train", "linaer", "digits"], "no model named 'linaer'", "Did you mean 'linear'?"),
        (["train", "linear", "digts"], "no dataset named 'digts'", "Did you mean 'digits'?"),
        (["train", "linear", "digits", "--budget", "2 cups"], "'2 cups' is not a size", "2kB"),
        (["train", "linear", "digits", "--out", "no/such/x.kb"], "no folder no/such", "--out"),
        (["build", "x.kb", "--board", "unno"], "no board named 'unno'", "Did you mean 'uno'?"),
        (["build", "missing.kb"], "missing.kb cannot be read", "kilobench train"),
        (["run", "qiuck", "--sim"], "no suite named 'qiuck'", "Did you mean 'quick'?"),
        (["run", "quick", "--sim", "--board", "unno"], "no board named 'unno'", "Did you mean 'uno'?"),
        (["run", "none.toml", "--sim"], "no suite file none.toml", "quick"),
        (["run", "quick", "--sim", "--port", "/dev/null"], "exclude each other", "Give one"),
        (["report", "no-such-run"], "no folder no-such-run", "kilobench run"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else "",
)
def test_wrong_input_is_answered_with_two_sentences(
    line: list[str],
    problem: str,
    remedy: str,
    *,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    first, second = refused(capsys, *line).splitlines()
    assert problem in first
    assert remedy in second
    assert list(tmp_path.iterdir()) == [], "nothing may be left behind"


@pytest.mark.usefixtures("offline")
def test_a_dataset_that_is_not_here_is_said_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert "KILOBENCH_DATA" in refused(capsys, "train", "linear", "usps-2")


def test_a_truncated_or_foreign_model_file_is_refused(
    capsys: pytest.CaptureFixture[str], model_file: Path, tmp_path: Path
) -> None:
    whole = model_file.read_bytes()
    for name, content in (("cut.kb", whole[: len(whole) // 2]), ("text.kb", b"hello"), ("empty.kb", b"")):
        path = tmp_path / name
        path.write_bytes(content)
        assert name in refused(capsys, "build", str(path))


def test_debug_shows_the_traceback_wherever_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    for line in (["--debug", "report", "nowhere"], ["report", "nowhere", "--debug"]):
        assert cli.run_line(line) == 2
        said = capsys.readouterr().err
        assert "Traceback" in said
        assert "kilobench: There is no folder nowhere." in said


def test_a_defect_is_owned_up_to(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> list[str]:
        raise ZeroDivisionError("by\nzero")

    monkeypatch.setattr("harness.boards.names", broken)
    said = refused(capsys, "boards")
    assert "Unexpected ZeroDivisionError: by zero." in said
    assert "--debug" in said


def test_boards_as_table_and_as_json(capsys: pytest.CaptureFixture[str], ports: list[Any]) -> None:
    ports += [port("/dev/ttyACM3"), port("/dev/ttyS0", vid=0, pid=0)]
    assert cli.run_line(["boards"]) == 0
    text = capsys.readouterr().out
    assert "Arduino Uno R3" in text
    assert "32 256 B" in text
    assert cli.run_line(["boards", "--json"]) == 0
    facts = {fact["board"]: fact for fact in json.loads(capsys.readouterr().out)}
    assert facts["uno"]["ports"] == ["/dev/ttyACM3"]
    assert facts["uno"]["ram_bytes"] == 2048
    assert facts["mega2560"]["ports"] == []


@pytest.mark.usefixtures("offline")
def test_datasets_as_table_and_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run_line(["datasets"]) == 0
    assert "usps-10" in capsys.readouterr().out
    assert cli.run_line(["datasets", "--json"]) == 0
    facts = {fact["name"]: fact for fact in json.loads(capsys.readouterr().out)}
    assert facts["digits"]["available"] is True
    assert facts["usps-2"]["available"] is False


@needs_avr
def test_build_splits_flash_into_model_and_code(capsys: pytest.CaptureFixture[str], model_file: Path) -> None:
    assert cli.run_line(["build", str(model_file), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["flash_model"] + facts["flash_code"] == facts["flash_total"] < facts["flash_board"] == 32256
    assert facts["streaming"] is False
    assert cli.run_line(["build", str(model_file), "--stream"]) == 0
    text = capsys.readouterr().out
    assert "features streamed" in text
    assert "█ model" in text
    assert "of 2 048 B" in text


@needs_avr
def test_a_model_for_a_larger_board_is_refused_with_the_sizes(
    capsys: pytest.CaptureFixture[str], model_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = dataclasses.replace(boards.load("uno"), flash_bytes=1000)
    monkeypatch.setattr(boards, "load", lambda _: small)
    said = refused(capsys, "build", str(model_file))
    assert "has 1000" in said
    assert "smaller budget" in said


def test_without_a_board_run_says_what_to_do(
    capsys: pytest.CaptureFixture[str], ports: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = refused(capsys, "run", "quick")
    assert "No Arduino Uno R3 is connected." in said
    assert "--sim" in said
    ports += [port("/dev/ttyACM0"), port("/dev/ttyACM1")]
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


def test_the_only_connected_board_is_used(
    capsys: pytest.CaptureFixture[str], ports: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ports.append(port("/dev/ttyACM7"))
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


def test_report_as_table_and_as_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = fixture.write(
        tmp_path / "run", [*fixture.rows(), fixture.skipped("digits", "mlp", "int8", "No.")]
    )
    assert cli.run_line(["report", str(folder)]) == 0
    text = capsys.readouterr().out
    assert "ProtoNN int8" in text
    assert "digits MLP int8 16 kB: skipped. No." in text
    assert str(folder / "report.html") in text
    assert cli.run_line(["report", str(folder), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert len(facts["rows"]) == 9
    assert all(Path(path).is_file() for path in (facts["page"], *facts["tables"], *facts["plots"]))


def test_a_report_of_something_else_is_one_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert "holds no run" in refused(capsys, "report", str(tmp_path))
    empty = fixture.write(tmp_path / "empty", [])
    assert "no finished job" in refused(capsys, "report", str(empty))


def test_a_reader_that_leaves_early_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    code = "import harness.cli; harness.cli.main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "boards", "--json"], stdout=writer, stderr=subprocess.PIPE, check=False
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


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
    suite.write_text(SUITE.replace("samples = 12\n", ""))
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
