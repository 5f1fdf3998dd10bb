"""Meters by name, a user's own among them."""

from __future__ import annotations

import time
from importlib.metadata import EntryPoint

import numpy as np
import pytest

from harness.errors import MeterError, UnknownName
from harness.power import Options, Trace, check_meter, names, open_meter, registry
from harness.power.base import Closing


class Bathroom(Closing):
    """A user's own: as short as a meter can be."""

    name, kind, rate = "bathroom scale", "measured", 100.0

    def __init__(self, options: Options) -> None:
        self.milliamperes = options.number("load", "A", 0.002)
        options.finish()
        self._began: float | None = None
        self._closed = False

    def __enter__(self) -> Bathroom:
        return self

    def start(self) -> None:
        if self._closed or self._began is not None:
            raise MeterError("It is closed or records.", "Open or stop it.")
        self._began = time.monotonic()

    def stop(self) -> Trace:
        if self._began is None:
            raise MeterError("It does not record.", "Start it.")
        seconds = time.monotonic() - self._began
        self._began = None
        clock = np.arange(0, seconds, 0.01)
        flat = np.ones_like(clock)
        return Trace(clock, self.milliamperes * flat, 5 * flat, float(clock[-1] + 0.01), 100.0, "measured")

    def close(self) -> None:
        self._closed = True


class Forgetful(Bathroom):
    """Breaks a promise: may be stopped without a start."""

    def stop(self) -> Trace:
        self._began = self._began or time.monotonic() - 0.1
        return super().stop()


class Endless(Bathroom):
    """Breaks another: hands over nothing."""

    def stop(self) -> Trace:
        trace = super().stop()
        return Trace(trace.time[:0], trace.current[:0], trace.voltage[:0], 0.0, 100.0, "measured")


@pytest.fixture
def foreign(monkeypatch: pytest.MonkeyPatch) -> None:
    here = EntryPoint("bathroom", f"{__name__}:Bathroom", registry.GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda group: [here] if group == registry.GROUP else [])


@pytest.mark.usefixtures("foreign")
def test_a_users_own_meter_is_found_opened_and_checked() -> None:
    assert "bathroom" in names()
    assert "ina219" in names()
    meter = open_meter("bathroom:load=3mA")
    assert isinstance(meter, Bathroom) and meter.milliamperes == pytest.approx(0.003)
    check_meter(meter)


@pytest.mark.parametrize(
    ("meter", "promise"), [(Forgetful, r"stop\(\) without start\(\)"), (Endless, "must hold samples")]
)
def test_the_check_finds_a_broken_promise(meter: type[Bathroom], promise: str) -> None:
    with pytest.raises(AssertionError, match=promise):
        check_meter(meter(Options("own")))


def test_a_name_nobody_has() -> None:
    with pytest.raises(UnknownName, match="csv, ina219, ina226, joulescope, modelled, ppk2"):
        open_meter("bathroom")
