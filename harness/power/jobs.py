"""The energy of one job of a run: measured after its samples, its trace stored beside them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from harness.errors import KilobenchError, MeterError
from harness.jobs import Job
from harness.link.client import Link
from harness.power import modelled, storage
from harness.power.base import MODELLED
from harness.power.procedure import Energy, Subject, measure
from harness.power.registry import open_meter
from harness.tally import Tally
from harness.targets.base import INSTRUCTIONS, Target
from harness.targets.base import MODELLED as MODELLED_CYCLES
from models.device import Array, DeviceModel

DEFAULT = "modelled"
METHOD = (
    "median of the windows, with the 95 % interval from order statistics; net: above a straight line through "
    "the idle power before, between and after the windows; gross: net and that line's value at its begin"
)


@dataclass(frozen=True)
class JobEnergy:
    """What a row says of energy, and what run.json keeps."""

    cells: dict[str, str]
    about: dict[str, Any]
    problem: str = ""
    """Why a measurement that should have been made was not."""


def of_job(
    meter: str,
    job: Job,
    tally: Tally,
    *,
    link: Link,
    target: Target,
    model: DeviceModel,
    X: Array,
    folder: Path,
) -> JobEnergy:
    """Measured on the sample that takes as long as the median of all; its traces go to `folder`."""
    cycles, typical = tally.cycles.median, tally.typical
    if not link.repeats and meter != DEFAULT:
        # A meter needs a prediction that is repeated, and one that is folded in as features come is not.
        return JobEnergy({}, {"meter": meter, "reason": "Streaming firmware cannot repeat a prediction."})
    if meter == DEFAULT and (short := _without_trace(target, cycles, repeats=link.repeats)) is not None:
        return short
    vector = np.ascontiguousarray(model.encode(X[typical : typical + 1])).tobytes()
    # What is wrong with the meter costs the energy, and no more; the board's line is its session's matter.
    try:
        instrument = open_meter(meter)
    except KilobenchError as error:
        return _no_energy(meter, error)
    try:
        with instrument:
            found = measure(link, target, instrument, Subject(target.board, vector, cycles))
    except MeterError as error:
        return _no_energy(meter, error)
    files = []
    for number, taken in enumerate(found.rounds):
        path = folder / f"{job.name}{f'-{number + 1}' if number else ''}{storage.SUFFIX}"
        storage.save(path, taken.trace, taken.spans, {"job": job.name, "meter": found.meter})
        files.append(f"{folder.name}/{path.name}")
    return JobEnergy(_cells(found), {**_about(found), "sample": typical, "traces": files})


def _no_energy(meter: str, error: KilobenchError) -> JobEnergy:
    return JobEnergy({}, {"meter": meter, "reason": str(error)}, f"No energy: {error}")


def _without_trace(target: Target, cycles: float, *, repeats: bool) -> JobEnergy | None:
    """What is to be said where nothing can be followed that a trace could be modelled from."""
    board = target.board
    timing = target.facts().timing
    if board.power is None or timing == INSTRUCTIONS:
        why = "The board file states no currents" if board.power is None else "Only instructions are known"
        return JobEnergy({}, {"meter": DEFAULT, "reason": f"{why}, so no energy can be modelled."})
    if repeats and timing != MODELLED_CYCLES:
        return None
    gross = modelled.microjoules(board, cycles)
    cells = {
        "energy_uJ": _number(gross),
        "energy_net_uJ": _number(gross - modelled.microjoules(board, cycles, cycles)),
        "energy_kind": MODELLED,
        "energy_meter": DEFAULT,
        "volts": _number(board.power.volts),
        "volts_kind": "stated",
    }
    return JobEnergy(cells, {"meter": DEFAULT, "reason": "Cycles times the board file's currents; no trace."})


def _cells(energy: Energy) -> dict[str, str]:
    return {
        "energy_uJ": _number(energy.gross),
        "energy_low_uJ": _number(energy.gross_interval.low),
        "energy_high_uJ": _number(energy.gross_interval.high),
        "energy_net_uJ": _number(energy.net),
        "energy_kind": energy.kind,
        "energy_meter": energy.meter,
        "volts": _number(energy.volts),
        "volts_kind": "stated" if energy.volts_stated else "measured",
    }


def _about(energy: Energy) -> dict[str, Any]:
    return {
        "meter": energy.meter,
        "kind": energy.kind,
        "method": METHOD,
        "gross_uJ": [energy.gross_interval.low, energy.gross, energy.gross_interval.high],
        "net_uJ": [energy.net_interval.low, energy.net, energy.net_interval.high],
        "windows": energy.windows,
        "repeats": energy.repeats,
        "windows_measured_again": energy.rejected,
        "samples_dropped": energy.dropped,
        "idle_mA": [energy.idle_before_mA, energy.idle_after_mA],
        "volts": energy.volts,
        "volts_stated": energy.volts_stated,
        "clock_ratio": energy.clock_ratio,
    }


def _number(value: float) -> str:
    # In two steps: windows that differ in the last bit of a double must not differ in a row.
    return f"{float(f'{value:.10g}'):.6g}"
