"""Windows found in a trace without a trigger, and not found where there are none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import MeterError
from harness.power import align
from harness.power.windows import Span
from tests.harness.power.waveforms import IDLE, Instrument, windows

WAVE = windows()


@given(
    shift=st.floats(-0.2, 0.2),
    noise=st.floats(0, 1e-3),
    ppm=st.floats(-100, 100),
    drift=st.floats(-1e-3, 1e-3),
    seed=st.integers(0, 99),
)
@settings(max_examples=25, deadline=None)
def test_the_pattern_is_found_wherever_it_is(
    shift: float, noise: float, ppm: float, drift: float, seed: int
) -> None:
    trace = Instrument(noise=noise, ppm=ppm, drift=drift, seed=seed, trigger=False).record(WAVE)
    told = [Span(span.start + shift, span.end + shift) for span in WAVE.spans]
    found = align.find(trace, told)
    for got, true in zip(found, WAVE.spans, strict=True):
        assert got.start == pytest.approx(true.start, abs=0.004)
        assert got.seconds == pytest.approx(true.seconds, abs=0.008)


def test_without_noise_edges_are_found_to_a_tenth_of_a_sample() -> None:
    trace = Instrument(trigger=False).record(WAVE)
    for got, true in zip(align.find(trace, WAVE.spans), WAVE.spans, strict=True):
        assert got == pytest.approx(true, abs=1e-4)


def test_noise_is_no_pattern() -> None:
    trace = Instrument(noise=1e-3, trigger=False).record(replace(WAVE, active=IDLE))
    with pytest.raises(MeterError, match="correlate by"):
        align.find(trace, WAVE.spans)


def test_a_current_that_never_changes() -> None:
    trace = Instrument(trigger=False).record(replace(WAVE, active=IDLE))
    with pytest.raises(MeterError, match="not found"):
        align.find(trace, WAVE.spans)


def test_another_pattern_is_not_this_one() -> None:
    trace = Instrument(trigger=False).record(windows(count=20, length=0.1, gap=0.1))
    with pytest.raises(MeterError, match="not found"):
        align.find(trace, WAVE.spans)


def test_a_pattern_that_fits_twice_is_not_chosen_from() -> None:
    trace = Instrument(trigger=False).record(windows(count=8))
    with pytest.raises(MeterError, match="more than one place"):
        align.find(trace, WAVE.spans)


def test_a_recording_that_is_too_short() -> None:
    trace = Instrument(trigger=False).record(replace(WAVE, seconds=1.0))
    with pytest.raises(MeterError, match="shorter"):
        align.find(trace, WAVE.spans)
    assert np.all(np.isfinite(trace.current))
