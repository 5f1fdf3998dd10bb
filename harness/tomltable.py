"""TOML files, every key and value checked: what is wrong is said with the file, its part and the key."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
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
    """What to do where nothing better can be said."""
    part: str = ""
    """Of the file, to be named beside it."""

    def read(self) -> dict[str, Any]:
        """The file's tables; what is wrong with its form is told with the line."""
        try:
            return tomllib.loads(self.path.read_text(encoding="utf8"))
        except OSError as failure:
            raise self.error(f"{self.path} cannot be read: {failure.strerror}.", self.remedy) from failure
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as failure:
            raise self.wrong(str(failure)) from failure

    def at(self, part: str) -> Source:
        return dataclasses.replace(self, part=part)

    def wrong(self, problem: str, remedy: str = "") -> InputError:
        place = f"{self.path}, {self.part}" if self.part else str(self.path)
        return self.error(f"{place}: {problem.rstrip('.')}.", remedy or self.remedy)

    def check_keys(
        self, table: Mapping[str, Any], known: Collection[str], needed: Iterable[str], prefix: str = ""
    ) -> None:
        for key in sorted(set(table) - set(known)):
            raise self.wrong(f"unknown key {prefix + key!r}", f"Known: {', '.join(sorted(known))}.")
        for key in needed:
            if key not in table:
                raise self.wrong(f"key {prefix + key!r} is missing")

    def parse(self, kind: type[T], table: dict[str, Any], prefix: str = "") -> T:
        """The table as a dataclass; fields with a default may be left out."""
        hints = get_type_hints(kind)
        fields = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
        needed = sorted(key for key, field in fields.items() if field.default is dataclasses.MISSING)
        self.check_keys(table, fields, needed, prefix)
        return kind(**{key: self._value(hints[key], value, prefix + key) for key, value in table.items()})

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

    def string(self, key: str, value: Any) -> str:
        if not isinstance(value, str):
            raise self.wrong(f"key {key!r} must be a string")
        return value

    def strings(self, key: str, value: Any) -> tuple[str, ...]:
        if not isinstance(value, list) or not value or not all(isinstance(item, str) for item in value):
            raise self.wrong(f"key {key!r} must be a list of one or more strings")
        return self._apart(key, value)

    def switch(self, key: str, value: Any) -> bool:
        if not isinstance(value, bool):
            raise self.wrong(f"key {key!r} is {value!r} and must be true or false")
        return value

    def whole(self, key: str, value: Any, *, least: int = 0) -> int:
        if type(value) is not int or value < least:
            raise self.wrong(f"key {key!r} is {value!r} and must be a whole number from {least} on")
        return value

    def wholes(self, key: str, value: Any) -> tuple[int, ...]:
        if not isinstance(value, list) or not value:
            raise self.wrong(f"key {key!r} must be a list of one or more whole numbers")
        return self._apart(key, [self.whole(key, item) for item in value])

    def positive(self, key: str, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
            raise self.wrong(f"key {key!r} is {value!r} and must be a number above zero")
        return float(value)

    def one_of(self, key: str, value: Any, known: Collection[str]) -> str:
        if value not in known:
            raise self.wrong(f"key {key!r} is {value!r}", f"It must be one of {', '.join(known)}.")
        return str(value)

    def _apart(self, key: str, items: Sequence[T]) -> tuple[T, ...]:
        for item in items:
            if items.count(item) > 1:
                raise self.wrong(f"key {key!r} names {item!r} twice")
        return tuple(items)
