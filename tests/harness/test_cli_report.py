"""kilobench report: what it prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness import cli
from tests.harness import fixture_run as fixture
from tests.harness.commandline import refused


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
