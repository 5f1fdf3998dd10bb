"""A recording that any instrument has written as CSV.

Columns are found by their headings, such as `Timestamp(ms)`, `Current [uA]` or `I (A)`, or are named:

    csv:trace.csv,time=Timestamp(ms),current=CH1:mA,trigger=D0,volts=5

A file that grows while the measurement runs gives what was added to it; one that does not gives all it has.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.errors import InputError, MeterError
from harness.power.base import MEASURED, Closing, Floats, Trace
from harness.power.registry import Options

UNITS = {
    "time": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ns": 1e-9, "min": 60.0},
    "current": {"A": 1.0, "mA": 1e-3, "uA": 1e-6, "µA": 1e-6, "μA": 1e-6, "nA": 1e-9},
    "voltage": {"V": 1.0, "mV": 1e-3, "uV": 1e-6, "µV": 1e-6},
    "trigger": {},
}
NAMES = {
    "time": r"t|time|timestamp|seconds?|elapsed|elapsed time|x",
    "current": r"i|current|amps?|amperes?|main current|i out",
    "voltage": r"v|u|voltage|volts?|main voltage|vdd|supply|bus voltage",
    "trigger": r"trigger|trig|d0|gpi0|gpi\[0\]|gpio|digital|logic|marker",
}
HEADING = re.compile(r"^\s*(?P<name>.*?)\s*(?:[\[(/,]\s*(?P<unit>[^\])]+?)\s*[\])]?)?\s*$")
UNEVEN = 0.5
"""Of the usual step, by which one may differ. A longer one is a hole, whose samples are counted as lost."""
UNEVEN_SHARE = 0.01
"""Of all steps, which may be neither regular nor a hole of whole samples."""


@dataclass(frozen=True)
class Column:
    index: int
    scale: float


class RecordingMeter(Closing):
    kind = MEASURED

    def __init__(self, path: Path, named: dict[str, str], volts: float | None) -> None:
        self.name = f"recording {path.name}"
        self._path = path
        self._named = named
        self._volts = volts
        self._skip: int | None = None
        self._closed = False
        self.rate = self._read(0).rate

    def __enter__(self) -> RecordingMeter:
        return self

    def start(self) -> None:
        if self._closed or self._skip is not None:
            raise MeterError(f"The {self.name} is closed, or started already.", "Open it, or stop it first.")
        self._skip = self._path.stat().st_size

    def stop(self) -> Trace:
        if self._skip is None:
            raise MeterError(f"The {self.name} was not started.", "Call start before stop.")
        skip, self._skip = self._skip, None
        return self._read(skip if self._path.stat().st_size > skip else 0)

    def close(self) -> None:
        self._closed = True
        self._skip = None

    def _read(self, skip: int) -> Trace:
        """What follows the first `skip` bytes, under the heading at the file's begin."""
        try:
            data = self._path.read_bytes()
        except OSError as error:
            raise InputError(f"{self._path} cannot be read: {error.strerror}.", "Check the name.") from error
        text = data.decode("utf-8-sig", errors="replace")
        begin = len(data[:skip].decode("utf-8-sig", errors="replace"))
        return parse(text, begin, self._named, self._volts, str(self._path))


def open_recording(options: Options) -> RecordingMeter:
    if not options.place:
        raise options.wrong("its file is missing", "Write csv:trace.csv, for example.")
    named = {kind: told for kind in NAMES if (told := options.text(kind))}
    volts = options.number("volts", "V", 0.0)
    options.finish()
    return RecordingMeter(Path(options.place), named, volts or None)


def parse(text: str, begin: int, named: dict[str, str], volts: float | None, where: str) -> Trace:
    """A trace from the lines after position `begin`; InputError says what is wrong with the file."""
    heading, body = _heading(text, where)
    separator = max(";\t,", key=heading.count)
    cells = [cell.strip().strip('"') for cell in next(csv.reader([heading], delimiter=separator))]
    columns = {kind: _find(kind, cells, named.get(kind), where) for kind in NAMES}
    for kind in ("time", "current"):
        if columns[kind] is None:
            raise InputError(
                f"{where} has no column for the {kind} among {', '.join(cells)}.",
                f"Name it with its unit: {kind}=COLUMN:{next(iter(UNITS[kind]))}.",
            )
    if columns["voltage"] is None and volts is None:
        raise InputError(f"{where} has no column for the voltage.", "State the supply's voltage: volts=5.")
    table = _numbers(text[max(begin, body) :], columns, separator, where)
    time, current = table["time"], table["current"]
    step, lost = _time_base(time, where)
    stated = columns["voltage"] is None
    trigger = None
    if "trigger" in table:
        levels = table["trigger"]
        trigger = (levels > (levels.min() + levels.max()) / 2).astype(np.float64)
    return Trace(
        time=time,
        current=current,
        voltage=np.full(len(time), volts) if stated else table["voltage"],
        end=float(time[-1] + step),
        rate=1 / step,
        kind=MEASURED,
        trigger=trigger,
        lost=lost,
        # Whether a level belongs to the begin or to the end of its sample is not told.
        settle=step,
        volts_stated=stated,
    )


