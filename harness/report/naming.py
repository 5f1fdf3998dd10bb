"""Names for rows that stand side by side: as short as tells them apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.report.rundata import Row

REMARKS: tuple[Callable[[Row], str], ...] = (
    lambda row: f" ≤{row.size}" if row.budget else "",
    lambda row: f" ≤{row.max_ms} ms" if row.max_ms else "",
    lambda row: " speed" if row.speed == "yes" else "",
    lambda row: f" {row.shape}" if row.shape else "",
    lambda row: f" seed {row.seed}" if row.seed is not None else "",
)


def whole(row: Row) -> str:
    """By itself, and always the same: what is as usual is not said."""
    said = [row.dataset, row.title, row.size, f"≤{row.max_ms} ms" if row.max_ms else ""]
    said += ["speed" if row.speed == "yes" else "", row.shape, f"seed {row.seed}" if row.seed else ""]
    return " ".join(part for part in said if part)


def apart(rows: Sequence[Row]) -> list[str]:
    """Model and numbers; what differs is added where one model has several rows, and † where it failed."""
    names = [row.title for row in rows]
    for remark in REMARKS:
        told: dict[str, set[str]] = {}
        for row, name in zip(rows, names, strict=True):
            told.setdefault(name, set()).add(remark(row))
        names = [
            name + remark(row) if len(told[name]) > 1 else name for row, name in zip(rows, names, strict=True)
        ]
    return [name if row.ok else f"{name} †" for row, name in zip(rows, names, strict=True)]
