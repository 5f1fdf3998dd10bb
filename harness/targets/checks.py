"""What every target must do. A plug-in's own tests can call `check_target` with a way to make one."""

from __future__ import annotations

from collections.abc import Callable

from serial import SerialBase

from harness.boards import Board
from harness.errors import KilobenchError
from harness.targets.base import Facts, Target, Window

PATIENCE = 5.0
"""Seconds, on the port's own clock, for a firmware to say that it has started."""
PAUSE = 0.05
"""Seconds of silence that end what a firmware says."""


def check_target(make: Callable[[], Target]) -> None:
    """AssertionError names the first promise of `harness.targets.base.Target` that is broken.

    The firmware may be any that says something when it starts, and always the same.
    """
    target = make()
    try:
        assert isinstance(target.board, Board), "`board` must tell which board this is"
        port = target.open()
        assert isinstance(port, SerialBase) and port.is_open, "open() must return an open serial port"
        greeting = _hear(port)
        assert greeting, "after open() the firmware's greeting must be still to be read"
        target.reset()
        again = _hear(port)
        assert again == greeting, f"after reset() the greeting must follow on the open port, not {again!r}"
        _check_measurements(target)
    finally:
        target.close()
    assert not port.is_open, "close() must close the port"
    target.close()
    _check_closed(target)
    _check_again(make, greeting)


def _check_measurements(target: Target) -> None:
    windows = target.windows()
    assert all(isinstance(window, Window) for window in windows), "windows() must give a list of Window"
    assert all(w.cycles > 0 and 0 <= w.slept <= w.cycles for w in windows), "a window must have a length"
    starts = [window.start for window in windows]
    assert starts == sorted(starts), "windows must come in the order in which they were opened"
    assert target.windows() == [], "windows() must give each window once"
    facts = target.facts()
    assert isinstance(facts, Facts), "facts() must give Facts"
    assert facts.target and facts.timing, "facts must name the target and how time was had"
    for value in (facts.cycles, facts.slept, facts.overruns, facts.stack_peak):
        assert value is None or value >= 0, "a count must not be negative; None is what cannot be seen"


def _check_closed(target: Target) -> None:
    try:
        target.reset()
    except KilobenchError:
        return
    raise AssertionError("reset() of a closed target must raise a KilobenchError")


def _check_again(make: Callable[[], Target], greeting: bytes) -> None:
    """Nothing of the first may be left that stands in the way of a second."""
    second = make()
    try:
        assert _hear(second.open()) == greeting, "a second target must start like the first"
    finally:
        second.close()


def _hear(port: SerialBase) -> bytes:
    """Everything until the firmware pauses."""
    port.timeout = PATIENCE
    heard: bytes = port.read(1)
    port.timeout = PAUSE
    while piece := port.read(256):
        heard += piece
    return heard
