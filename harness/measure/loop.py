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

from harness import boards, build, qemuproof, runner, suites
from harness.measure.figures import Figure, spread
from harness.session import Checks, Session
from harness.spool import SampleLog, Spool
from harness.targets.simavr import SimavrTarget
from models import datasets, training

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


def simulation_speed() -> Iterator[Figure]:
    """Wall time of sessions against the time the simulator itself was busy with them."""
    board = boards.load("uno")
    data = datasets.load("digits")
    trained = training.train("protonn", data, budget=BUDGET, effort="fast")
    walls, busy, simulated = 0.0, 0.0, 0.0
    for numbers in ("int8", "float32"):
        model = trained.device(numbers)
        elf = build.build(model, board).elf
        with tempfile.TemporaryDirectory() as folder, SimavrTarget(board, elf) as target:
            spool = Spool(Path(folder))
            spool.prepare()
            job = suites.load("quick").jobs(board.name)[0]
            with SampleLog(spool, job) as log:
                session = Session(target, model, log)
                before = target.facts()
                start = time.perf_counter()
                session.run(data.X_test, data.y_test, Checks.named("none", len(data.X_test)))
                wall = time.perf_counter() - start
                after = target.facts()
        spent = (after.cpu_seconds or 0) - (before.cpu_seconds or 0)
        awake = (
            (after.cycles or 0) - (after.slept or 0) - (before.cycles or 0) + (before.slept or 0)
        ) / board.clock_hz
        if numbers == "float32":
            yield Figure("simulated seconds awake / simulator's seconds, float firmware", awake / spent, 10)
        yield Figure(
            f"session time / simulator's time, ProtoNN {numbers} on digits", wall / spent, 1.3, at_most=True
        )
        walls, busy, simulated = walls + wall, busy + spent, simulated + awake
    yield Figure("session time / simulator's time, both together", walls / busy, 1.3, at_most=True)


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
