"""The whole measurement: a link that repeats predictions, a meter that records, an energy that is known."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from harness import boards
from harness.errors import MeterError
from harness.link.client import Prediction
from harness.power import procedure
from harness.power.base import Closing, Meter, Trace
from harness.power.modelled import ModelledMeter, microjoules
from harness.power.procedure import Subject, measure
from harness.power.windows import Span
from harness.targets.base import Target
from tests.harness.power.test_modelled import Diary
from tests.harness.power.waveforms import ACTIVE, IDLE, VOLTS, Instrument, Waveform

UNO = boards.load("uno")
CYCLES = 16_000
SUBJECT = Subject(UNO, b"features", CYCLES)
EXACT = 1e6 * VOLTS * ACTIVE * CYCLES / UNO.clock_hz
EXACT_NET = 1e6 * VOLTS * (ACTIVE - IDLE) * CYCLES / UNO.clock_hz


@dataclass
class Desk:
    """A board and a meter beside it, on one clock."""

    instrument: Callable[[int], Instrument] = lambda _: Instrument(settle=0.002)
    """For the n-th recording."""
    hidden: bool = False
    """The pin leads to nothing, and another load is on the supply."""
    restarts_at: tuple[float, ...] = ()
    """When it says that it has begun anew."""
    overhead: int = 12
    """Cycles of the loop around a prediction."""
    time: float = 0.0
    spans: list[Span] = field(default_factory=list)
    recordings: int = 0

    # As a link

    def predict(self, features: bytes) -> Prediction:
        assert features == SUBJECT.vector
        self._work(CYCLES)
        return Prediction(0, CYCLES)

    def repeat(self, count: int) -> Prediction:
        cycles = count * (CYCLES + self.overhead)
        self._work(cycles)
        return Prediction(0, cycles)

    def _work(self, cycles: int) -> None:
        self.time += 0.0002
        self.spans.append(Span(self.time, self.time + cycles / UNO.clock_hz))
        self.time = self.spans[-1].end + 0.0002

    def wait_ready(self, seconds: float) -> bool:
        before, self.time = self.time, self.time + seconds
        return any(before < moment <= self.time for moment in self.restarts_at)

    def now(self) -> float:
        return self.time

    # As what the meter sees

    def trace(self, began: float) -> Trace:
        inside = [Span(span.start - began, span.end - began) for span in self.spans if span.start > began]
        instrument = self.instrument(self.recordings)
        self.recordings += 1
        return instrument.record(Waveform(() if self.hidden else tuple(inside), self.time - began))


class BesideIt(Closing):
    name, kind, rate = "bench meter", "measured", 1000.0

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._began: float | None = None
        self.stopped = 0

    def __enter__(self) -> BesideIt:
        return self

    def start(self) -> None:
        self._began = self._desk.now()

    def stop(self) -> Trace:
        assert self._began is not None
        self.stopped += 1
        return self._desk.trace(self._began)

    def close(self) -> None: ...


def run(desk: Desk, meter: Meter | None = None) -> procedure.Energy:
    target: Target = Diary()
    return measure(desk, target, meter or BesideIt(desk), SUBJECT)


def test_a_perfect_meter_gives_the_energy_of_one_prediction() -> None:
    desk = Desk()
    energy = run(desk)
    assert energy.gross == pytest.approx(EXACT, rel=1e-6), "the loop's own cycles are no part of it"
    assert energy.net == pytest.approx(EXACT_NET, rel=1e-6)
    assert (energy.windows, energy.repeats, energy.rejected, energy.dropped) == (6, 500, 0, 0)
    assert (energy.kind, energy.meter) == ("measured", "bench meter")
    assert energy.idle_before_mA == pytest.approx(1e3 * IDLE)
    assert energy.clock_ratio == pytest.approx(1)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("noise", [0.5e-3, 1e-3, 2e-3])
@pytest.mark.parametrize("trigger", [True, False])
def test_a_poor_meter_gives_it_within_one_percent_with_and_without_a_trigger(
    trigger: bool, noise: float, seed: int
) -> None:
    poor = Instrument(noise=noise, drift=0.5e-3, lag=0.001, ppm=100, settle=0.002, trigger=trigger)
    energy = run(Desk(lambda number: replace(poor, seed=10 * seed + number)))
    assert energy.gross == pytest.approx(EXACT, rel=0.01)
    assert energy.net == pytest.approx(EXACT_NET, rel=0.01)
    assert energy.gross_interval.low <= energy.gross <= energy.gross_interval.high
    assert energy.gross_interval.high - energy.gross_interval.low < 0.03 * EXACT
    assert energy.clock_ratio == pytest.approx(1.0001, abs=3e-5 if trigger else 2e-3)


def test_a_noisy_meter_gets_longer_windows_and_a_hopeless_one_not_for_ever() -> None:
    def repeats_at(noise: float) -> int:
        return run(Desk(lambda _: Instrument(noise=noise))).repeats

    repeats = [repeats_at(noise) for noise in (0, 1e-3, 2e-3, 9e-3)]
    assert repeats[0] == 500
    assert repeats[1] == pytest.approx(3.8 * 500, rel=0.1)
    assert repeats[2] == pytest.approx(4 * repeats[1], rel=0.1), "twice the noise takes four times as long"
    assert repeats[3] == procedure.MOST_LONGER * 500


def test_windows_with_lost_samples_are_measured_again_and_only_those() -> None:
    desk = Desk(lambda number: Instrument(settle=0.002, lost=(800, 801, 2100, 2101) if number == 0 else ()))
    energy = run(desk)
    assert (energy.windows, energy.rejected, energy.dropped) == (6, 2, 4)
    assert [len(taken.spans) for taken in energy.rounds] == [6, 2]
    assert energy.gross == pytest.approx(EXACT, rel=1e-6)


def test_a_hole_that_hides_an_edge_is_no_wrong_wiring() -> None:
    desk = Desk(lambda number: Instrument(settle=0.002, lost=() if number else tuple(range(480, 560))))
    energy = run(desk)
    assert (energy.windows, energy.rejected, energy.dropped) == (6, 6, 80)
    assert [len(taken.spans) for taken in energy.rounds] == [0, 6]
    assert energy.gross == pytest.approx(EXACT, rel=1e-6)


def test_drift_from_one_recording_to_the_next_is_not_in_the_energy() -> None:
    desk = Desk(
        lambda number: Instrument(settle=0.002, offset=0.5e-3 * number, lost=() if number else (800, 801))
    )
    energy = run(desk)
    assert len(energy.rounds) == 2
    assert energy.gross_interval.high == pytest.approx(EXACT, rel=1e-6)
    assert energy.idle_after_mA == pytest.approx(1e3 * IDLE + 0.5)


def test_a_meter_that_always_loses_samples_is_given_up() -> None:
    desk = Desk(lambda _: Instrument(settle=0.002, lost=tuple(range(10, 5000, 100))))
    with pytest.raises(
        MeterError, match=r"30 windows lack more than 0\.1% of their samples, and only 0 of 6"
    ):
        run(desk)
    assert desk.recordings == 1 + procedure.ROUNDS


@pytest.mark.parametrize("trigger", [True, False])
def test_a_pin_that_leads_nowhere_is_an_error_and_no_number(trigger: bool) -> None:
    desk = Desk(lambda _: Instrument(noise=0.5e-3, trigger=trigger), hidden=True)
    with pytest.raises(MeterError, match="other windows than" if trigger else "not found"):
        run(desk)


def test_a_board_that_restarts_once_is_measured_again() -> None:
    desk = Desk(restarts_at=(0.2,))
    meter = BesideIt(desk)
    energy = run(desk, meter)
    assert energy.gross == pytest.approx(EXACT, rel=1e-6)
    assert (meter.stopped, len(energy.rounds)) == (2, 1)


def test_a_board_that_restarts_again_and_again_is_an_error_and_the_meter_is_stopped() -> None:
    desk = Desk(restarts_at=tuple(np.arange(0.2, 60, 0.4)))
    meter = BesideIt(desk)
    with pytest.raises(MeterError, match="restarted 5 times"):
        run(desk, meter)
    assert meter.stopped == 5


def test_the_modelled_meter_goes_the_same_way() -> None:
    energy = run(Desk(), ModelledMeter())
    assert energy.kind == "modelled"
    assert energy.gross == pytest.approx(microjoules(UNO, CYCLES))
    assert energy.volts_stated


@pytest.mark.parametrize(
    ("seconds", "rate", "repeats"),
    [
        (1e-3, 1000.0, 500),
        (1e-3, 100_000.0, 100),
        (50e-3, math.inf, 2),
        (26e-6, 1000.0, 19_231),
        (5e-6, 1000.0, 65_535),
        (2.0, 1000.0, 1),
    ],
)
def test_so_many_repeats_that_a_window_has_samples_enough(seconds: float, rate: float, repeats: int) -> None:
    assert procedure.choose_repeats(seconds, rate) == repeats


def test_a_meter_that_is_too_slow_is_refused() -> None:
    with pytest.raises(MeterError, match="sees only 7 of them"):
        procedure.choose_repeats(1e-6, 100.0)
