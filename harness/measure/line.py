"""Figures of a line that may fail, of runs that are killed, and of four boards at once."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import operator
import os
import random
import resource
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, starmap
from pathlib import Path

import numpy as np

from harness import boards, build, runner, suites
from harness.faulty import Faults, FaultyTarget
from harness.jobs import Job
from harness.measure.figures import Figure
from harness.session import Checks, Session
from harness.spool import SampleLog, Spool
from harness.suites import Suite
from harness.targets.simavr import SimavrTarget
from models import datasets, training

KILLS = 50
LINE_SAMPLES, SOAK_SAMPLES = 2_000, 100_000
DAMAGED = "drop=0.002&flip=0.004&repeat=0.002&insert=0.0015&delay=0.0004&cut=0.0001"
"""1 % of the bytes, the faults mixed."""
SOAK = "drop=0.0002&flip=0.0004&repeat=0.0002&insert=0.00015&delay=0.00004&cut=0.00001&seed=7"
CUT_OFF = 12_000
"""Bytes between two failures of the port: some three hundred samples of letter-26."""
TABLES = ("rows.csv", "samples.csv")
WHO = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
KILLED = Suite(
    "killed",
    "",
    ("cancer", "digits"),
    ("linear",),
    ("int8", "float32"),
    (512,),
    effort="fast",
    samples=300,
)


def rows_over_a_bad_line() -> Iterator[Figure]:
    """A whole run over a line with faults against one over a clean one, file by file."""
    suite = Suite(
        "line", "", ("letter-26",), ("linear",), ("int8",), (2048,), effort="fast", samples=LINE_SAMPLES
    )
    if not datasets.status("letter-26").available:  # digits is always there, with fewer samples
        suite = replace(suite, datasets=("digits",))
    with tempfile.TemporaryDirectory() as folder:
        clean = Path(folder, "clean")
        runner.run(suite, out=clean, jobs=1)
        count = len(_tables(clean)[1].splitlines()) - 1
        for what, text in (
            *((f"1 % of bytes damaged, seed {seed}", f"{DAMAGED}&seed={seed}") for seed in (1, 2)),
            ("the port failing every few hundred samples", f"close={CUT_OFF}"),
        ):
            bad = Path(folder, text.replace("&", "-"))
            runner.run(suite, out=bad, jobs=1, faults=Faults.parse(text))
            same = sum(starmap(operator.eq, zip(_tables(bad), _tables(clean), strict=True)))
            resent, restarts = _troubles(bad)
            detail = f"{count} samples, {resent} requests sent again, {restarts} restarts"
            yield Figure(f"tables byte-identical to a clean run's, {what}", same, 2, detail=detail)


def _troubles(folder: Path) -> tuple[int, int]:
    (about,) = json.loads((folder / "run.json").read_text(encoding="utf8"))["jobs"].values()
    return about["resent"], about["restarts"]


def soak() -> Iterator[Figure]:
    """Hours of a real board in minutes: many predictions, few bytes damaged, memory watched."""
    data = datasets.load("digits")
    uno = boards.load("uno")
    model = training.train("linear", data, budget=512, effort="fast").device("int8")
    X = np.resize(data.X_test, (SOAK_SAMPLES, data.X_test.shape[1]))
    y = np.resize(data.y_test, SOAK_SAMPLES)
    memory: list[int] = []

    def watch(done: int) -> None:
        if done % (SOAK_SAMPLES // 100) == 0:
            memory.append(_resident())

    target = FaultyTarget(SimavrTarget(uno, build.build(model, uno).elf), Faults.parse(SOAK))
    began = time.monotonic()
    with _log() as log:
        try:
            found = Session(target, model, log).run(X, y, Checks(0), watch)
        finally:
            target.close()
        seconds = time.monotonic() - began
        once = [sample.cycles for sample in islice(log.read(), len(data.X_test))]
        wrong, astray = 0, 0
        for number, sample in enumerate(log.read()):
            astray += sample.number != number
            wrong += (
                sample.device_class != sample.host_class or sample.cycles != once[sample.number % len(once)]
            )
        lost = abs(SOAK_SAMPLES - log.stored)
    detail = f"{found.resent} requests sent again, {found.restarts} restarts, {seconds:.0f} s"
    yield Figure("wrong rows of 100,000 with 0.1 % of bytes damaged", wrong, 0, at_most=True, detail=detail)
    yield Figure("lost or doubled rows", lost + astray, 0, at_most=True)
    tenth = memory[len(memory) // 10 :]
    growth = (max(tenth) - tenth[0]) / 1024
    detail = f"{tenth[0] / 2**20:.1f} MiB there, at most {max(tenth) / 2**20:.1f} MiB later"
    yield Figure(
        "growth of the harness's memory after 10,000 samples",
        growth,
        256,
        " KiB",
        at_most=True,
        detail=detail,
    )


@contextlib.contextmanager
def _log() -> Iterator[SampleLog]:
    with tempfile.TemporaryDirectory() as folder:
        spool = Spool(Path(folder, "parts"))
        spool.prepare()
        with SampleLog(spool, Job("uno", "digits", "linear", "int8", 512)) as log:
            yield log


def kills() -> Iterator[Figure]:
    """A suite killed (-9) at random moments and continued, against one that was left alone."""
    with tempfile.TemporaryDirectory() as folder:
        _run(Path(folder, "first"))  # what is trained and built once is there for all that follow
        began = time.monotonic()
        _run(Path(folder, "whole"))
        whole = time.monotonic() - began
        expected = _tables(Path(folder, "whole"))
        dice = random.Random(0)
        killed, runs, same = 0, 0, 0
        while killed < KILLS:
            runs += 1
            out = Path(folder, f"run-{runs}")
            finished = False
            while killed < KILLS and not finished:
                # Two workers beside the one who writes, now and then.
                finished = _run(out, dice.uniform(0, 0.9) * whole, jobs=dice.choice((1, 1, 1, 2)))
                killed += not finished
            finished = finished or _run(out)
            same += _tables(out) == expected
        detail = f"{runs} runs, {whole:.1f} s each if undisturbed"
        yield Figure(
            f"runs killed {killed} times in all that end with the same tables", same, runs, detail=detail
        )


def four_boards() -> Iterator[Figure]:
    """Of the time of all cores, what the run and its simulators used, with four jobs at a time."""
    suite = replace(
        suites.load("quick"), effort="fast", models=("protonn",), numbers=("float32",), budgets=(512, 1024)
    )
    with tempfile.TemporaryDirectory() as folder:
        runner.run(suite, out=Path(folder, "first"))  # trained and built: what is left is measuring
        idle, began, used = _idle(), time.monotonic(), _cpu()
        runner.run(suite, out=Path(folder, "run"), jobs=4)
        wall = time.monotonic() - began
        cores = os.cpu_count() or 1
        share = 100 * (_cpu() - used) / (wall * cores)
        busy = 100 * (1 - (_idle() - idle) / (wall * cores))
    detail = f"{wall:.1f} s, the run itself {share:.0f} % of them"
    yield Figure(f"how busy four simulated boards keep {cores} cores", busy, 80, " %", detail=detail)


def _run(out: Path, kill_after: float | None = None, jobs: int = 1) -> bool:
    """Start or continue the suite in a process of its own; whether it came to its end."""
    # A fork has all libraries loaded: moments before the first file is opened are not worth killing at.
    process = multiprocessing.get_context("fork").Process(
        target=runner.run, args=(KILLED,), kwargs={"out": out, "jobs": jobs, "resume": True}
    )
    process.start()
    process.join(kill_after)
    if process.is_alive():
        process.kill()
        process.join()
        return False
    if process.exitcode:
        raise RuntimeError(f"the run in {out} failed")
    return True


def _tables(folder: Path) -> list[bytes]:
    return [(folder / table).read_bytes() for table in TABLES]


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="utf8").split()[1])
    return pages * resource.getpagesize()


def _cpu() -> float:
    """Seconds of this process and of those it has started and seen the end of, or still has."""
    import psutil

    total = sum(resource.getrusage(who).ru_utime + resource.getrusage(who).ru_stime for who in WHO)
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            times = child.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total


def _idle() -> float:
    """Seconds that the machine's cores had nothing to do."""
    import psutil

    return float(psutil.cpu_times().idle)


# The boards side by side come last: a process that has workers cannot be forked for the kills.
SOURCES = (rows_over_a_bad_line, kills, soak, four_boards)
