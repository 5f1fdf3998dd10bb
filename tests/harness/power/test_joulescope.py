"""The Joulescope at the boundary of its driver: a module that hands out frames as the real one does."""

from __future__ import annotations

import importlib.util
import sys
import threading
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import pytest

from harness.errors import InputError, MeterError, SetupError
from harness.power import check_meter, open_meter
from harness.power.windows import Span, energies, triggered
from tests.harness.power.waveforms import ACTIVE, IDLE, VOLTS, Waveform

CLOCK = 2_000_000
PIECE = 0.01
"""Seconds in a message."""


class Driver:
    """As pyjoulescope_driver.Driver: topics, and a thread that publishes what was switched on."""

    paths: ClassVar[list[str]] = ["u/js220/001234"]
    wave: ClassVar[Waveform] = Waveform((), 0.0)
    lose: ClassVar[set[int]] = set()
    """Messages of the current that never come, by number."""
    mute: ClassVar[bool] = False
    began: ClassVar[float]
    published: ClassVar[list[tuple[str, Any]]] = []

    def __init__(self) -> None:
        self._functions: dict[str, Callable[[str, Any], None]] = {}
        self._on: set[str] = set()
        self._ending = threading.Event()
        self._rate = 1_000_000
        self.opened = self.closed = False
        type(self).published = []

    def device_paths(self) -> list[str]:
        return self.paths

    def open(self, path: str) -> None:
        self.opened = True
        self._began = type(self).began = time.monotonic()
        threading.Thread(target=self._run, args=(path,), daemon=True).start()

    def close(self, path: str) -> None:
        self.closed = True

    def finalize(self) -> None:
        self._ending.set()

    def publish(self, topic: str, value: Any) -> None:
        self.published.append((topic, value))
        if topic.endswith("/h/fs"):
            self._rate = value
        if topic.endswith("/ctrl"):
            (self._on.add if value else self._on.discard)(topic.removesuffix("ctrl") + "!data")

    def subscribe(self, topic: str, flags: list[str], function: Callable[[str, Any], None]) -> None:
        assert flags == ["pub"]
        self._functions[topic] = function

    def unsubscribe(self, topic: str, function: Callable[[str, Any], None]) -> None:
        assert self._functions.pop(topic) == function

    def _run(self, path: str) -> None:
        for number in range(10_000):
            while time.monotonic() < self._began + (number + 1) * PIECE:
                if self._ending.wait(0.001):
                    return
            for topic in sorted(self._on & set(self._functions)):
                if not self.mute and not (topic.endswith("/i/!data") and number in self.lose):
                    self._functions[topic](topic, self._message(topic, number))

    def _message(self, topic: str, number: int) -> dict[str, Any]:
        factor = CLOCK // self._rate
        count = round(PIECE * self._rate)
        edges = number * PIECE + np.arange(count + 1, dtype=np.float64) / self._rate
        share = np.diff(self.wave.high(edges)) * self._rate
        data: Any
        if topic.endswith("/i/!data"):
            data = (IDLE + (ACTIVE - IDLE) * share).astype(np.float32)
        elif topic.endswith("/v/!data"):
            data = np.full(count, VOLTS, np.float32)
        else:
            data = np.packbits(share > 0.5, bitorder="little")
        return {
            "sample_id": 8_000_000 + number * count * factor,
            "utc": 0,
            "field_id": 1,
            "index": 0,
            "sample_rate": CLOCK,
            "decimate_factor": factor,
            "data": data,
        }


@pytest.fixture(autouse=True)
def driver(monkeypatch: pytest.MonkeyPatch) -> type[Driver]:
    class Fresh(Driver):
        pass

    module = ModuleType("pyjoulescope_driver")
    module.Driver = Fresh  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pyjoulescope_driver", module)
    return Fresh


def test_it_passes_the_conformance_check() -> None:
    check_meter(open_meter("joulescope"))


def test_streams_are_switched_on_and_off(driver: type[Driver]) -> None:
    meter = open_meter("joulescope:001234,rate=20000,trigger=1")
    with meter:
        meter.start()
        meter.stop()
    path = "u/js220/001234"
    assert meter.name == "Joulescope js220/001234"
    assert (f"{path}/h/fs", 20_000) in driver.published
    for signal in ("s/i", "s/v", "s/gpi/1"):
        assert [value for topic, value in driver.published if topic == f"{path}/{signal}/ctrl"] == [1, 0]


def test_energy_through_three_streams(driver: type[Driver]) -> None:
    with open_meter("joulescope") as meter:
        meter.start()
        now = time.monotonic() - driver.began + 0.1
        spans = tuple(Span(now + 0.08 * k, now + 0.04 + 0.08 * k) for k in range(5))
        driver.wave = Waveform(spans, 0.0)
        time.sleep(0.6)
        trace = meter.stop()
    assert trace.rate == 10_000
    assert not trace.volts_stated
    seen = triggered(trace)
    assert [span.seconds for span in seen] == pytest.approx([0.04] * 5, abs=1e-4)
    found = energies(trace, seen).windows
    assert np.median([w.gross for w in found]) == pytest.approx(VOLTS * ACTIVE * 0.04, rel=0.01)
    assert np.median([w.net for w in found]) == pytest.approx(VOLTS * (ACTIVE - IDLE) * 0.04, rel=0.01)


def test_a_piece_that_is_lost_is_counted(driver: type[Driver]) -> None:
    with open_meter("joulescope") as meter:
        meter.start()
        later = round((time.monotonic() - driver.began) / PIECE) + 10
        driver.lose = {later, later + 1}
        time.sleep(0.3)
        trace = meter.stop()
    assert trace.dropped == 200
    assert np.max(np.diff(trace.time)) == pytest.approx(201 / 10_000)


def test_bits_that_fill_a_byte_up_are_not_samples(driver: type[Driver]) -> None:
    with open_meter("joulescope:rate=100") as meter:  # one sample a message: seven bits too many
        meter.start()
        time.sleep(0.2)
        trace = meter.stop()
    assert trace.dropped == 0
    assert np.diff(trace.time) == pytest.approx(np.full(len(trace.time) - 1, 0.01))


def test_which_of_two(driver: type[Driver]) -> None:
    driver.paths = ["u/js220/001234", "u/js110/000077"]
    with pytest.raises(MeterError, match="js220/001234, js110/000077; one has to be chosen"):
        open_meter("joulescope")
    with open_meter("joulescope:000077") as meter:
        assert meter.name == "Joulescope js110/000077"
    with pytest.raises(MeterError, match="0 of them are named '9'"):
        open_meter("joulescope:9")
    driver.paths = []
    with pytest.raises(MeterError, match="No Joulescope is connected"):
        open_meter("joulescope")


def test_the_makers_driver_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "pyjoulescope_driver")
    if importlib.util.find_spec("pyjoulescope_driver") is None:
        pytest.skip("needs pyjoulescope_driver: pip install 'kilobench[joulescope]'")
    with pytest.raises(MeterError, match=r"named 'nobody'|No Joulescope is connected"):
        open_meter("joulescope:nobody")


def test_an_instrument_that_sends_nothing(driver: type[Driver], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.power.joulescope.PATIENCE", 0.1)
    driver.mute = True
    with open_meter("joulescope") as meter, pytest.raises(MeterError, match="no samples"):
        meter.start()


def test_without_the_package_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyjoulescope_driver", None)
    with pytest.raises(SetupError, match=r"kilobench\[joulescope\]"):
        open_meter("joulescope")


def test_a_setting_it_does_not_have() -> None:
    with pytest.raises(InputError, match="volts"):
        open_meter("joulescope:1,volts=5")
