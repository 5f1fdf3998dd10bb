"""Writes run folders that look like real ones, for tests of what reads them."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from harness.report.rundata import COLUMNS

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
        "flash_model": flash,
        "flash_total": flash + (2890 if numbers == "int8" else 4420),
        "ram_static": 412,
        "stack_peak": 96,
        "paper_kB": round(flash * 3.2 / 1024, 3),
        "n_samples": n,
        "accuracy": round(accuracy * n) / n,
        "agreement": 1.0,
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
    blank = dict.fromkeys(COLUMNS, "")
    known = {"board": "uno", "target": "simavr", "dataset": dataset, "model": model, "numbers": numbers}
    return {**blank, **known, "budget": 16384, "status": "skipped", "reason": reason}


def rows(*, usps: bool = False) -> list[dict[str, Any]]:
    shapes = {**SHAPES, **(USPS if usps else {})}
    return [row(*key) for key in shapes]


def write(folder: Path, lines: list[dict[str, Any]], **about: Any) -> Path:
    """A run folder with these lines in rows.csv."""
    folder.mkdir(parents=True, exist_ok=True)
    described = {
        "schema": 1,
        "suite": "quick",
        "board": "uno",
        "target": "simavr",
        "versions": {"kilobench": "0.1.0", "python": "3.11.2", "numpy": "2.4.6", "simavr": "1.6"},
        "compiler": "avr-gcc (GCC) 5.4.0",
        "flags": "-O2 -std=c11 -flto",
        "git": {"commit": "0123456789abcdef", "dirty": False},
        "seeds": [0],
        **about,
    }
    (folder / "run.json").write_text(json.dumps(described, indent=2), encoding="utf8")
    with (folder / "rows.csv").open("w", encoding="utf8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
    return folder
