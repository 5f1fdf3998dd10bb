"""Meters by name: `KIND:PLACE,key=value,…`, such as `ina219:/dev/ttyUSB0,shunt=0.1`."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points

from harness.errors import InputError, UnknownName
from harness.power.base import Meter

GROUP = "kilobench.meters"
OWN = {
    "ina219": "harness.power.ina:open_ina",
    "ina226": "harness.power.ina:open_ina",
    "ppk2": "harness.power.ppk2:open_ppk2",
    "joulescope": "harness.power.joulescope:open_joulescope",
    "csv": "harness.power.recording:open_recording",
    "modelled": "harness.power.modelled:open_modelled",
}
"""Where each is opened; imported only when asked for."""

PREFIXES = {"": 1.0, "k": 1e3, "m": 1e-3, "u": 1e-6, "µ": 1e-6, "n": 1e-9}


@dataclass
class Options:
    """What stands behind a meter's name. Every setting is to be asked for; `finish` refuses the others."""

    kind: str
    place: str = ""
    """The port, the file or the serial number."""
    settings: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._known: set[str] = set()

    def text(self, key: str, default: str = "") -> str:
        self._known.add(key)
        return self.settings.get(key, default)

    def number(self, key: str, unit: str, default: float) -> float:
        """In that unit; written with it or not, and with a prefix: 0.1, 0.1ohm, 320mA."""
        told = self.text(key)
        if not told:
            return default
        found = re.fullmatch(r"([-+]?[\d.]+(?:e[-+]?\d+)?)\s*(?:([kmuµn]?)" + re.escape(unit) + ")?", told)
        try:
            if found is None:
                raise ValueError
            return float(found[1]) * PREFIXES[found[2] or ""]
        except ValueError:
            raise self.wrong(
                f"{key} is {told!r}", f"Give a number of {unit}, such as {key}=1{unit}."
            ) from None

    def one_of(self, key: str, known: Mapping[str, int], default: str) -> int:
        told = self.text(key, default)
        if told not in known:
            raise self.wrong(f"{key} is {told!r}", f"It must be one of {', '.join(known)}.")
        return known[told]

    def finish(self) -> None:
        for key in self.settings:
            if key not in self._known:
                known = ", ".join(sorted(self._known)) or "none"
                raise self.wrong(f"it has no setting {key!r}", f"Known: {known}.")

    def wrong(self, problem: str, remedy: str) -> InputError:
        return InputError(f"The meter {self.kind} cannot be opened: {problem}.", remedy)


Opener = Callable[[Options], Meter]


def names() -> list[str]:
    return sorted({*OWN, *(entry.name for entry in entry_points(group=GROUP))})


def open_meter(text: str) -> Meter:
    """The meter of a line such as `ina219:/dev/ttyUSB0,shunt=0.1`; InputError, PortError or SetupError."""
    options = parse(text)
    return _opener(options.kind)(options)


def parse(text: str) -> Options:
    kind, _, rest = text.partition(":")
    place, settings = "", {}
    for number, part in enumerate(rest.split(",") if rest else []):
        # A port such as rfc2217://host:2217?ign_set_control=1 is no setting, though it has an equals sign.
        if number == 0 and not re.match(r"\w+=", part):
            place = part
            continue
        key, equals, value = part.partition("=")
        if not equals or not key:
            raise InputError(
                f"The meter {text!r} cannot be opened: {part!r} is no setting.",
                "Write KIND:PLACE,key=value, such as ina219:/dev/ttyUSB0,shunt=0.1.",
            )
        settings[key.strip()] = value.strip()
    return Options(kind.strip(), place.strip(), settings)


def _opener(kind: str) -> Opener:
    for entry in entry_points(group=GROUP):
        if entry.name == kind:
            opener: Opener = entry.load()
            return opener
    if kind not in OWN:
        raise UnknownName("meter", kind, names())
    module, _, function = OWN[kind].partition(":")
    own: Opener = getattr(importlib.import_module(module), function)
    return own
