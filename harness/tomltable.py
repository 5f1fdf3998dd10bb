"""Dataclasses from TOML tables of the same shape, every key checked and a wrong one named with its file."""

from __future__ import annotations

import dataclasses
import tomllib
from dataclasses import dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_type_hints

from harness.errors import InputError

T = TypeVar("T")


@dataclass(frozen=True)
class Source:
    """A TOML file, and how its mistakes are reported."""

    path: Path
    error: type[InputError]
    remedy: str
    """What to do about a key that is missing; of a wrong one it is said what it must be."""

    def read(self) -> dict[str, Any]:
        """The file's tables; what is wrong with its form is told with the line."""
        try:
            return tomllib.loads(self.path.read_text(encoding="utf8"))
        except OSError as failure:
            raise self.error(f"{self.path} cannot be read: {failure.strerror}.", self.remedy) from failure
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as failure:
            raise self.wrong(str(failure), self.remedy) from failure

    def parse(self, kind: type[T], table: dict[str, Any], prefix: str = "") -> T:
        """The table as a dataclass; fields with a default may be left out."""
        hints = get_type_hints(kind)
        fields = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
        for key in sorted(set(table) - set(fields)):
            raise self.wrong(f"unknown key {prefix + key!r}", f"Known: {', '.join(sorted(fields))}.")
        for key, field in sorted(fields.items()):
            if key not in table and field.default is dataclasses.MISSING:
                raise self.wrong(f"key {prefix + key!r} is missing", self.remedy)
        return kind(**{key: self._value(hints[key], value, prefix + key) for key, value in table.items()})

    def wrong(self, problem: str, remedy: str) -> InputError:
        return self.error(f"{self.path}: {problem}.", remedy)

    def _value(self, hint: Any, value: Any, key: str) -> Any:
        if isinstance(hint, UnionType):  # with None, for a table that may be left out
            hint = next(kind for kind in get_args(hint) if kind is not NoneType)
        if dataclasses.is_dataclass(hint) and isinstance(value, dict):
            return self.parse(hint, value, f"{key}.")  # type: ignore[arg-type]
        if hint == tuple[str, ...] and isinstance(value, list) and all(isinstance(v, str) for v in value):
            return tuple(value)
        if hint is float and type(value) in (int, float):
            return float(value)
        if type(value) is hint:
            return value
        raise self.wrong(f"key {key!r} is {value!r}", f"It must be a {getattr(hint, '__name__', str(hint))}.")
