"""What is wired to one desk: bench.toml in the user's configuration folder, or the file that --bench names.

    [boards.left]                # a name of your own: --board left
    type = "uno"                 # a board type that `kilobench boards` lists
    serial = "85430353531351B0"  # USB serial number: found again whatever its port is called today
    port = "rfc2217://lab:4000"  # any port pyserial knows; beside a serial number it is not needed
    upload = "/dev/ttyACM3"      # where firmware goes to, if not through the same port
    meter = "ina219:/dev/ttyUSB3"

`type` and one of `serial` and `port` are needed. Board types are other files, see `harness.boards`: they say
what is true of every such board.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import boards, paths
from harness.errors import BenchError, UnknownName
from harness.tomltable import Source

FILE = "bench.toml"
REMEDY = 'A board is a table such as [boards.left] with type = "uno" and serial = "…" or port = "…".'


@dataclass(frozen=True)
class Place:
    """One board that jobs can be done on. Without a port and a serial number it is simulated."""

    type: str
    name: str = ""
    """In bench.toml."""
    serial: str = ""
    port: str = ""
    upload: str = ""
    meter: str = ""
    """Its kind, and after a colon what that kind needs to know; harness.power reads it."""

    @property
    def real(self) -> bool:
        return bool(self.port or self.serial)

    @property
    def title(self) -> str:
        """For people."""
        return self.name or self.port or (f"{self.type} {self.serial}" if self.serial else self.type)

    @property
    def sound_port(self) -> str:
        """The port itself, where faults on its line are asked for: `faulty://PORT?flip=0.01`."""
        inner = self.port.removeprefix("faulty://")
        return inner if inner == self.port else inner.rpartition("?")[0]

    @property
    def identity(self) -> str:
        """The same for every way to name this board, as far as that can be known."""
        if self.serial:
            return f"usb {self.serial}"
        return self.sound_port if "://" in self.sound_port else os.path.realpath(self.sound_port)


def load(path: Path | None = None) -> dict[str, Place]:
    """The desk's boards by name; none if the user has no such file."""
    if path is None:
        path = paths.config() / FILE
        if not path.exists():
            return {}
    source = Source(path, BenchError, REMEDY)
    tables = source.read()
    for key in sorted(set(tables) - {"boards"}):
        raise source.wrong(f"unknown table {key!r}", REMEDY)
    named = tables.get("boards", {})
    if not isinstance(named, dict):
        raise source.wrong("key 'boards' is no table", REMEDY)
    places = {name: _place(source, name, table) for name, table in named.items()}
    _check_apart(source, list(places.values()))
    return places


def _place(source: Source, name: str, table: Any) -> Place:
    prefix = f"boards.{name}"
    if not isinstance(table, dict):
        raise source.wrong(f"key {prefix!r} is no table", REMEDY)
    if "name" in table:
        raise source.wrong(f"unknown key '{prefix}.name'", "The name stands in the head of the table.")
    place = source.parse(Place, {**table, "name": name}, f"{prefix}.")
    try:
        boards.load(place.type)
    except UnknownName as error:
        raise source.wrong(f"key '{prefix}.type' is {place.type!r}", error.remedy) from error
    if name in boards.names():
        raise source.wrong(f"{prefix!r} has the name of a board type", "Choose a name of your own.")
    if not place.real:
        raise source.wrong(f"{prefix!r} has neither serial nor port", REMEDY)
    return place


def _check_apart(source: Source, places: list[Place]) -> None:
    """A board that is described twice could be used twice at once."""
    for at, place in enumerate(places):
        for other in places[:at]:
            for key in ("serial", "port"):
                value = getattr(place, key)
                if value and value == getattr(other, key):
                    raise source.wrong(
                        f"'boards.{other.name}' and 'boards.{place.name}' have the same {key} {value!r}",
                        "Describe each board once.",
                    )
