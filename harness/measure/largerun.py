"""Run folders of any size in the form of a real one: what the reference run has, varied by a fixed rule.

Nothing is measured in them; what reads run folders is measured with them.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np

from harness import boards, jobs, paths, suites
from harness.errors import DoesNotFit
from harness.jobs import KEY_COLUMNS, ROW_COLUMNS, Job
from harness.power import storage
from harness.power.base import Trace
from harness.power.windows import Span
from harness.report import runfiles
from harness.spool import quoted
from harness.store import SAMPLE_COLUMNS

BOARD = "uno"
SAMPLES = 450
"""A job, as digits has; a run of 500 jobs then has a quarter of a million lines."""
SKIPPED_EVERY = 40
CHANGED_EVERY = 5
"""Every so many jobs of a later run are slower, and err otherwise."""
DATASETS = ("digits", "cancer", "usps-2", "usps-10", "mnist-2", "mnist-10", "letter-26", "isolet", "adult")
BUDGETS = (512, 1024, 2048, 4096)
NUMBERS = ("int8", "float32")

Sample = tuple[int, int, int, int, int]
"""Number, label, class on device and host, cycles."""


def five_hundred() -> list[Job]:
    """Every model of the reference on many datasets and within several budgets."""
    models = suites.load("reference").models
    every = product(DATASETS, models, NUMBERS, BUDGETS)
    return [Job(BOARD, *cell) for cell in islice(every, 500)]


def all_suites() -> list[Job]:
    """Every row of the suites that report on a board, each once."""
    found = [job for name in ("quick", "uno", "paper") for job in suites.load(name).jobs(BOARD)]
    return list({job.key: job for job in found}.values())


def write(folder: Path, wanted: Sequence[Job], *, later: bool = False) -> Path:
    """A finished run of these jobs; `later`: after a change that made some of them slower."""
    reference = paths.project() / "results" / "reference"
    described = runfiles.about(reference / "run.json")
    known = {about["key"][2]: about for about in described["jobs"].values()}
    patterns = {
        line[ROW_COLUMNS.index("model")]: dict(zip(ROW_COLUMNS, line, strict=True))
        for line in runfiles.lines(reference / "rows.csv", ROW_COLUMNS, [])
    }
    rows, lines, abouts = [], [], {}
    for number, job in enumerate(wanted):
        model = job.model if job.model in patterns else list(patterns)[number % len(patterns)]
        if number % SKIPPED_EVERY == SKIPPED_EVERY - 1:
            rows.append(_skipped(job))
            continue
        changed = later and number % CHANGED_EVERY == 0
        samples = list(_samples(number, patterns[model], changed))
        rows.append(_row(job, number, patterns[model], samples))
        lines += [(*job.key, *map(str, sample)) for sample in samples]
        abouts[job.name] = _about(folder, job, known[model])
    folder.mkdir(exist_ok=True)
    about = {**described, "suite": "large", "jobs": abouts}
    (folder / "run.json").write_text(json.dumps(about, indent=2, ensure_ascii=False), "utf8")
    _write(folder / "rows.csv", ROW_COLUMNS, ([row[column] for column in ROW_COLUMNS] for row in rows))
    _write(folder / "samples.csv", SAMPLE_COLUMNS, lines)
    return folder


def _samples(number: int, pattern: Mapping[str, str], changed: bool) -> Iterator[Sample]:
    """Of ten labels, with about as many mistakes as the pattern has."""
    chance = random.Random(number)
    wrong = 1 - float(pattern["accuracy"]) + (0.02 if changed else 0.0)
    cycles = round(float(pattern["cycles_median"]) * _factor(number) * (1.02 if changed else 1.0))
    for place in range(SAMPLES):
        label = place % 10
        draw, other = chance.random(), chance.randrange(1, 10)
        answer = (label + other) % 10 if draw < wrong else label
        yield place, label, answer, answer, cycles


def _factor(number: int) -> float:
    return 1 + number % 7 / 10


def _row(job: Job, number: int, pattern: Mapping[str, str], samples: Sequence[Sample]) -> Mapping[str, str]:
    cycles = samples[0][-1]
    flash = round(int(pattern["flash_model"]) * job.budget / 1024)
    code = int(pattern["flash_total"]) - int(pattern["flash_model"])
    right = sum(label == answer for _, label, answer, _, _ in samples)
    return {
        **pattern,
        **dict(zip(KEY_COLUMNS, job.key, strict=True)),
        **{"flash_model": str(flash), "flash_total": str(code + flash), "paper_kB": f"{flash / 256:.3f}"},
        **{"n_samples": str(len(samples)), "accuracy": f"{right / len(samples):.6f}"},
        **dict.fromkeys(("cycles_median", "cycles_min", "cycles_max"), str(cycles)),
        "ms": f"{boards.load(job.board).milliseconds(cycles):.6g}",
        **{name: f"{float(pattern[name]) * _factor(number):.6g}" for name in ENERGIES},
    }


ENERGIES = ("energy_uJ", "energy_low_uJ", "energy_high_uJ", "energy_net_uJ")


def _skipped(job: Job) -> Mapping[str, str]:
    reason = DoesNotFit("The firmware takes 41000 B of the 32256 B of flash.", "Choose a smaller budget.")
    return jobs.unmeasured(job, "simavr", reason)


def _about(folder: Path, job: Job, pattern: Mapping[str, Any]) -> dict[str, Any]:
    """What run.json has of the job, and the trace of its current."""
    name = f"traces/{job.name}.npz"
    storage.save(folder / name, _trace(), [Span(0.1, 0.2), Span(0.3, 0.4)], {"meter": "modelled"})
    return {**pattern, "key": list(job.key), "energy": {**pattern["energy"], "traces": [name]}}


def _trace() -> Trace:
    """Two windows of work between idle stretches."""
    times = np.array([0.0, 0.1, 0.2, 0.3, 0.4])
    busy = np.array([False, True, False, True, False])
    return Trace(times, np.where(busy, 9.2e-3, 2.3e-3), np.full(5, 5.0), 0.5, np.inf, "modelled")


def _write(path: Path, columns: Iterable[str], lines: Iterable[Iterable[str]]) -> None:
    path.write_text("".join(f"{quoted(line)}\n" for line in (columns, *lines)), "utf8")
