"""Board types: one TOML file each in boards/, parsed into one frozen dataclass."""

from __future__ import annotations

import dataclasses
import tomllib
from dataclasses import dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_type_hints

from harness import paths
from harness.errors import BoardFileError, UnknownName


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
    """The environment of firmware/platformio.ini."""
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
    fields = dataclasses.fields(kind)
    known = {field.name for field in fields}
    needed = {field.name for field in fields if field.default is dataclasses.MISSING}
    for key in sorted(set(table) - known):
        raise BoardFileError(f"{path}: unknown key {prefix + key!r}.", f"Known: {', '.join(sorted(known))}.")
    for key in sorted(needed - set(table)):
        raise BoardFileError(f"{path}: key {prefix + key!r} is missing.", "Compare it with boards/uno.toml.")
    values = {}
    for key, value in table.items():
        hint = _given(hints[key])
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


def _given(hint: Any) -> Any:
    """The type of a value that is there, where None stands for one that is not."""
    kinds = [kind for kind in get_args(hint) if kind is not NoneType]
    return kinds[0] if isinstance(hint, UnionType) and len(kinds) == 1 else hint
