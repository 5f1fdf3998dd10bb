"""Energies of known waveforms, through instruments with known faults."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import stats
from harness.errors import MeterError
from harness.power import windows
from harness.power.base import Trace
from harness.power.windows import Integral, Span
from tests.harness.power.waveforms import ACTIVE, IDLE, VOLTS, Instrument, Waveform
from tests.harness.power.waveforms import windows as made


def found(instrument: Instrument, wave: Waveform) -> tuple[float, float]:
    """The medians of gross and net energy."""
    trace = instrument.record(wave)
    spans = windows.triggered(trace)
    assert len(spans) == len(wave.spans)
    result = windows.energies(trace, spans)
    return (
        stats.median([window.gross for window in result.windows]),
        stats.median([window.net for window in result.windows]),
    )


@pytest.mark.parametrize("rate", [1000.0, 3333.3, 100_000.0])
@pytest.mark.parametrize("phase", [0.0, 0.37, 0.99])
def test_a_perfect_instrument_gives_the_exact_energy_at_any_rate(rate: float, phase: float) -> None:
    wave = made()
    gross, net = found(Instrument(rate=rate, phase=phase), wave)
    assert gross == pytest.approx(wave.gross, rel=1e-9)
    assert net == pytest.approx(wave.net, rel=1e-9)


@pytest.mark.parametrize(
    "instrument",
    [
        pytest.param(Instrument(noise=1e-3), id="noise of 1 mA"),
        pytest.param(Instrument(drift=0.5e-3), id="drift of 0.5 mA"),
        pytest.param(Instrument(drift=-0.5e-3, noise=0.5e-3), id="drift and noise"),
        pytest.param(Instrument(lag=0.0013, settle=0.003), id="lag of 1.3 samples"),
        pytest.param(Instrument(ppm=100), id="clock 100 ppm fast"),
        pytest.param(Instrument(ppm=-100, noise=1e-3, drift=0.3e-3, lag=0.001, settle=0.003), id="all"),
    ],
)
def test_an_instrument_with_faults_gives_both_energies_within_one_percent(instrument: Instrument) -> None:
    wave = made()
    gross, net = found(instrument, wave)
    assert gross == pytest.approx(wave.gross, rel=0.01)
    assert net == pytest.approx(wave.net, rel=0.01)


@given(
    offset=st.floats(-2e-3, 2e-3),
    drift=st.floats(-1e-3, 1e-3),
    phase=st.floats(0, 0.999),
    lag=st.floats(0, 0.002),
    ppm=st.floats(-100, 100),
)
@settings(max_examples=60, deadline=None)
def test_an_offset_is_not_in_the_net_energy(
    offset: float, drift: float, phase: float, lag: float, ppm: float
) -> None:
    wave = made(count=5)
    instrument = Instrument(offset=offset, drift=drift, phase=phase, lag=lag, ppm=ppm, settle=0.003)
    gross, net = found(instrument, wave)
    assert net == pytest.approx(wave.net, rel=0.002)
    shown = gross - VOLTS * offset * wave.spans[0].seconds
    assert shown == pytest.approx(wave.gross, rel=0.01), "an offset stays in the gross energy, drift does not"


def test_without_the_idle_line_drift_would_be_in_the_energy() -> None:
    wave = made()
    trace = Instrument(drift=0.5e-3).record(wave)
    naive = [Integral(trace).energy(span) for span in windows.triggered(trace)]
    assert stats.median(naive) > 1.02 * wave.gross


traces = st.lists(
    st.tuples(st.floats(1e-6, 1.0), st.floats(0, 1.0), st.floats(1.0, 5.0)), min_size=1, max_size=30
)


def irregular(samples: Sequence[tuple[float, float, float]]) -> Trace:
    durations, current, voltage = (np.array(values) for values in zip(*samples, strict=True))
    edges = np.concatenate(([0.0], np.cumsum(durations)))
    return Trace(edges[:-1], current, voltage, float(edges[-1]), 10.0, "measured")


@given(traces, st.lists(st.floats(0, 1), min_size=3, max_size=3))
def test_energies_of_neighbours_add_up(
    samples: list[tuple[float, float, float]], shares: list[float]
) -> None:
    trace = irregular(samples)
    a, b, c = sorted(share * trace.end for share in shares)
    integral = Integral(trace)
    parts = integral.energy(Span(a, b)) + integral.energy(Span(b, c))
    assert parts == pytest.approx(integral.energy(Span(a, c)), rel=1e-9, abs=1e-12)
    whole = integral.energy(Span(0, trace.end))
    assert whole == pytest.approx(sum(t * i * v for t, i, v in samples))
    assert -1e-12 <= integral.energy(Span(a, c)) <= whole * (1 + 1e-9)


@given(
    st.lists(st.tuples(st.floats(0.0021, 0.2), st.floats(0.0021, 0.2)), min_size=1, max_size=6),
    st.floats(0, 0.999),
)
def test_the_trigger_tells_its_edges_to_a_fraction_of_a_sample(
    pattern: list[tuple[float, float]], phase: float
) -> None:
    spans, now = [], 0.01
    for high, low in pattern:
        spans.append(Span(now, now + high))
        now += high + low
    wave = Waveform(tuple(spans), now + 0.01)
    seen = windows.triggered(Instrument(rate=1000, phase=phase).record(wave))
    assert len(seen) == len(spans)
    for got, true in zip(seen, spans, strict=True):
        assert got.start == pytest.approx(true.start, abs=1e-8)
        assert got.end == pytest.approx(true.end, abs=1e-8)


def test_a_window_that_is_open_at_an_end_of_the_trace_is_none() -> None:
    wave = Waveform((Span(0.0, 0.1), Span(0.2, 0.3), Span(0.4, 0.6)), 0.5)
    spans = windows.triggered(Instrument().record(wave))
    assert [round(span.start, 3) for span in spans] == [0.2]


@given(st.sets(st.integers(0, 4700), max_size=40))
def test_every_lost_sample_is_counted_in_its_window(lost: set[int]) -> None:
    wave = made()
    whole = Instrument().record(wave)
    trace = Instrument(lost=tuple(sorted(lost))).record(wave)
    assert trace.dropped == len(lost)
    integral = Integral(trace)
    for span in wave.spans:
        inside = (whole.time > span.start) & (whole.time + 1e-3 < span.end)
        missing = [number for number in lost if inside[number]]
        share = integral.dropped(span)
        assert share >= len(missing) / 502
        if not missing:  # those in which the pin changes count for both sides
            near = [number for number in lost if abs(whole.time[number] - span.start) < 0.002]
            near += [number for number in lost if abs(whole.time[number] - span.end) < 0.05]
            assert share == 0 or near


def test_one_sample_of_a_thousand_may_be_lost() -> None:
    wave = made(length=1.0)
    for count, complete in ((0, True), (1, True), (2, False), (50, False)):
        trace = Instrument(lost=tuple(range(800, 800 + count))).record(wave)
        first, *others = windows.energies(trace, wave.spans).windows
        assert first.complete is complete
        assert all(other.complete for other in others)
        assert first.gross == pytest.approx(wave.gross, rel=1e-6), "a hole is bridged by what was before"


def test_a_trace_that_is_all_window_has_no_idle_power() -> None:
    trace = Instrument().record(made(idle=0.003))
    with pytest.raises(MeterError, match="no idle time"):
        windows.energies(trace, windows.triggered(trace))


def test_windows_of_another_length_are_strangers() -> None:
    spans = [Span(0, 1), Span(2, 2.1), Span(3, 4), Span(5, 6)]
    assert windows.matching(spans, [1, 1, 1], [0.01] * 3) == [spans[0], spans[2], spans[3]]
    assert windows.matching(spans, [1, 1, 1, 1], [0.01] * 4) is None


def test_a_trace_must_be_in_order() -> None:
    with pytest.raises(ValueError, match="rise"):
        Trace(np.array([0.0, 0.0]), np.ones(2), np.ones(2), 1.0, 10.0, "measured")
    with pytest.raises(ValueError, match="2 times and 3 values of current"):
        Trace(np.array([0.0, 0.1]), np.ones(3), np.ones(2), 1.0, 10.0, "measured")


def test_known_currents() -> None:
    wave = made()
    result = windows.energies(Instrument().record(wave), wave.spans)
    assert result.idle_before == pytest.approx(VOLTS * IDLE)
    assert result.idle_after == pytest.approx(VOLTS * IDLE)
    assert result.windows[0].gross == pytest.approx(VOLTS * ACTIVE * 0.5)
