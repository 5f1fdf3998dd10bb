"""Writes run folders that look like real ones, for tests of what reads them."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.jobs import KEY_COLUMNS, ROW_COLUMNS
from harness.report import rundata
from harness.report.page import render
from harness.store import SAMPLE_COLUMNS, SCHEMA

CLOCK_HZ = 16_000_000
SHAPES: dict[tuple[str, str, str], tuple[int, float, int]] = {
    # dataset, model, numbers: model bytes, accuracy, cycles
    ("digits", "protonn", "int8"): (1987, 0.9733, 21_412),
    ("digits", "protonn", "float32"): (7604, 0.9756, 398_220),
    ("digits", "linear", "int8"): (856, 0.9689, 11_030),
    ("digits", "linear", "float32"): (2600, 0.9711, 182_700),
    ("cancer", "protonn", "int8"): (1204, 0.9720, 9_731),
    ("cancer", "protonn", "float32"): (4432, 0.9720, 151_009),
    ("cancer", "linear", "int8"): (38, 0.9650, 812),
    ("cancer", "linear", "float32"): (124, 0.9650, 9_044),
}
USPS: dict[tuple[str, str, str], tuple[int, float, int]] = {
    ("usps-2", "protonn", "int8"): (2011, 0.9532, 33_114),
    ("usps-2", "protonn", "float32"): (7804, 0.9547, 560_110),
    ("usps-2", "linear", "int8"): (260, 0.8351, 3_998),
    ("usps-2", "linear", "float32"): (1028, 0.8361, 72_113),
}
SAMPLES = {"digits": 450, "cancer": 143, "usps-2": 2007}


def row(dataset: str, model: str, numbers: str, **changes: Any) -> dict[str, Any]:
    """One measured line; `changes` are columns to set otherwise."""
    flash, accuracy, cycles = {**SHAPES, **USPS}[dataset, model, numbers]
    n = SAMPLES[dataset]
    return {
        "board": "uno",
        "target": "simavr",
        "dataset": dataset,
        "model": model,
        "numbers": numbers,
        "budget": 2048,
        "seed": 0,
        "speed": "no",
        "max_ms": "",
        "shape": "",
        "flash_model": flash,
        "flash_total": flash + (2890 if numbers == "int8" else 4420),
        "ram_static": 412,
        "stack_peak": 96,
        "paper_kB": round(flash * 3.2 / 1024, 3),
        "n_samples": n,
        "clipped": 0,
        "accuracy": round(accuracy * n) / n,
        "agreement": 1.0,
        "timing": "cycle-exact",
        "cycles_median": cycles,
        "cycles_min": cycles - 12,
        "cycles_max": cycles + 9,
        "ms": cycles / CLOCK_HZ * 1e3,
        "energy_uJ": cycles / CLOCK_HZ * 46_000,
        "energy_kind": "modelled",
        "status": "ok",
        "reason": "",
        **changes,
    }


def skipped(dataset: str, model: str, numbers: str, reason: str) -> dict[str, Any]:
    """A line for a job that was not measured, with why."""
    blank = dict.fromkeys(ROW_COLUMNS, "")
    known = {"board": "uno", "target": "simavr", "dataset": dataset, "model": model, "numbers": numbers}
    return {**blank, **known, "budget": 16384, "status": "skipped", "reason": reason}


def rows(*, usps: bool = False) -> list[dict[str, Any]]:
    shapes = {**SHAPES, **(USPS if usps else {})}
    return [row(*key) for key in shapes]


def write(folder: Path, lines: list[dict[str, Any]], **about: Any) -> Path:
    """A run folder with these lines in rows.csv, and as many samples of each as it tells."""
    folder.mkdir(parents=True, exist_ok=True)
    measured = {
        "compiler": "avr-gcc 5.4.0",
        "flags": "-std=c11 -mmcu=atmega328p -O2",
        "streaming": False,
        "timing": "cycle-exact (simulated)",
        "simulator": "simavr 1.6",
        "overruns": 0,
        "resent": 0,
        "restarts": 0,
    }
    described = {
        "schema": SCHEMA,
        "suite": "quick",
        "title": "Small datasets, integer and float firmware",
        "definition": {"effort": "normal", "samples": None},
        "board": "uno",
        "target": "simavr",
        "seeds": [0],
        "versions": {"python": "3.11.2", "kilobench": "0.1.0", "numpy": "2.4.6"},
        "git": {"commit": "0123456789abcdef0123456789abcdef01234567", "dirty": False},
        "host": {"system": "Linux", "machine": "x86_64", "cpus": 2},
        "started": "2026-01-01T00:00:00+00:00",
        "finished": "2026-01-01T00:01:00+00:00",
        "jobs": {str(number): measured for number in range(len(lines))},
        **about,
    }
    (folder / "run.json").write_text(json.dumps(described, indent=2), encoding="utf8")
    _write_csv(folder / "rows.csv", ROW_COLUMNS, lines)
    _write_csv(
        folder / "samples.csv", SAMPLE_COLUMNS, [sample for line in lines for sample in _samples(line)]
    )
    return folder


def page(folder: Path) -> str:
    """The report of three datasets, each job of which has stages."""
    stages = [{"name": "projection", "what": "10 rows", "cycles": 8000, "floor": 7000}]
    lines = rows(usps=True)
    jobs = {
        str(number): {"key": [str(line[column]) for column in KEY_COLUMNS], "stages": stages}
        for number, line in enumerate(lines)
    }
    return render(rundata.read(write(folder, lines, jobs=jobs)))


def _samples(line: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """As many right ones as the accuracy says, then wrong ones."""
    total = int(line["n_samples"] or 0)
    right = round(float(line["accuracy"] or 0) * total)
    for number in range(total):
        answer = "1" if number < right else "0"
        yield {
            **{column: line[column] for column in KEY_COLUMNS},
            "sample": number,
            "label": "1",
            "device_class": answer,
            "host_class": answer,
            "cycles": line["cycles_median"],
        }


def _write_csv(path: Path, columns: tuple[str, ...], lines: list[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
