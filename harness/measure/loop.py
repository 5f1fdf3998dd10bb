"""Figures of the whole loop: from a dataset to rows measured on simulated boards."""

from __future__ import annotations

import csv
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from harness import boards, build, qemuproof, runner, suites
from harness.measure.figures import Figure, spread
from harness.session import Checks, Session
from harness.spool import SampleLog, Spool
from harness.targets.simavr import SimavrTarget
from models import datasets, training
from models.datasets import Dataset
from models.device import DeviceModel

SEEDS = range(5)
BUDGET = 2048


def accuracy_on_digits() -> Iterator[Figure]:
    data = datasets.load("digits")
    models = [training.train("protonn", data, budget=BUDGET, seed=seed).report for seed in SEEDS]
    percents = [100 * report["test_accuracy"] for report in models]
    bytes_used = max(report["flash_bytes"] for report in models)
    yield Figure(
        "ProtoNN int8 on digits, mean test accuracy",
        statistics.mean(percents),
        96.5,
        " %",
        detail=spread(percents),
    )
    yield Figure("its flash bytes, largest of the seeds", bytes_used, BUDGET, " B", at_most=True)


def agreement_and_speed_up() -> Iterator[Figure]:
    """The suite `quick` on every board that can be simulated here, and twice on one of them."""
    with tempfile.TemporaryDirectory() as folder:
        there = [name for name in boards.names() if not qemuproof.lacks(boards.load(name))]
        runs = {name: _quick(Path(folder, name), name) for name in there}
        again = Path(folder, "again")
        _quick(again, "uno")
        for name, rows in runs.items():
            worst = min(100 * float(row["agreement"] or 0) for row in rows)
            count = sum(int(row["n_samples"] or 0) for row in rows)
            yield Figure(
                f"agreement of host and {name}, worst row", worst, 100, " %", detail=f"{count} predictions"
            )
        cycles = {
            (row["dataset"], row["numbers"]): float(row["cycles_median"])
            for row in runs["uno"]
            if row["model"] == "protonn"
        }
        for dataset in ("digits", "cancer"):
            ratio = cycles[dataset, "float32"] / cycles[dataset, "int8"]
            yield Figure(f"float cycles / integer cycles, ProtoNN on {dataset}", ratio, 8)
        same = sum(
            Path(folder, "uno", name).read_bytes() == (again / name).read_bytes()
            for name in ("rows.csv", "samples.csv")
        )
        yield Figure("files that are byte-identical in two runs (rows.csv, samples.csv)", same, 2)


class Speed(NamedTuple):
    """Of one session: seconds on the wall, seconds of the simulator's, and simulated seconds awake."""

    wall: float
    busy: float
    awake: float


def simulation_speed() -> Iterator[Figure]:
    """Wall time of sessions against the time the simulator itself was busy with them.

    A session of a tenth of a second is at the mercy of whatever else the machine does then, so the one in
    the middle of several counts.
    """
    data = datasets.load("digits")
    trained = training.train("protonn", data, budget=BUDGET, effort="fast")
    middle = {}
    for numbers, sessions in (("int8", 15), ("float32", 3)):
        model = trained.device(numbers)
        speeds = sorted((_speed(model, data) for _ in range(sessions)), key=lambda one: one.wall / one.busy)
        ratios = [one.wall / one.busy for one in speeds]
        middle[numbers] = one = speeds[sessions // 2]
        if numbers == "float32":
            ratio = one.awake / one.busy
            yield Figure("simulated seconds awake / simulator's seconds, float firmware", ratio, 10)
        yield Figure(
            f"session time / simulator's time, ProtoNN {numbers} on digits",
            one.wall / one.busy,
            1.3,
            at_most=True,
            detail=f"the median of {sessions} sessions, {ratios[0]:.2f} to {ratios[-1]:.2f}",
        )
    both = sum(one.wall for one in middle.values()) / sum(one.busy for one in middle.values())
    yield Figure("session time / simulator's time, both together", both, 1.3, at_most=True)


def _speed(model: DeviceModel, data: Dataset) -> Speed:
    board = boards.load("uno")
    elf = build.build(model, board).elf
    with tempfile.TemporaryDirectory() as folder, SimavrTarget(board, elf) as target:
        spool = Spool(Path(folder))
        spool.prepare()
        with SampleLog(spool, suites.load("quick").jobs(board.name)[0]) as log:
            session = Session(target, model, log)
            before = target.facts()
            start = time.perf_counter()
            session.run(data.X_test, data.y_test, Checks.named("none", len(data.X_test)))
            wall = time.perf_counter() - start
            after = target.facts()
    cycles = (after.cycles or 0) - (after.slept or 0) - (before.cycles or 0) + (before.slept or 0)
    return Speed(wall, (after.cpu_seconds or 0) - (before.cpu_seconds or 0), cycles / board.clock_hz)


def start_of_the_command() -> Iterator[Figure]:
    command = [str(Path(sys.executable).parent / "kilobench"), "--help"]
    times = []
    for _ in range(7):
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    yield Figure("kilobench --help, median of 7", statistics.median(times), 0.3, " s", at_most=True)


def _quick(folder: Path, board: str) -> list[dict[str, str]]:
    runner.run("quick", board=board, out=folder)
    with (folder / "rows.csv").open(newline="", encoding="utf8") as file:
        return list(csv.DictReader(file))


SOURCES = (accuracy_on_digits, agreement_and_speed_up, simulation_speed, start_of_the_command)
