"""The command line as a user meets it: what is printed where, and with which exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness import cli
from tests.harness.commandline import refused, usb_port


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
    ports += [usb_port("/dev/ttyACM3"), usb_port("/dev/ttyS0", vid=0, pid=0)]
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


def test_a_reader_that_leaves_early_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    code = "import harness.cli; harness.cli.main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "boards", "--json"], stdout=writer, stderr=subprocess.PIPE, check=False
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")
