"""From a dataset to the run's files, with real training, real builds and the real simulator."""

from __future__ import annotations

import csv
import io
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from harness import boards, runner, suites
from harness.build import build
from harness.jobs import Job
from harness.report import rundata, tables
from harness.session import Checks, Session
from harness.spool import SampleLog, Spool
from harness.targets.simavr import SimavrTarget
from tests.firmware.boardfirmware import parameters
from tests.harness.avrboards import needs_simulator
from tests.models.device_models import make

pytestmark = [needs_simulator, pytest.mark.slow, pytest.mark.xdist_group("end-to-end")]

QUICK = replace(suites.load("quick"), effort="fast", samples=40, check_scores="all")
SMALL = replace(QUICK, datasets=("cancer",), budgets=(1024,))


def rows(folder: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO((folder / "rows.csv").read_text())))


def files(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in ("rows.csv", "samples.csv")}


def processes_with(text: str) -> list[int]:
    """Those that have it in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                environment = (entry / "environ").read_bytes()
            except OSError:
                continue  # it has ended, or is not ours
            if text.encode() in environment:
                found.append(int(entry.name))
    return found


def test_quick_side_by_side_and_one_by_one_are_the_same_to_the_byte(tmp_path: Path) -> None:
    first = runner.run(QUICK, board="uno", out=tmp_path / "one", jobs=2)
    assert (first.rows, first.ok) == (8, 8)
    runner.run(QUICK, board="uno", out=tmp_path / "two", jobs=1)
    assert files(tmp_path / "one") == files(tmp_path / "two")
    for row in rows(tmp_path / "one"):
        assert row["agreement"] == "1.000000"
        assert row["n_samples"] == "40"
        assert float(row["accuracy"]) > 0.8
        assert int(row["flash_model"]) < int(row["flash_total"]) <= boards.load("uno").flash_bytes
        assert int(row["ram_static"]) + int(row["stack_peak"]) <= boards.load("uno").ram_bytes
        assert float(row["ms"]) == pytest.approx(float(row["cycles_median"]) / 16_000, rel=1e-5)
    integers, floats = rows(tmp_path / "one")[:2]
    assert (integers["model"], floats["numbers"]) == ("protonn", "float32")
    assert float(integers["cycles_median"]) * 8 < float(floats["cycles_median"])


AVR = [name for name in boards.names() if boards.load(name).family == "avr"]


@pytest.mark.parametrize("board", AVR)
def test_every_board_agrees_with_the_host(tmp_path: Path, board: str) -> None:
    summary = runner.run(replace(SMALL, samples=20), board=board, out=tmp_path / "run", jobs=1)
    assert (summary.rows, summary.ok) == (4, 4), rows(tmp_path / "run")
    for row in rows(tmp_path / "run"):
        assert (row["board"], row["agreement"], row["timing"]) == (board, "1.000000", "cycle-exact")


@pytest.mark.parametrize("board", parameters())
def test_boards_beyond_avr_say_how_their_time_was_had(tmp_path: Path, board: str) -> None:
    summary = runner.run(replace(SMALL, models=("linear",), samples=20), board=board, out=tmp_path / "run")
    assert (summary.rows, summary.ok) == (2, 2), rows(tmp_path / "run")
    timed = bool(boards.load(board).simulator.timings)
    for row in rows(tmp_path / "run"):
        assert (row["board"], row["agreement"]) == (board, "1.000000")
        assert row["timing"] == ("modelled" if timed else "instructions")
        assert int(row["cycles_min"]) > 0
        assert (bool(row["ms"]), bool(row["energy_uJ"])) == (timed, timed), "no time, no energy"
    table = tables.markdown(rundata.read(tmp_path / "run"))
    assert ("| time, ms |" in table, "| instructions, median |" in table) == (timed, not timed)


@pytest.mark.parametrize("family", ["linear", "protonn"])
def test_a_session_with_vectors_four_times_the_ram(tmp_path: Path, family: str) -> None:
    model = make(family, "int8", features=8192, rows=3, classes=2, density=0.03)
    uno = boards.load("uno")
    assert model.n_features == 4 * uno.ram_bytes
    firmware = build(model, uno)
    assert firmware.streaming
    X = np.random.default_rng(1).normal(size=(3, 8192)) * 50
    spool = Spool(tmp_path / "parts")
    spool.prepare()
    job = Job("uno", "noise", family, "int8", model.flash_bytes)
    with SimavrTarget(uno, firmware.elf) as target, SampleLog(spool, job) as log:
        measurement = Session(target, model, log).run(X, model.predict(X), Checks(scores=3))
    assert measurement.problems == ()
    assert (measurement.tally.n, measurement.tally.agreement) == (3, 1)
    assert (measurement.resent, measurement.restarts, measurement.facts.overruns) == (0, 0, 0)


def start(folder: Path, mark: str) -> subprocess.Popen[str]:
    """The suite in a process of its own, with two workers."""
    program = (
        "from dataclasses import replace; from pathlib import Path; from harness import runner, suites\n"
        "if __name__ == '__main__':\n"
        "    suite = replace(suites.load('quick'), effort='fast')\n"
        f"    runner.run(suite, out=Path({str(folder)!r}), jobs=2, resume=True)\n"
    )
    path = folder.parent / "program.py"
    path.write_text(program)
    return subprocess.Popen(
        [sys.executable, str(path)],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "KILOBENCH_TEST_MARK": mark},
    )


def wait_for_samples(folder: Path, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 120
    while not any(path.stat().st_size for path in folder.glob("parts/*.csv") if path.exists()):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("way", ["Ctrl-C", "kill -9"])
def test_a_run_that_is_stopped_leaves_no_process_and_is_continued(tmp_path: Path, way: str) -> None:
    folder = tmp_path / "run"
    mark = f"kilobench-{os.getpid()}-{time.monotonic_ns()}"
    process = start(folder, mark)
    wait_for_samples(folder, process)
    if way == "Ctrl-C":
        os.killpg(process.pid, signal.SIGINT)  # as the terminal does it: to everyone
        said = process.communicate(timeout=60)[1]
        assert process.returncode not in (0, None)
        assert "KeyboardInterrupt" in said
    else:
        process.kill()
        process.communicate(timeout=60)
    deadline = time.monotonic() + 30
    while processes_with(mark):
        assert time.monotonic() < deadline, processes_with(mark)
        time.sleep(0.1)
    assert len(rows(folder)) < 8
    suite = replace(suites.load("quick"), effort="fast")
    assert runner.run(suite, out=folder, jobs=2, resume=True).ok == 8
    runner.run(suite, out=tmp_path / "undisturbed", jobs=2)
    assert files(folder) == files(tmp_path / "undisturbed")
