"""Numbers as they are read: grouped in threes, rounded to what is known, with their unit."""

from __future__ import annotations

THIN = "\u202f"
"""Narrow no-break space, between groups of three and before a unit."""


def count(value: float) -> str:
    """A whole number in groups of three."""
    return f"{round(value):,}".replace(",", THIN)


def significant(value: float, digits: int = 3) -> str:
    """So many significant digits, never in exponents, and no digits invented for large numbers."""
    if value == 0:
        return "0"
    exponent = int(f"{value:.{digits - 1}e}".partition("e")[2])  # after rounding: 9.996 has that of 10.0
    places = max(0, digits - 1 - exponent)
    return count(value) if places == 0 else f"{value:.{places}f}"


def percent(fraction: float, places: int = 1) -> str:
    """A share of 1. Only a perfect one is called 100 %: rounding must not hide a wrong sample."""
    shown = round(100 * fraction, places)
    if shown >= 100 and fraction < 1:
        shown = 100 - 10.0**-places
    text = "100" if fraction == 1 else f"{shown:.{places}f}"
    return f"{text}{THIN}%"


def of_bytes(value: float) -> str:
    return f"{count(value)}{THIN}B"


def kilobytes(value: float) -> str:
    """A size on an axis: 512 B, 2 kB; 1 kB is 1024 bytes."""
    return of_bytes(value) if value < 1024 else f"{value / 1024:g}{THIN}kB"


def milliseconds(value: float) -> str:
    return f"{significant(value)}{THIN}ms"


def microjoules(value: float) -> str:
    return f"{significant(value)}{THIN}µJ"


def times(ratio: float) -> str:
    """How many times as much: 1.8 times, 18 times."""
    return f"{significant(ratio, 2)} times"
