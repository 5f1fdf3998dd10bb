"""The contract between a session and wherever the firmware runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from serial import SerialBase

from harness.boards import Board

CYCLE_EXACT = "cycle-exact (simulated)"
"""The device counts with its own timer, and the trigger pin confirms it."""
MODELLED = "modelled (simulated)"
"""Instructions are exact, and cycles follow from the core's documented timings."""
INSTRUCTIONS = "instructions (simulated)"
"""Nothing is known but how many there were; whatever is called cycles is their number, and no time."""
DEVICE_TIMER = "device timer"
"""A real board: the device counts, and nobody sees its pin."""


def kind(timing: str) -> str:
    """As a row says it: cycle-exact, modelled, instructions or device timer."""
    return timing.partition(" (")[0]


class Window(NamedTuple):
    """One high phase of the trigger pin, in CPU cycles."""

    start: int
    cycles: int
    slept: int
    instructions: int | None = None
    """Where they are counted. Where nothing else is known, `cycles` is the same number."""


@dataclass(frozen=True)
class Facts:
    """What a target knows of the run so far; None is what it cannot see."""

    target: str
    """simavr, qemu, or the port of a real board."""
    timing: str
    """How prediction time was had: one of the above."""
    cycles: int | None = None
    slept: int | None = None
    overruns: int | None = None
    """Bytes the receiver lost because nobody fetched them in time."""
    stack_peak: int | None = None
    cpu_seconds: float | None = None
    """Of the host's time, what the simulator has used."""
    version: str = ""


class Target(Protocol):
    """A board that runs the firmware it was given, real or simulated."""

    board: Board

    def open(self) -> SerialBase:
        """Open the serial port; the firmware has been started and its READY is still to be read."""
        ...

    def reset(self) -> None:
        """Restart the firmware, as the reset button would; READY follows on the open port."""
        ...

    def windows(self) -> list[Window]:
        """The trigger windows that ended since the last call; empty where the pin can't be seen."""
        ...

    def facts(self) -> Facts: ...

    def close(self) -> None:
        """Close the port and end whatever was started. Safe to call twice."""
        ...
