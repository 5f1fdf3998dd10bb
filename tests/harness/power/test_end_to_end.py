"""A whole run with a meter: the firmware in the simulator, an INA219 on a pseudo-terminal beside it."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from harness import boards, runner, suites, worker
from harness.boards import Board
from harness.build import Firmware
from harness.power import storage
from harness.power.modelled import microjoules
from harness.power.windows import Span
from harness.targets.base import Target
from harness.targets.simavr import SimavrTarget
from tests.harness.avrboards import needs_simulator
from tests.harness.power.emulated_ina import EmulatedIna
from tests.harness.power.ptys import Pty

pytestmark = [needs_simulator, pytest.mark.slow, pytest.mark.xdist_group("end-to-end")]

SUITE = replace(
    suites.load("quick"), datasets=("cancer",), numbers=("int8",), budgets=(1024,), effort="fast", samples=10
)
UNO = boards.load("uno")


def rows(folder: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO((folder / "rows.csv").read_text())))


@dataclass
class Wiring:
    """Connects the simulated board's trigger pin to the meter."""

    target: SimavrTarget | None = None

    def make(self, board: Board, firmware: Firmware, *_: object) -> Target:
        self.seen: list[Span] = []
        self.target = SimavrTarget(board, firmware.elf)
        return self.target

    def clock(self) -> float:
        assert self.target is not None
        return (self.target.facts().cycles or 0) / UNO.clock_hz

    def windows(self) -> list[Span]:
        assert self.target is not None
        for window in self.target.windows():
            start = window.start / UNO.clock_hz
            self.seen.append(Span(start, start + window.cycles / UNO.clock_hz))
        return self.seen


def test_a_measured_run_gives_the_currents_of_the_emulated_board(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert UNO.power is not None
    wiring = Wiring()
    monkeypatch.setattr(worker, "make_target", wiring.make)
    ina = EmulatedIna(
        windows=wiring.windows,
        clock=wiring.clock,
        live=False,
        noise=0.4e-3,
        drift=0.05e-3,
        ppm=60,
        active=1e-3 * UNO.power.active_mA,
        idle=1e-3 * UNO.power.sleep_mA,
        lose=lambda first: first == 1200,
    )
    with Pty(ina) as pty:
        done = runner.run(SUITE, out=tmp_path / "run", meter=f"ina219:{pty.path}")
    assert (done.rows, done.ok) == (2, 2), rows(tmp_path / "run")
    about = json.loads((tmp_path / "run" / "run.json").read_text())
    for row, job in zip(rows(tmp_path / "run"), about["jobs"].values(), strict=True):
        cycles = float(row["cycles_median"])
        known = microjoules(UNO, cycles)
        assert float(row["energy_uJ"]) == pytest.approx(known, rel=0.01)
        assert float(row["energy_net_uJ"]) == pytest.approx(
            known - microjoules(UNO, cycles, cycles), rel=0.01
        )
        assert float(row["energy_low_uJ"]) <= float(row["energy_uJ"]) <= float(row["energy_high_uJ"])
        assert (row["energy_kind"], row["volts_kind"]) == ("measured", "measured")
        assert row["energy_meter"].startswith("ina219 at ")
        assert float(row["volts"]) == pytest.approx(5)
        assert job["energy"]["windows"] == 6
        assert (job["energy"]["samples_dropped"], job["energy"]["windows_measured_again"]) == (4, 1)
        first, again = (storage.load(tmp_path / "run" / name) for name in job["energy"]["traces"])
        assert (len(first.spans), len(again.spans)) == (6, 1)
        assert first.trace.dropped == 2
        assert first.trace.kind == "measured"


def test_the_modelled_meter_goes_the_same_way_and_is_exact(tmp_path: Path) -> None:
    assert runner.run(SUITE, out=tmp_path / "run", jobs=1).ok == 2
    for row in rows(tmp_path / "run"):
        cycles = float(row["cycles_median"])
        assert float(row["energy_uJ"]) == pytest.approx(microjoules(UNO, cycles), rel=1e-5)
        assert (row["energy_kind"], row["energy_meter"], row["volts_kind"]) == (
            "modelled",
            "modelled",
            "stated",
        )
    files = sorted((tmp_path / "run" / "traces").iterdir())
    assert len(files) == 2
    recording = storage.load(files[0])
    assert len(recording.spans) == 6
    assert np.unique(np.round(recording.trace.current, 9)).size == 2
