"""Puts names beside points so that none covers another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

GAP = 7.0
"""From a point's centre to its label, in points (1/72 inch)."""
AMBIGUOUS = 40.0
"""What a label costs that seems to belong to another point: as much as hiding a letter or two."""
FAR = 12.0
"""From here on a label needs a line to its point."""


@dataclass(frozen=True)
class Box:
    left: float
    bottom: float
    right: float
    top: float

    @property
    def area(self) -> float:
        return (self.right - self.left) * (self.top - self.bottom)


@dataclass(frozen=True)
class Point:
    """Where a label belongs, and how much room its text takes."""

    x: float
    y: float
    width: float
    height: float
    group: str
    """Points of one group share a label: the one with the most room has it."""
    required: bool = True
    """Whether it is better to overlap a little than to leave the label out."""


def place(points: Sequence[Point], frame: Box, obstacles: Sequence[Box] = ()) -> list[Box | None]:
    """A box for the label of every group, beside one of its points; None for all other points.

    Earlier groups choose first.
    """
    taken = [Box(p.x - 4, p.y - 4, p.x + 4, p.y + 4) for p in points] + list(obstacles)
    candidates = [_candidates(point) for point in points]
    placed: list[Box | None] = [None] * len(points)
    for group in dict.fromkeys(point.group for point in points):
        own = [number for number, point in enumerate(points) if point.group == group]
        others = [point for point in points if point.group != group]
        places = [(rank, number, box) for number in own for rank, box in enumerate(candidates[number])]
        hidden = _hidden([box for _, _, box in places], frame, taken)
        costs = [
            (float(cover) + _doubt(box, points[number], others), rank, number, box)
            for cover, (rank, number, box) in zip(hidden, places, strict=True)
        ]
        cost, _, number, box = min(costs, key=lambda each: each[:3])
        if cost == 0 or points[number].required:
            placed[number] = box
            taken.append(box)
    return placed


def _candidates(point: Point) -> list[Box]:
    """Beside the point first, then above and below, then further and further off."""
    w, h = point.width, point.height
    offsets = [(GAP, -h / 2), (-GAP - w, -h / 2), (-w / 2, GAP - 1), (-w / 2, 1 - GAP - h)]
    for away in (6.0, 11.0, 18.0, 26.0) if point.required else (6.0, 11.0):
        for up in (away - h / 2, -away - h / 2):
            offsets += [(GAP, up), (-GAP - w, up)]
    return [Box(point.x + dx, point.y + dy, point.x + dx + w, point.y + dy + h) for dx, dy in offsets]


def _hidden(boxes: Sequence[Box], frame: Box, taken: Sequence[Box]) -> Floats:
    """What each box would cover, and four times what of it would lie outside: all at once, since a crowded
    plot has thousands of places to try, each against hundreds of boxes."""
    mine, theirs = _edges(boxes)[:, :, None], _edges([*taken, frame])[:, None, :]
    across = np.minimum(mine[2], theirs[2]) - np.maximum(mine[0], theirs[0])
    up = np.minimum(mine[3], theirs[3]) - np.maximum(mine[1], theirs[1])
    shared = np.clip(across, 0, None) * np.clip(up, 0, None)
    outside = np.array([box.area for box in boxes]) - shared[:, -1]
    covered: Floats = shared[:, :-1].sum(axis=1) + 4 * outside
    return covered


def _edges(boxes: Sequence[Box]) -> Floats:
    return np.array([(box.left, box.bottom, box.right, box.top) for box in boxes]).T


def _doubt(box: Box, own: Point, others: Sequence[Point]) -> float:
    """What it costs the reader to find the label's point: another that is nearer, or a line to follow."""
    reach = distance(box, own)
    if reach >= FAR:
        return reach
    return AMBIGUOUS if any(distance(box, other) < reach for other in others) else 0.0


def distance(box: Box, point: Point) -> float:
    """From the point to the nearest edge of the label."""
    across = max(box.left - point.x, 0.0, point.x - box.right)
    up = max(box.bottom - point.y, 0.0, point.y - box.top)
    return math.hypot(across, up)
