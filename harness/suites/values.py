"""The values of a suite file, each checked; what is wrong is said with the place and the key."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from harness.errors import InputError, KilobenchError
from models import budget
from models.device import WIRE_TYPES

Place = Path | str
"""The file, or the row in it."""
T = TypeVar("T")


def wrong(
    place: Place, problem: str, remedy: str = "Compare it with harness/suites/quick.toml and uno.toml."
) -> InputError:
    return InputError(f"{place}: {problem.rstrip('.')}.", remedy)


def check_keys(
    place: Place, table: Mapping[str, Any], known: Collection[str], *, needed: Sequence[str]
) -> None:
    for key in sorted(set(table) - set(known)):
        raise wrong(place, f"unknown key {key!r}", f"Known: {', '.join(sorted(known))}.")
    for key in needed:
        if key not in table:
            raise wrong(place, f"key {key!r} is missing")


def string(place: Place, key: str, value: Any) -> str:
    if not isinstance(value, str):
        raise wrong(place, f"key {key!r} must be a string")
    return value


def strings(place: Place, key: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(item, str) for item in value):
        raise wrong(place, f"key {key!r} must be a list of one or more strings")
    return _apart(place, key, value)


def switch(place: Place, key: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise wrong(place, f"key {key!r} is {value!r} and must be true or false")
    return value


def whole(place: Place, key: str, value: Any, *, least: int = 0) -> int:
    if type(value) is not int or value < least:
        raise wrong(place, f"key {key!r} is {value!r} and must be a whole number from {least} on")
    return value


def wholes(place: Place, key: str, value: Any) -> tuple[int, ...]:
    if not isinstance(value, list) or not value:
        raise wrong(place, f"key {key!r} must be a list of one or more whole numbers")
    return _apart(place, key, [whole(place, key, item) for item in value])


def positive(place: Place, key: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise wrong(place, f"key {key!r} is {value!r} and must be a number above zero")
    return float(value)


def one_of(place: Place, key: str, value: Any, known: Collection[str]) -> str:
    if value not in known:
        raise wrong(place, f"key {key!r} is {value!r}", f"It must be one of {', '.join(known)}.")
    return str(value)


def number_formats(place: Place, key: str, texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(one_of(place, key, text, WIRE_TYPES) for text in texts)


def size(place: Place, text: str) -> int:
    try:
        return budget.parse(text)
    except KilobenchError as error:
        raise wrong(place, error.problem, error.remedy) from error


def listed(value: Any) -> Any:
    """As JSON gives it back: tuples are lists there."""
    if isinstance(value, dict):
        return {key: listed(item) for key, item in value.items()}
    return [listed(item) for item in value] if isinstance(value, list | tuple) else value


def _apart(place: Place, key: str, items: Sequence[T]) -> tuple[T, ...]:
    for item in items:
        if items.count(item) > 1:
            raise wrong(place, f"key {key!r} names {item!r} twice")
    return tuple(items)
