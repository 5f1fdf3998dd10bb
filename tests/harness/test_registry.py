"""Simulators by name: ours, and those that other packages announce."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from harness import boards
from harness.errors import SetupError, SimulatorError
from harness.targets import registry
from harness.targets.simavr import SimavrTarget
from tests.harness.fakes import FakeTarget, device_for, sum_model

UNO = boards.load("uno")
WOKWI = replace(UNO, simulator=replace(UNO.simulator, kind="wokwi"))


def make_fake(board: boards.Board, elf: Path) -> FakeTarget:
    return FakeTarget(device_for(sum_model()), board=board)


def announce(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    points = (EntryPoint("wokwi", value, registry.GROUP),)
    monkeypatch.setattr(registry, "entry_points", lambda group: points if group == registry.GROUP else ())


def test_every_board_has_a_simulator_that_is_there() -> None:
    assert {boards.load(name).simulator.kind for name in boards.names()} <= set(registry.kinds())
    assert isinstance(registry.simulated(UNO, Path("x.elf")), SimavrTarget)


def test_another_packages_simulator_is_found_by_its_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    announce(monkeypatch, f"{__name__}:make_fake")
    assert "wokwi" in registry.kinds()
    assert isinstance(registry.simulated(WOKWI, Path("x.elf")), FakeTarget)


def test_a_simulator_that_does_not_load_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    announce(monkeypatch, "no_such_package.wokwi:Target")
    with pytest.raises(SetupError, match=r"'wokwi' of no_such_package\.wokwi:Target cannot be loaded"):
        registry.simulated(WOKWI, Path("x.elf"))


def test_an_unknown_simulator_is_refused() -> None:
    with pytest.raises(SimulatorError, match="no simulator 'wokwi' for the Arduino Uno"):
        registry.simulated(WOKWI, Path("x.elf"))
