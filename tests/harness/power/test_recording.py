"""CSV files as instruments write them."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from harness.errors import InputError
from harness.power import check_meter, open_meter
from harness.power.base import Trace
from harness.power.windows import energies, triggered
from tests.harness.power.waveforms import ACTIVE, IDLE, VOLTS, Instrument, windows

WAVE = windows(count=5, length=0.1, gap=0.05, idle=0.1)
TRACE = Instrument(rate=1000, noise=0.1e-3, phase=0.0).record(WAVE)


def table(heading: str, line: str, trace: Trace = TRACE) -> str:
    assert trace.trigger is not None
    rows = [
        line.format(s=t, ms=1e3 * t, us=1e6 * t, A=i, mA=1e3 * i, uA=1e6 * i, V=VOLTS, D=int(h > 0.5))
        for t, i, h in zip(trace.time, trace.current, trace.trigger, strict=True)
    ]
    return "\n".join([heading, *rows]) + "\n"


def read(tmp_path: Path, text: str, settings: str = "") -> Trace:
    path = tmp_path / "trace.csv"
    path.write_text(text, encoding="utf8")
    with open_meter(f"csv:{path}{settings}") as meter:
        meter.start()
        return meter.stop()


@pytest.mark.parametrize(
    ("heading", "line", "settings"),
    [
        ("Timestamp(ms),Current(uA),D0", "{ms:.3f},{uA:.3f},{D}", ",volts=5"),
        ("time_s,current_mA,voltage_V,trigger", "{s:.6f},{mA:.6f},{V},{D}", ""),
        ("Time [s];Main current [A];Main voltage [V];Digital", "{s:.6f};{A:.9f};{V};{D}", ""),
        ("#t,i,v,gpi0", "{s:.6f},{A:.9f},{V},{D}", ""),
        ("time / us\tI / mA\tU / V\ttrig", "{us:.0f}\t{mA:.6f}\t{V}\t{D}", ""),
        ("a,b,c", "{D},{us:.0f},{mA:.6f}", ",time=b:us,current=c:mA,trigger=a,volts=5"),
        ("Model,X1\nSerial,77\n\nTime(s),Current(A),Trigger", "{s:.6f},{A:.9f},{D}", ",volts=5"),
    ],
)
def test_headings_of_many_instruments(tmp_path: Path, heading: str, line: str, settings: str) -> None:
    trace = read(tmp_path, table(heading, line), settings)
    assert trace.rate == pytest.approx(1000)
    assert trace.current == pytest.approx(TRACE.current, abs=1e-8)
    assert trace.volts == pytest.approx(VOLTS)
    assert trace.volts_stated is bool(settings)
    found = energies(trace, triggered(trace)).windows
    assert len(found) == 5
    assert np.median([w.gross for w in found]) == pytest.approx(VOLTS * ACTIVE * 0.1, rel=0.01)
    assert np.median([w.net for w in found]) == pytest.approx(VOLTS * (ACTIVE - IDLE) * 0.1, rel=0.01)


def test_a_decimal_comma(tmp_path: Path) -> None:
    text = table("time_s;current_mA;volts", "{s:.6f};{mA:.6f};{V}").replace(".", ",")
    assert read(tmp_path, text).current == pytest.approx(TRACE.current, abs=1e-8)


def test_holes_in_time_are_lost_samples(tmp_path: Path) -> None:
    lines = table("t,i,v", "{s:.6f},{A:.9f},{V}").splitlines(keepends=True)
    trace = read(tmp_path, "".join(lines[:100] + lines[103:200] + lines[201:]))
    assert trace.lost is not None
    assert (trace.dropped, np.flatnonzero(trace.lost).tolist()) == (4, [99, 196])


def test_a_file_that_grows_gives_what_was_added(tmp_path: Path) -> None:
    path = tmp_path / "live.csv"
    lines = table("t,i,v", "{s:.6f},{A:.9f},{V}").splitlines(keepends=True)
    path.write_text("".join(lines[:50]))
    with open_meter(f"csv:{path}") as meter:
        meter.start()
        with path.open("a") as file:
            file.writelines(lines[50:])
        trace = meter.stop()
    assert len(trace.time) == len(lines) - 50
    assert trace.time[0] == pytest.approx(TRACE.time[49], abs=1e-6)


def test_it_passes_the_conformance_check(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(table("t,i,v,trigger", "{s:.6f},{A:.9f},{V},{D}"))
    check_meter(open_meter(f"csv:{path}"), lambda: time.sleep(0))


@pytest.mark.parametrize(
    ("text", "settings", "problem"),
    [
        ("t,i\n0,1\n1,1\n", "", "no column for the voltage"),
        ("x1,y\n0,1\n1,1\n", ",volts=5", "no column for the time"),
        ("t,y\n0,1\n1,1\n", ",volts=5", "no column for the current"),
        ("t,i,v\n0,1,5\n1,1,5\n", ",current=amps", "no column 'amps'"),
        ("t,i (kg),v\n0,1,5\n1,1,5\n", "", "no column for the current"),
        ("t,i,v\n0,1,5\n1,1,5\n", ",current=i:kg", "is in kg"),
        ("t,i,v\n0,1,5\n", "", "no two samples"),
        ("t,i,v\n0,1,5\n2,1,5\n1,1,5\n", "", "time does not rise from sample 2"),
        ("t,i,v\n0,1,5\n0,1,5\n1,1,5\n", "", "time does not rise from sample 1"),
        ("t,i,v\n0,1,5\n1,high,5\n", "", "not the numbers of a sample"),
        ("t,i,v\n", "", "no heading with numbers"),
        ("t,i,v\n" + "".join(f"{t},1,5\n" for t in np.cumsum([1, 1, 1, 1.4, 1, 2.45, 1, 1])), "", ""),
    ],
)
def test_a_file_that_is_no_recording(tmp_path: Path, text: str, settings: str, problem: str) -> None:
    if not problem:
        assert len(read(tmp_path, text, settings).time) == 8, "a little jitter is no reason"
        return
    with pytest.raises(InputError) as caught:
        read(tmp_path, text, settings)
    assert problem in str(caught.value)


def test_a_rate_that_is_not_constant(tmp_path: Path) -> None:
    times = np.cumsum(np.random.default_rng(0).exponential(size=500))
    with pytest.raises(InputError, match="constant rate"):
        read(tmp_path, "t,i,v\n" + "".join(f"{t},1,5\n" for t in times))
