"""Byte budgets as people write them: 512B, 2kB, 1.5kB. 1 kB is 1024 bytes of flash."""

from __future__ import annotations

import re

from models.errors import BudgetError

KILO = 1024
_FORM = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*(b|bytes?|kb|kib|k)?", re.IGNORECASE)


def parse(text: str) -> int:
    """Bytes of "512B", "2kB", "1.5kB" or "2048"."""
    match = _FORM.fullmatch(text.strip())
    if not match:
        raise BudgetError(
            f"{text!r} is not a size.", "Write it like 512B, 2kB or 1.5kB (1 kB is 1024 bytes)."
        )
    unit = (match[2] or "b").lower()
    size = float(match[1]) * (KILO if unit.startswith("k") else 1)
    if size != int(size):
        raise BudgetError(f"{text!r} is {size:g} bytes.", "Write a size of whole bytes.")
    if size < 1:
        raise BudgetError(f"{text!r} has room for nothing.", "Write a size of at least one byte.")
    return int(size)


def show(size: int) -> str:
    """The shortest text that `parse` reads as the same number of bytes."""
    if size >= KILO and size % (KILO // 4) == 0:
        return f"{size / KILO:g}kB"
    return f"{size}B"
