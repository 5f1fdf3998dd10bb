"""The PPK2 through the real ppk2-api, against an emulated one on a pseudo-terminal."""

from __future__ import annotations

import builtins
import importlib.util
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from harness.errors import InputError, MeterError, PortError, SetupError
from harness.power import check_meter, open_meter
from harness.power.base import Trace
from harness.power.windows import Span, energies, triggered
from tests.harness.power import ptys
from tests.harness.power.emulated_ppk2 import EmulatedPpk2
from tests.harness.power.ptys import Pty
from tests.harness.power.waveforms import ACTIVE, IDLE

needs_library = pytest.mark.skipif(
    importlib.util.find_spec("ppk2_api") is None, reason="needs ppk2-api: pip install 'kilobench[ppk2]'"
)
VOLTS = 3.0


def recorded(
    ppk2: EmulatedPpk2, seconds: float = 0.1, settings: str = "", pattern: Sequence[Span] = ()
) -> Trace:
    return ptys.recorded(ppk2, "ppk2", f",volts={VOLTS}{settings}", seconds, pattern)


@needs_library
def test_it_passes_the_conformance_check() -> None:
    with Pty(EmulatedPpk2()) as pty:
        check_meter(open_meter(f"ppk2:{pty.path},volts=3"))


@needs_library
def test_the_commands_of_an_ammeter() -> None:
    ppk2 = EmulatedPpk2()
    recorded(ppk2)
    assert [command.hex() for command in ppk2.commands] == ["07", "19", "1101", "0d0bb8", "06", "07"]


@needs_library
def test_the_commands_of_a_source() -> None:
    ppk2 = EmulatedPpk2()
    recorded(ppk2, settings=",mode=source")
    expected = ["07", "19", "1102", "0d0bb8", "0c01", "06", "07"]
    assert [command.hex() for command in ppk2.commands] == expected


@needs_library
def test_energy_through_calibration_ranges_and_logic_inputs_within_one_percent() -> None:
    trace = recorded(EmulatedPpk2(), 0.5, pattern=[Span(0.2 + 0.04 * k, 0.22 + 0.04 * k) for k in range(5)])
    seen = triggered(trace)
    assert len(seen) == 5
    assert [span.seconds for span in seen] == pytest.approx([0.02] * 5, abs=2e-5)
    assert trace.volts_stated and trace.volts == pytest.approx(VOLTS)
    found = energies(trace, seen).windows
    assert np.median([w.gross for w in found]) == pytest.approx(VOLTS * ACTIVE * 0.02, rel=0.01)
    assert np.median([w.net for w in found]) == pytest.approx(VOLTS * (ACTIVE - IDLE) * 0.02, rel=0.01)


@needs_library
def test_lost_samples_are_counted_by_the_counter_of_six_bits() -> None:
    trace = recorded(EmulatedPpk2(lose=range(1000, 1040)))
    assert trace.dropped == 40
    assert trace.lost is not None
    at = int(np.argmax(trace.lost))
    assert trace.time[at] - trace.time[at - 1] == pytest.approx(41 / 100_000)


@needs_library
def test_another_device_is_not_taken_for_a_ppk2() -> None:
    with Pty(EmulatedPpk2(answers=False)) as pty, pytest.raises(MeterError, match="calibration"):
        open_meter(f"ppk2:{pty.path},volts=3")


@needs_library
def test_a_port_that_is_not_there() -> None:
    with pytest.raises(PortError, match="/dev/nothing"):
        open_meter("ppk2:/dev/nothing,volts=3")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("ppk2", "port is missing"),
        ("ppk2:/dev/x", "volts=3.0"),
        ("ppk2:/dev/x,volts=9", "does not measure voltage"),
        ("ppk2:/dev/x,volts=3,trigger=D9", "trigger is 'D9'"),
    ],
)
def test_a_line_that_is_no_ppk2(text: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        open_meter(text)
    assert problem in str(caught.value)


def test_without_the_package_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *rest: Any, **more: Any) -> Any:
        if name.startswith("ppk2_api"):
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(SetupError, match=r"kilobench\[ppk2\]"):
        open_meter("ppk2:/dev/x,volts=3")