def _heading(text: str, where: str) -> tuple[str, int]:
    """The last line before the numbers, and where these begin; what instruments write above is left out."""
    at = 0
    before = ""
    for line in io.StringIO(text):
        if before and re.match(r'^[\s"]*[-+]?[\d.]', line):
            return before, at
        if line.strip():
            before = line.strip().lstrip("#").strip()
        at += len(line)
    raise InputError(f"{where} holds no heading with numbers below.", "Export it as CSV with column names.")


def _find(kind: str, cells: Sequence[str], told: str | None, where: str) -> Column | None:
    """By the name that was told, with its unit behind a colon, or by the usual ones."""
    units = UNITS[kind]
    if told is not None:
        name, _, unit = told.partition(":")
        for index, cell in enumerate(cells):
            if name in (cell, _split(cell)[0]):
                return Column(index, _scale(units, unit or _split(cell)[1], told, where))
        raise InputError(f"{where} has no column {name!r}.", f"It has {', '.join(cells)}.")
    for index, cell in enumerate(cells):
        name, unit = _split(cell)
        fits = re.fullmatch(NAMES[kind], name.lower().replace("_", " ")) is not None
        if (fits and (not units or not unit or unit in units)) or (unit in units and kind != "time"):
            return Column(index, _scale(units, unit, cell, where))
    return None


def _split(cell: str) -> tuple[str, str]:
    """Name and unit: Current(uA), Current [uA], Current / uA, current_uA."""
    found = HEADING.match(cell)
    name, unit = (found["name"], found["unit"] or "") if found else (cell, "")
    if not unit and "_" in name and any(name.rpartition("_")[2] in units for units in UNITS.values()):
        name, _, unit = name.rpartition("_")
    return name, unit


def _scale(units: dict[str, float], unit: str, cell: str, where: str) -> float:
    if not units or not unit:
        return 1.0
    if unit not in units:
        raise InputError(f"{where}: {cell} is in {unit}.", f"Known: {', '.join(units)}.")
    return units[unit]


def _numbers(text: str, columns: dict[str, Column | None], separator: str, where: str) -> dict[str, Floats]:
    # The comma is the decimal sign of half of Europe, and then never the separator.
    comma = "," if separator != "," else "."
    used = {kind: column for kind, column in columns.items() if column is not None}
    found: dict[str, list[float]] = {kind: [] for kind in used}
    for number, cells in enumerate(csv.reader(io.StringIO(text), delimiter=separator), start=1):
        if not cells:
            continue
        try:
            values = {
                kind: float(cells[column.index].replace(comma, ".")) * column.scale
                for kind, column in used.items()
            }
        except (ValueError, IndexError):
            raise InputError(
                f"{where}, sample {number}: {separator.join(cells)[:60]!r} are not the numbers of a sample.",
                "Export it with plain numbers; times as seconds or milliseconds.",
            ) from None
        for kind, value in values.items():
            found[kind].append(value)
    if len(found["time"]) < 2:
        raise InputError(f"{where} holds no two samples.", "Record for longer.")
    return {kind: np.array(values, np.float64) for kind, values in found.items()}


def _time_base(time: Floats, where: str) -> tuple[float, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """The usual step, and how many samples are missing before each."""
    steps = np.diff(time)
    if np.any(steps <= 0):
        at = int(np.argmax(steps <= 0)) + 1
        raise InputError(
            f"{where}: time does not rise from sample {at} to the next ({time[at - 1]:g} s, {time[at]:g} s).",
            "Export it with more digits of time, or without what was recorded before.",
        )
    step = float(np.median(steps))
    whole = np.round(steps / step)
    uneven = np.abs(steps / step - np.maximum(whole, 1)) > UNEVEN
    if uneven.mean() > UNEVEN_SHARE:
        raise InputError(
            f"{where}: {uneven.mean():.0%} of the steps in time are neither the usual {step:.3g} s nor whole "
            "multiples of it.",
            "Record with a constant rate.",
        )
    lost = np.concatenate(([0], np.maximum(whole - 1, 0))).astype(np.int64)
    return step, lost
