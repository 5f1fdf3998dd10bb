"""The modelled meter: what a board would use if its currents were those that its board file states.

It follows the board that runs: cycles in trigger windows, cycles asleep, and the board file's currents. The
result is a trace like any other, marked as modelled, and never to be called a measurement.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from harness.boards import Board, Power
from harness.errors import MeterError
from harness.power.base import MODELLED, Closing, Trace
from harness.power.registry import Options
from harness.targets.base import Facts, Target, Window

AROUND = 0.1
"""Seconds of idle time that are put around windows nobody saw, but the device told of."""


def figures(board: Board) -> Power:
    if board.power is None:
        raise MeterError(
            f"The {board.title} has no currents to model its energy with.",
            "Add a [power] table with its source to the board file, or use a meter.",
        )
    return board.power


def microjoules(board: Board, cycles: float, slept: float = 0) -> float:
    """The energy of a stretch of `cycles`, of which the CPU slept `slept`."""
    if not 0 <= slept <= cycles:
        raise ValueError(f"{slept} of {cycles} cycles asleep")
    power = figures(board)
    milliampere_cycles = (cycles - slept) * power.active_mA + slept * power.sleep_mA
    return power.volts * milliampere_cycles * 1e3 / board.clock_hz


@dataclass(frozen=True)
class Stretch:
    """Cycles in which the current does not change."""

    cycles: float
    slept: float
    high: bool


class ModelledMeter(Closing):
    name = "modelled"
    kind = MODELLED
    rate = math.inf

    def __init__(self) -> None:
        self._target: Target | None = None
        self._began: Facts | None = None
        self._told: list[tuple[float, int]] = []
        self._closed = False

    def __enter__(self) -> ModelledMeter:
        return self

    def watch(self, target: Target) -> None:
        self._target = target

    def told(self, began: float, cycles: int) -> None:
        self._told.append((began, cycles))

    def start(self) -> None:
        if self._target is None or self._closed:
            raise MeterError(
                "The modelled meter has no board to follow.", "Call watch with the target first."
            )
        if self._began is not None:
            raise MeterError("The modelled meter follows the board already.", "Call stop before start.")
        self._target.windows()
        self._told.clear()
        self._began = self._target.facts()

    def stop(self) -> Trace:
        began, self._began = self._began, None
        if began is None or self._target is None:
            raise MeterError("The modelled meter does not follow a board.", "Call start before stop.")
        ended = self._target.facts()
        windows = self._target.windows()
        seen = began.cycles is not None and ended.cycles is not None and len(windows) >= len(self._told)
        if seen and (windows or not self._told):
            slept = (ended.slept or 0) - (began.slept or 0)
            stretches = _from_the_pin(windows, began.cycles or 0, ended.cycles or 0, slept)
        else:
            stretches = _from_the_devices_word([cycles for _, cycles in self._told], self._target.board)
        return _trace(stretches, self._target.board)

    def close(self) -> None:
        self._closed = True
        self._began = None


def open_modelled(options: Options) -> ModelledMeter:
    options.finish()
    return ModelledMeter()


def _from_the_pin(windows: list[Window], began: int, ended: int, slept: int) -> list[Stretch]:
    """Between windows the board sleeps, but for what it takes to hear a request and to answer it.

    How long it was awake for these is known in all; that happens just before and just after windows.
    """
    if not windows:
        return [Stretch(ended - began, min(slept, ended - began), False)]
    outside = ended - began - sum(window.cycles for window in windows)
    asleep = slept - sum(window.slept for window in windows)
    beside = max(0, outside - asleep) / (2 * len(windows))
    stretches: list[Stretch] = []
    now = began
    for number, window in enumerate(windows):
        stretches += _gap(window.start - now, beside if number else 0, beside)
        stretches.append(Stretch(window.cycles, window.slept, True))
        now = window.start + window.cycles
    return [*stretches, *_gap(ended - now, beside, 0)]


def _gap(cycles: float, awake_first: float, awake_last: float) -> list[Stretch]:
    awake = awake_first + awake_last
    fits = min(1.0, cycles / awake) if awake else 1.0
    first, last = fits * awake_first, fits * awake_last
    rest = cycles - first - last
    return [Stretch(first, 0, False), Stretch(rest, rest, False), Stretch(last, 0, False)]


def _from_the_devices_word(told: list[int], board: Board) -> list[Stretch]:
    around = AROUND * board.clock_hz
    stretches = [Stretch(around, around, False)]
    for cycles in told:
        stretches += [Stretch(cycles, 0, True), Stretch(around, around, False)]
    return stretches


def _trace(stretches: list[Stretch], board: Board) -> Trace:
    stretches = [stretch for stretch in stretches if stretch.cycles > 0]
    cycles = np.array([stretch.cycles for stretch in stretches])
    slept = np.array([stretch.slept for stretch in stretches])
    edges = np.concatenate(([0.0], np.cumsum(cycles))) / board.clock_hz
    power = figures(board)
    return Trace(
        time=edges[:-1],
        current=1e-3 * (power.active_mA * (cycles - slept) + power.sleep_mA * slept) / cycles,
        voltage=np.full(len(cycles), power.volts),
        end=float(edges[-1]),
        rate=math.inf,
        kind=MODELLED,
        trigger=np.array([float(stretch.high) for stretch in stretches]),
        volts_stated=True,
    )
