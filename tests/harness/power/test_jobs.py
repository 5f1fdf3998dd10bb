"""What a row says of energy, and what it says where there is none."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from serial import SerialBase

from harness import boards
from harness.boards import Board
from harness.jobs import Job
from harness.link.client import Link
from harness.power import jobs as energy
from harness.power.jobs import JobEnergy
from harness.power.modelled import microjoules
from harness.tally import Sample, Tally
from harness.targets.base import INSTRUCTIONS, MODELLED, Facts
from tests.harness.fakes import FakeTarget, device_for, sum_model

UNO = boards.load("uno")
JOB = Job("uno", "numbers", "sum", "int8", 2048)
MODEL = sum_model()
X = np.arange(24.0).reshape(3, 8)
TALLY = Tally(Sample(n, "1", "1", "1", cycles) for n, cycles in enumerate((900, 1000, 1100)))


@dataclass
class Timed(FakeTarget):
    """Says how its time is had."""

    timing: str = "invented"

    def facts(self) -> Facts:
        return replace(super().facts(), timing=self.timing)


def of_job(
    tmp_path: Path, meter: str = "modelled", *, board: Board = UNO, timing: str = "invented", **device: Any
) -> JobEnergy:
    target = Timed(device_for(MODEL, **device), board=board, timing=timing)
    port: SerialBase = target.open()
    link = Link(port)
    return energy.of_job(
        meter, JOB, TALLY, link=link, target=target, model=MODEL, X=X, folder=tmp_path / "traces"
    )


def test_the_energy_of_the_median_with_its_trace(tmp_path: Path) -> None:
    found = of_job(tmp_path)
    assert found.problem == ""
    assert float(found.cells["energy_uJ"]) == pytest.approx(microjoules(UNO, 1000), rel=1e-5)
    assert found.about["sample"] == 1
    assert [name for name in found.about["traces"] if (tmp_path / name).is_file()] == [
        f"traces/{JOB.name}.npz"
    ]


def test_streaming_firmware_is_modelled_from_its_cycles(tmp_path: Path) -> None:
    found = of_job(tmp_path, buffered=False)
    assert float(found.cells["energy_uJ"]) == pytest.approx(microjoules(UNO, 1000), rel=1e-5)
    assert found.cells["energy_kind"] == "modelled"
    assert (found.problem, "traces" in found.about) == ("", False)


def test_streaming_firmware_cannot_be_measured_which_is_no_failure(tmp_path: Path) -> None:
    found = of_job(tmp_path, "csv:none.csv", buffered=False)
    assert (found.cells, found.problem) == ({}, "")
    assert "cannot repeat" in found.about["reason"]


def test_modelled_cycles_give_modelled_energy_and_instructions_none(tmp_path: Path) -> None:
    assert float(of_job(tmp_path, timing=MODELLED).cells["energy_uJ"]) > 0
    found = of_job(tmp_path, timing=INSTRUCTIONS)
    assert (found.cells, found.problem) == ({}, "")
    assert "Only instructions" in found.about["reason"]


def test_a_board_file_without_currents_gives_none(tmp_path: Path) -> None:
    found = of_job(tmp_path, board=replace(UNO, power=None))
    assert (found.cells, found.problem) == ({}, "")


def test_a_meter_that_fails_costs_the_energy_and_says_so(tmp_path: Path) -> None:
    found = of_job(tmp_path, "csv:nothing.csv")
    assert found.cells == {}
    assert found.problem.startswith("No energy: nothing.csv cannot be read")


def test_a_recording_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "flat.csv"
    path.write_text("t,i,v\n" + "".join(f"{0.001 * n:.3f},0.01,5\n" for n in range(5000)))
    found = of_job(tmp_path, f"csv:{path}")
    assert found.cells == {}
    assert "not found in the meter's trace" in found.problem
