"""The INA meter against an emulated one on a pseudo-terminal, byte by byte."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from harness.errors import InputError, KilobenchError, MeterError, PortError
from harness.power import check_meter, open_meter
from harness.power.base import Trace
from harness.power.ina import InaMeter
from harness.power.ina_chip import Setup, trace_of
from harness.power.ina_wire import Block, Kind
from harness.power.registry import parse
from harness.power.windows import Span, energies, triggered
from tests.harness.power import ptys
from tests.harness.power.emulated_ina import TICKS, EmulatedIna
from tests.harness.power.ptys import Pty
from tests.harness.power.waveforms import ACTIVE, IDLE, VOLTS


def recorded(
    ina: EmulatedIna, seconds: float = 0.15, settings: str = "", pattern: Sequence[Span] = ()
) -> Trace:
    return ptys.recorded(ina, ina.kind, settings, seconds, pattern)


@pytest.mark.parametrize("kind", ["ina219", "ina226"])
def test_it_passes_the_conformance_check(kind: str) -> None:
    ina = EmulatedIna(kind=kind)
    with Pty(ina) as pty:
        check_meter(open_meter(f"{kind}:{pty.path}"), lambda: time.sleep(0.1))


def test_current_voltage_and_trigger_come_through() -> None:
    trace = recorded(EmulatedIna(), 0.4, pattern=[Span(0.2, 0.3)])
    (span,) = triggered(trace)
    assert span.seconds == pytest.approx(0.1, abs=2e-6)
    assert trace.volts == pytest.approx(VOLTS)
    inside = (trace.time > span.start) & (trace.time < span.end - 0.002)
    assert trace.current[inside].mean() == pytest.approx(ACTIVE, abs=0.1e-3)
    assert trace.current[trace.time < span.start - 0.002].mean() == pytest.approx(IDLE, abs=0.1e-3)
    assert trace.dropped == 0
    assert trace.rate == pytest.approx(1 / 1064e-6, rel=1e-3)


def test_frames_that_are_lost_or_damaged_are_counted() -> None:
    ina = EmulatedIna(lose=lambda first: first in (16, 48), damage=lambda first: first == 80)
    trace = recorded(ina)
    assert trace.dropped == 6
    assert trace.lost is not None
    at = np.flatnonzero(trace.lost)
    assert trace.lost[at].tolist() == [2, 2, 2]
    assert np.diff(trace.time)[at - 1] == pytest.approx(3 * 1064e-6, rel=1e-3), "the hole stays in the time"


def test_a_start_whose_answer_is_lost_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.power.ina.ANSWER", 0.1)
    trace = recorded(EmulatedIna(silent_starts=1))
    assert trace.dropped == 0
    assert trace.time[0] == 0, "what came before the answer belongs to the start that was lost"


def test_the_chip_is_set_as_asked() -> None:
    ina = EmulatedIna()
    recorded(ina, 0.05, ",range=40mV,conversion=1060us,address=0x45")
    assert ina.setup == (0x45, 0 << 11 | 9 << 7 | 9 << 3 | 7, 2, 2, 3)
    ina = EmulatedIna(kind="ina226", seconds=1176e-6)
    recorded(ina, 0.05)
    assert ina.setup == (0x40, 0x4000 | 3 << 6 | 3 << 3 | 7, 6, 8, 0xFF)


def test_shunt_and_zero_are_taken_into_account() -> None:
    trace = recorded(EmulatedIna(offset=1e-3, shunt_ohm=1.0), settings=",shunt=1,zero=1mA")
    assert trace.current.mean() == pytest.approx(IDLE, abs=0.05e-3)


def test_a_current_beyond_the_range_is_no_measurement() -> None:
    with pytest.raises(MeterError, match=r"beyond the 0\.4 A"):
        recorded(EmulatedIna(idle=0.41), settings=",range=40mV")


def test_a_chip_that_is_not_there() -> None:
    with pytest.raises(MeterError, match="no chip answers at address 0x40"):
        recorded(EmulatedIna(chip_present=False))


def test_another_version() -> None:
    with pytest.raises(MeterError, match="version 9"):
        recorded(EmulatedIna(version=9))


def test_a_meter_left_recording_is_stopped_when_it_is_opened_and_closed() -> None:
    ina = EmulatedIna()
    with Pty(ina) as pty:
        with open_meter(f"ina219:{pty.path}") as meter:
            meter.start()
        time.sleep(0.05)
    assert ina.asked == [Kind.STOP, Kind.HELLO, Kind.START, Kind.STOP]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("ina219", "port is missing"),
        ("ina219:/dev/null,shunt=big", "shunt is 'big'"),
        ("ina219:/dev/null,shunt=0", "no resistance"),
        ("ina219:/dev/null,range=1V", "range is '1V'"),
        ("ina226:/dev/null,range=40mV", "no setting 'range'"),
        ("ina219:/dev/null,colour=red", "no setting 'colour'"),
        ("ina219:/dev/null,0.1", "'0.1' is no setting"),
        ("ina291:/dev/null", "Did you mean 'ina219'"),
    ],
)
def test_a_line_that_is_no_meter(text: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        open_meter(text)
    assert problem in str(caught.value)


def test_a_port_that_is_not_there() -> None:
    with pytest.raises(PortError, match="no port /dev/nothing"):
        open_meter("ina219:/dev/nothing")


def test_units_are_understood() -> None:
    setup = Setup.of(parse("ina219:rfc2217://host:2217?ign_set_control=1,shunt=100mohm,zero=-250uA"))
    assert setup.place == "rfc2217://host:2217?ign_set_control=1"
    assert (setup.shunt_ohm, setup.zero) == pytest.approx((0.1, -250e-6))


SETUP = Setup.of(parse("ina219:x"))


def test_conversions_that_nobody_read_are_lost_too() -> None:
    blocks = [
        Block(0, 0, [(2000, 0, 23, 0x9C42)] * 4 + [(6000, 0, 23, 0x9C42)] + [(2000, 0, 23, 0x9C42)] * 3)
    ]
    trace = trace_of(blocks, 8, TICKS, SETUP)
    assert trace.dropped == 2
    assert trace.current == pytest.approx(np.full(8, 2.3e-3))
    assert trace.voltage == pytest.approx(np.full(8, 0x9C42 // 8 * 4e-3))


def test_a_meter_that_reads_every_second_conversion_only_has_lost_the_others() -> None:
    trace = trace_of([Block(0, 0, [(4256, 0, 23, 0x9C42)] * 8)], 8, TICKS, SETUP)
    assert trace.dropped == 8


def test_the_tick_counter_begins_anew() -> None:
    late = (1 << 32) - 4 * 2000
    samples = [(2000, 0, 23, 0x9C42)] * 8
    trace = trace_of([Block(0, late, samples), Block(8, 4 * 2000, samples)], 16, TICKS, SETUP)
    assert np.diff(trace.time) == pytest.approx(np.full(15, 1e-3))


def test_silence_is_no_trace() -> None:
    with pytest.raises(MeterError, match="took 0 samples"):
        trace_of([], 0, TICKS, SETUP)


def test_a_meter_that_is_unplugged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.power.ina.ATTEMPTS", 1)
    pty = Pty(EmulatedIna())
    with pty:
        meter = open_meter(f"ina219:{pty.path}")
        assert isinstance(meter, InaMeter)
        meter.start()
        time.sleep(0.05)
    time.sleep(0.05)
    with pytest.raises(KilobenchError):
        meter.stop()
    meter.close()


@pytest.mark.parametrize(
    "faults",
    [
        {"noise": 0.5e-3},
        {"drift": 0.1e-3},
        {"ppm": 100.0},
        {"ppm": -100.0, "noise": 0.3e-3, "drift": -0.1e-3},
    ],
)
def test_six_windows_through_the_bytes_within_one_percent(faults: dict[str, Any]) -> None:
    """The clock jumps instead of running, so that seconds of samples take no time."""
    now = [0.0]
    spans = [Span(0.5 + 0.7 * k, 1.05 + 0.7 * k) for k in range(6)]
    ina = replace(EmulatedIna(), windows=lambda: spans, clock=lambda: now[0], live=False, **faults)
    with Pty(ina) as pty, open_meter(f"ina219:{pty.path}") as meter:
        meter.start()
        now[0] = 5.2
        trace = meter.stop()
    result = energies(trace, triggered(trace))
    assert len(result.windows) == 6
    gross = np.median([window.gross for window in result.windows])
    net = np.median([window.net for window in result.windows])
    assert gross == pytest.approx(VOLTS * ACTIVE * 0.55, rel=0.01)
    assert net == pytest.approx(VOLTS * (ACTIVE - IDLE) * 0.55, rel=0.01)
