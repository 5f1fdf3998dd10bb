"""Board types: one TOML file each in boards/, parsed into one frozen dataclass."""

from __future__ import annotations

import dataclasses
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_type_hints

from harness import paths
from harness.errors import BoardFileError, UnknownName


@dataclass(frozen=True)
class Simulator:
    """How this board is simulated where none is connected."""

    kind: str
    """The target that runs it: simavr."""
    mcu: str
    uart: str
    """The UART the link uses, as the simulator names it."""
    trigger: str
    """The trigger pin as port letter and bit: B0."""


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
    """The MCU family, which is also the folder of firmware/lib/hal it is built with: avr."""
    mcu: str
    clock_hz: int
    flash_bytes: int
    """What a sketch may use, the bootloader taken off."""
    ram_bytes: int
    baud: int
    environment: str
    """The environment of firmware/platformio.ini."""
    trigger_pin: str
    """What is printed on the board beside the trigger pin."""
    usb: tuple[str, ...]
    """vendor:product of the USB bridge, four hex digits each."""
    simulator: Simulator
    power: Power

    def milliseconds(self, cycles: float) -> float:
        return cycles / self.clock_hz * 1e3


def folder() -> Path:
    return paths.project() / "boards"


def names() -> list[str]:
    return sorted(path.stem for path in folder().glob("*.toml"))


def load(name: str) -> Board:
    """The board type of that name; UnknownName suggests the nearest."""
    if name not in names():
        raise UnknownName("board", name, names())
    return read(folder() / f"{name}.toml")


def read(path: Path) -> Board:
    """One board file, every key checked."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf8"))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BoardFileError(f"{path}: {error}.", "Compare it with boards/uno.toml.") from error
    board: Board = _parse(Board, {"name": path.stem, **table}, path, "")
    return board


def _parse(kind: type[Any], table: dict[str, Any], path: Path, prefix: str) -> Any:
    """A dataclass from a TOML table of the same shape; a wrong key is named with its file."""
    hints = get_type_hints(kind)
    wanted = {field.name for field in dataclasses.fields(kind)}
    for key in sorted(set(table) - wanted):
        raise BoardFileError(f"{path}: unknown key {prefix + key!r}.", f"Known: {', '.join(sorted(wanted))}.")
    for key in sorted(wanted - set(table)):
        raise BoardFileError(f"{path}: key {prefix + key!r} is missing.", "Compare it with boards/uno.toml.")
    values = {}
    for key, value in table.items():
        hint = hints[key]
        if dataclasses.is_dataclass(hint) and isinstance(value, dict):
            values[key] = _parse(hint, value, path, f"{prefix}{key}.")  # type: ignore[arg-type]
        elif hint == tuple[str, ...] and isinstance(value, list) and all(isinstance(v, str) for v in value):
            values[key] = tuple(value)
        elif hint is float and type(value) in (int, float):
            values[key] = float(value)
        elif type(value) is hint:
            values[key] = value
        else:
            wants = getattr(hint, "__name__", str(hint))
            raise BoardFileError(f"{path}: key {prefix + key!r} is {value!r}.", f"It must be a {wants}.")
    return kind(**values)
