"""Which boards are plugged in: USB ids of the serial ports against those of the board files."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

from serial.tools import list_ports

from harness import boards
from harness.bench import Place
from harness.boards import Board
from harness.errors import PortError, UnknownName

Chooser = Callable[[Board, list[Place]], Place]
"""Asks a person which of several boards is meant."""


@dataclass(frozen=True)
class Plugged:
    """A USB serial port."""

    port: str
    usb: str
    """vendor:product, four hex digits each."""
    serial: str
    """Empty where the bridge has none, as most CH340."""
    types: tuple[str, ...]
    """The board types it may be. A bare USB bridge can be any of several."""


def plugged() -> list[Plugged]:
    """Every USB serial port of this machine, also those that look like no board we know."""
    known = [boards.load(name) for name in boards.names()]
    ports = [port for port in list_ports.comports() if port.vid is not None and port.pid is not None]
    counts = Counter(_serial(port) for port in ports)
    found = []
    for port in ports:
        usb = f"{port.vid:04x}:{port.pid:04x}"
        types = tuple(board.name for board in known if usb in (word.lower() for word in board.usb))
        # Some makers give every bridge the same number, which then tells nothing.
        serial = _serial(port) if counts[_serial(port)] == 1 else ""
        found.append(Plugged(port.device, usb, serial, types))
    return sorted(found, key=lambda plug: plug.port)


def port_of(serial: str) -> str | None:
    """The port that the USB device with this serial number has now."""
    return next((plug.port for plug in plugged() if serial and plug.serial == serial), None)


def serial_of(port: str) -> str:
    """The serial number of the USB device behind a port, empty if it has none."""
    path = os.path.realpath(port)
    return next((plug.serial for plug in plugged() if os.path.realpath(plug.port) == path), "")


def _serial(port: Any) -> str:
    return getattr(port, "serial_number", None) or ""


def candidates(board: Board, desk: Collection[Place]) -> list[Place]:
    """The boards of this type that are here, those of the desk by their names first."""
    found = []
    for place in desk:
        port = place.port or port_of(place.serial)
        if place.type == board.name and port:
            found.append(replace(place, port=port))
    ports = {place.port for place in found}
    named = {place.serial for place in desk if place.serial}  # the desk says what USB ids leave open
    return found + [
        Place(board.name, serial=plug.serial, port=plug.port)
        for plug in plugged()
        if board.name in plug.types and plug.port not in ports and plug.serial not in named
    ]


def find(name: str, desk: dict[str, Place], *, port: str | None = None, ask: Chooser | None = None) -> Place:
    """The board that is meant by a name of the desk or of a type; PortError if it is not here."""
    if name not in desk and name not in boards.names():
        raise UnknownName("board", name, [*desk, *boards.names()])
    if port is not None:
        place = desk.get(name) or Place(name)
        return replace(place, port=port, serial=serial_of(port))
    if name in desk:
        place = desk[name]
        where = place.port or port_of(place.serial)
        if where is None:
            raise PortError(
                f"The board {name} (USB serial number {place.serial}) is not connected.",
                "Plug it in; `kilobench boards` shows what is connected.",
            )
        return replace(place, port=where, serial=place.serial or serial_of(where))
    board = boards.load(name)
    found = candidates(board, desk.values())
    if not found:
        raise PortError(
            f"No {board.title} is connected.",
            f"Plug one in, name its port with --port, or use --sim for a simulated {board.name}.",
        )
    if len(found) == 1:
        return found[0]
    if ask is not None:
        return ask(board, found)
    raise PortError(
        f"{len(found)} ports look like a {board.title}: {', '.join(described(place) for place in found)}.",
        f"Choose one with --port or by its name in bench.toml, or use --sim for a simulated {board.name}.",
    )


def described(place: Place) -> str:
    """A board as a person tells it from its like."""
    marks = [word for word in (place.port if place.name else "", place.serial) if word]
    return f"{place.name or place.port} ({', '.join(marks)})" if marks else place.name or place.port
