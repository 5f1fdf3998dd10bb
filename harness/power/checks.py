"""What every meter must do. A plug-in's own tests can call `check_meter` with an open one."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from harness.errors import KilobenchError
from harness.power.base import MEASURED, MODELLED, Meter, Trace

MOMENT = 0.05


def check_meter(meter: Meter, work: Callable[[], None] = lambda: time.sleep(MOMENT)) -> None:
    """AssertionError names the first promise of `harness.power.base.Meter` that is broken.

    work: what happens while it records; by default nothing does, for a moment. The meter is closed at the
    end.
    """
    with meter:
        assert isinstance(meter.name, str) and meter.name, "`name` must say which instrument this is"
        assert meter.kind in (MEASURED, MODELLED), "`kind` must be measured or modelled"
        assert meter.rate > 0, "`rate` must tell how many samples come in a second"
        _refuses(meter.stop, "stop() without start()")
        first = _record(meter, work)
        _check_trace(first, meter)
        second = _record(meter, work)
        _check_trace(second, meter)
        assert second.seconds < 2 * first.seconds + 1, (
            "a second recording must not hold the first one's samples"
        )
        meter.start()
        _refuses(meter.start, "start() of a meter that records")
    meter.close()
    _refuses(meter.start, "start() of a closed meter")


def _record(meter: Meter, work: Callable[[], None]) -> Trace:
    meter.start()
    work()
    return meter.stop()


def _check_trace(trace: Trace, meter: Meter) -> None:
    assert isinstance(trace, Trace), "stop() must give a Trace"
    assert len(trace.time) > 0, "a trace must hold samples"
    assert trace.kind == meter.kind, "trace and meter must agree on what is measured and what is modelled"
    for name, values in (("time", trace.time), ("current", trace.current), ("voltage", trace.voltage)):
        assert np.all(np.isfinite(values)), f"{name} must be finite"
    assert np.all(trace.voltage > 0), "a board without voltage does not run"
    assert trace.rate > 0 and trace.settle >= 0, "rate and settle must make sense"
    if trace.trigger is not None:
        assert np.all((trace.trigger >= 0) & (trace.trigger <= 1)), "the trigger is a share from 0 to 1"
    if trace.lost is not None:
        assert np.all(trace.lost >= 0), "no less than nothing can be lost"
    if np.isfinite(trace.rate):
        expected = trace.seconds * trace.rate
        seen = len(trace.time) + trace.dropped
        assert 0.5 * expected <= seen <= 2 * expected + 2, (
            f"{seen} samples, with the lost ones, in {trace.seconds:.3f} s are not {trace.rate:.0f} a second"
        )


def _refuses(action: Callable[[], object], what: str) -> None:
    try:
        action()
    except KilobenchError:
        return
    raise AssertionError(f"{what} must raise a KilobenchError")
