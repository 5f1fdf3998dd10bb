"""kilobench build: what is built, and what is refused."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from harness import boards, cli
from tests.harness.commandline import needs_avr, refused


@pytest.fixture(scope="module")
def model_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "linear.kb"
    line = ["train", "linear", "cancer", "--budget", "512B", "--effort", "fast", "--out", str(path), "--json"]
    assert cli.run_line(line) == 0
    return path


def test_a_truncated_or_foreign_model_file_is_refused(
    capsys: pytest.CaptureFixture[str], model_file: Path, tmp_path: Path
) -> None:
    whole = model_file.read_bytes()
    for name, content in (("cut.kb", whole[: len(whole) // 2]), ("text.kb", b"hello"), ("empty.kb", b"")):
        path = tmp_path / name
        path.write_bytes(content)
        assert name in refused(capsys, "build", str(path))


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
