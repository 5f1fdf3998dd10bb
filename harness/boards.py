"""Board types: one TOML file each in boards/, parsed into one frozen dataclass.

A user's own boards are files of the same form in the folder `boards` beside bench.toml, or in those that
--boards or KILOBENCH_BOARDS names.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from harness import paths, tomltable
from harness.errors import BoardFileError, UnknownName

FOLDERS_VARIABLE = "KILOBENCH_BOARDS"
REMEDY = "Compare it with boards/uno.toml."


@dataclass(frozen=True)
class Simulator:
    """How this board is simulated where none is connected."""

    kind: str
    """The target that runs it: simavr or qemu."""
    mcu: str
    """What the simulator calls it: one of simavr's chips, or one of QEMU's machines."""
    uart: str
    """The UART the link uses, as the simulator names it."""
    trigger: str
    """The trigger pin. simavr: port letter and bit, B0. QEMU: the addresses of the register that sets it and
    of the one that clears it, or of one that does both in turn."""
    timings: str = ""
    """QEMU only: the core whose documented instruction timings give cycles. Without it instructions are all
    that is known."""


@dataclass(frozen=True)
class Power:
    """Figures for modelled energy, each with where it comes from. A model is never called a measurement."""

    volts: float
    active_mA: float
    sleep_mA: float
    source: str


@dataclass(frozen=True)
class Board:
    """All that is known of a board type; what is wired to one desk is not in here."""

    name: str
    title: str
    family: str
    """The MCU family, which is also the folder of firmware/lib/hal it is built with: avr, nrf51, …"""
    mcu: str
    clock_hz: int
    flash_bytes: int
    """What a sketch may use, the bootloader taken off."""
    ram_bytes: int
    baud: int
    environment: str
    """The environment of firmware/platformio.ini. A board of the user's own names that of a board of ours
    with the same kind of chip; where the two differ, its own file counts."""
    trigger_pin: str
    """What is printed on the board beside the trigger pin."""
    usb: tuple[str, ...]
    """vendor:product of the USB bridge, four hex digits each."""
    simulator: Simulator
    power: Power | None = None
    """None where no current is known, or no time that it could be multiplied with."""

    def milliseconds(self, cycles: float) -> float:
        return cycles / self.clock_hz * 1e3


def folder() -> Path:
    """Of the boards that come with kilobench."""
    return paths.project() / "boards"


def folders() -> list[Path]:
    """Where board files are looked for: ours first, then the user's own."""
    own = os.environ.get(FOLDERS_VARIABLE, "")
    return [folder(), *(Path(part) for part in own.split(os.pathsep) if part), paths.config() / "boards"]


def files() -> dict[str, Path]:
    """Every board file by the name of its board; a name of ours cannot be taken by another."""
    found: dict[str, Path] = {}
    for place in folders():
        for path in sorted(place.glob("*.toml")):
            found.setdefault(path.stem, path)
    return found


def names() -> list[str]:
    return sorted(files())


def load(name: str) -> Board:
    """The board type of that name; UnknownName suggests the nearest."""
    known = files()
    if name not in known:
        raise UnknownName("board", name, known)
    return read(known[name])


def read(path: Path) -> Board:
    """One board file, every key checked."""
    source = tomltable.Source(path, BoardFileError, REMEDY)
    return source.parse(Board, {"name": path.stem, **source.read()})
