"""The papers' own numbers as points: results/published.csv, by paper, place and metric."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from functools import cache

from harness import paths
from harness.figures.spec import Point

Line = Mapping[str, str]


@cache
def lines() -> tuple[Line, ...]:
    path = paths.project() / "results" / "published.csv"
    with path.open(encoding="utf8", newline="") as file:
        return tuple(csv.DictReader(file))


def points(
    paper: str,
    where: str,
    metric: str,
    *,
    datasets: tuple[str, ...] | None = None,
    methods: Mapping[str, str] | None = None,
    size: str | None = None,
) -> list[Point]:
    """Published points; `methods` renames or selects, `size` is the metric that gives x.

    A metric may carry its size: accuracy_pct@16kB.
    """
    sizes = {
        (line["dataset"], line["method"]): number(line["value"])
        for line in lines()
        if line["paper"] == paper and line["where"] == where and line["metric"] == size
    }
    found = []
    for line in lines():
        name, _, at = line["metric"].partition("@")
        if (line["paper"], line["where"], name) != (paper, where, metric):
            continue
        if datasets is not None and line["dataset"] not in datasets:
            continue
        method = line["method"] if methods is None else methods.get(line["method"], "")
        value = number(line["value"])
        if method and value is not None:
            x = number(at.removesuffix("kB")) if at else sizes.get((line["dataset"], line["method"]))
            found.append(Point(line["dataset"], method, x, value))
    return found


def number(text: str) -> float | None:
    """A plain number, or a duration such as 1h13m and 2m44s in seconds."""
    try:
        return float(text)
    except ValueError:
        found = re.fullmatch(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?", text)
        if not found or not text:
            return None
        hours, minutes, seconds = (float(part or 0) for part in found.groups())
        return 3600 * hours + 60 * minutes + seconds
