"""A board of the user's own is one TOML file: built, simulated and measured like ours."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from harness import boards, cli, runner, suites
from harness.build import build
from harness.errors import DoesNotFit
from harness.link.client import Link
from harness.targets.checks import check_target
from harness.targets.simavr import SimavrTarget
from tests.harness.avrboards import needs_simulator
from tests.models.device_models import make

pytestmark = needs_simulator


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With a Pro Mini of 8 MHz, an ATmega168 in its place, and another trigger pin."""
    text = (boards.folder() / "uno.toml").read_text(encoding="utf8")
    for old, new in (
        ('title = "Arduino Uno R3"', 'title = "My Pro Mini"'),
        ("clock_hz = 16_000_000", "clock_hz = 8_000_000"),
        ("baud = 1_000_000", "baud = 500_000"),
        ("ram_bytes = 2_048", "ram_bytes = 1_024"),
        ("flash_bytes = 32_256", "flash_bytes = 15_872"),
        ("atmega328p", "atmega168"),
        ('trigger = "B0"', 'trigger = "D7"'),
    ):
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "promini.toml").write_text(text, encoding="utf8")
    monkeypatch.setenv(boards.FOLDERS_VARIABLE, str(tmp_path))
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_its_firmware_has_its_facts() -> None:
    board = boards.load("promini")
    model = make("linear", "int8")
    firmware = build(model, board)
    assert firmware.elf != build(model, boards.load("uno")).elf
    check_target(lambda: SimavrTarget(board, firmware.elf))
    with SimavrTarget(board, firmware.elf) as target:
        hello = Link(target.open()).hello()
    assert (hello.board, hello.clock_hz) == ("promini", 8_000_000)


@pytest.mark.usefixtures("folder")
def test_a_run_on_it_agrees_with_the_host(tmp_path: Path) -> None:
    suite = replace(
        suites.load("quick"),
        datasets=("cancer",),
        models=("linear",),
        numbers=("int8",),
        budgets=(512,),
        effort="fast",
        samples=20,
    )
    assert runner.run(suite, board="promini", out=tmp_path / "run", jobs=1).ok == 1


@pytest.mark.usefixtures("folder")
def test_what_is_too_large_for_it_is_refused() -> None:
    with pytest.raises(DoesNotFit, match="My Pro Mini"):
        build(make("linear", "int8", features=900, classes=20), boards.load("promini"))


def test_the_commands_know_it(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(boards.FOLDERS_VARIABLE)
    assert "promini" not in boards.names()
    assert cli.run_line(["boards", "--boards", str(folder), "--json"]) == 0
    facts = {fact["board"]: fact for fact in json.loads(capsys.readouterr().out)}
    assert facts["promini"]["clock_hz"] == 8_000_000
    assert cli.run_line(["boards", "--boards", str(folder / "nowhere")]) == 2


def test_a_name_of_ours_cannot_be_taken(folder: Path) -> None:
    (folder / "promini.toml").rename(folder / "uno.toml")
    assert boards.load("uno").title == "Arduino Uno R3"
