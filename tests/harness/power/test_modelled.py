"""Modelled energy, and the modelled meter on a board that tells what it did."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

import numpy as np
import pytest
from serial import SerialBase

from harness import boards
from harness.boards import Board
from harness.errors import MeterError
from harness.power import check_meter, windows
from harness.power.modelled import ModelledMeter, microjoules
from harness.targets.base import Facts, Window

UNO = boards.load("uno")
assert UNO.power is not None
POWER = UNO.power


@dataclass
class Diary:
    """A target that has done what is written in it."""

    board: Board = UNO
    cycles: int | None = 0
    slept: int = 0
    new: list[Window] = field(default_factory=list)

    def sleep(self, cycles: int) -> None:
        assert self.cycles is not None
        self.cycles += cycles
        self.slept += cycles

    def work(self, cycles: int, awake_before: int = 0) -> None:
        assert self.cycles is not None
        self.cycles += awake_before
        self.new.append(Window(self.cycles, cycles, 0))
        self.cycles += cycles + awake_before

    def windows(self) -> list[Window]:
        new, self.new = self.new, []
        return new

    def facts(self) -> Facts:
        return Facts("diary", "invented", cycles=self.cycles, slept=self.slept)

    def open(self) -> SerialBase:
        raise NotImplementedError

    def reset(self) -> None: ...

    def close(self) -> None: ...


def test_a_second_awake() -> None:
    assert microjoules(UNO, UNO.clock_hz) == pytest.approx(POWER.volts * POWER.active_mA * 1000)


def test_sleep_is_charged_at_its_own_current() -> None:
    cycles = UNO.clock_hz
    half_awake = POWER.volts * (POWER.active_mA + POWER.sleep_mA) / 2 * 1000
    assert microjoules(UNO, cycles, slept=cycles / 2) == pytest.approx(half_awake)


def test_energy_follows_the_boards_figures() -> None:
    thrifty = dataclasses.replace(UNO, power=dataclasses.replace(POWER, volts=3.3, active_mA=4.0))
    assert microjoules(thrifty, 16_000) == pytest.approx(3.3 * 4.0 * 1e-3 * 1e6 * 1e-3)


def test_more_sleep_than_time_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="asleep"):
        microjoules(UNO, 10, slept=11)


def test_a_board_without_figures_is_refused() -> None:
    with pytest.raises(MeterError, match="no currents"):
        microjoules(dataclasses.replace(UNO, power=None), 10)


def test_the_trace_has_every_cycle_at_its_current() -> None:
    target, meter = Diary(), ModelledMeter()
    target.sleep(5_000)  # before the start: no part of it
    meter.watch(target)
    meter.start()
    for _ in range(3):
        target.sleep(160_000)
        target.work(1_600_000, awake_before=2_000)
    target.sleep(160_000)
    trace = meter.stop()
    total = windows.Integral(trace).energy(windows.Span(0, trace.end))
    awake = 3 * 1_604_000
    assert 1e6 * total == pytest.approx(microjoules(UNO, awake + 640_000, slept=640_000))
    spans = windows.triggered(trace)
    assert [span.seconds for span in spans] == pytest.approx([0.1] * 3)
    for window in windows.energies(trace, spans).windows:
        assert 1e6 * window.gross == pytest.approx(microjoules(UNO, 1_600_000))
        assert window.net == pytest.approx(window.gross * (1 - POWER.sleep_mA / POWER.active_mA))


def test_a_pin_that_nobody_sees_is_replaced_by_the_devices_word() -> None:
    target, meter = Diary(cycles=None), ModelledMeter()
    meter.watch(target)
    meter.start()
    for number in range(3):
        meter.told(float(number), 1_600_000)
    trace = meter.stop()
    assert [span.seconds for span in windows.triggered(trace)] == pytest.approx([0.1] * 3)
    assert np.unique(trace.current) == pytest.approx([1e-3 * POWER.sleep_mA, 1e-3 * POWER.active_mA])


def test_it_passes_the_conformance_check() -> None:
    target, meter = Diary(), ModelledMeter()
    meter.watch(target)
    check_meter(meter, lambda: target.work(16_000, awake_before=500))
