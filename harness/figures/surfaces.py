"""Pictures of prototypes: decision regions in a plane, and prototypes that are images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from models.device import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FINE = 160
"""Points of the grid along an axis."""
SHOWN = 600
"""Samples that are drawn; more would hide the regions."""
INCHES = 2.6


@dataclass(frozen=True)
class Surface:
    """Prototypes in a plane, and the samples among which they stand."""

    title: str
    points: Sequence[Sequence[float]]
    owners: Sequence[int]


def regions(surfaces: Sequence[Surface], X: Any, y: Any, *, columns: int) -> Figure:
    """A panel each: regions of the nearest prototype, samples as dots, prototypes as white circles."""
    from matplotlib.figure import Figure

    rows = -(-len(surfaces) // columns)
    figure = Figure((columns * INCHES, rows * INCHES), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    samples, labels = np.asarray(X, dtype=float), np.asarray(y)
    for axes, surface in zip(grid.flat, surfaces, strict=False):
        _region(axes, surface, samples, labels)
    for axes in list(grid.flat)[len(surfaces) :]:
        axes.set_axis_off()
    return figure


def _region(axes: Axes, surface: Surface, samples: Array, labels: Array) -> None:
    points, owners = np.asarray(surface.points, dtype=float), np.asarray(surface.owners)
    low, high = samples.min(axis=0), samples.max(axis=0)
    across, up = (np.linspace(a, b, FINE) for a, b in zip(low, high, strict=True))
    places = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    away = np.square(places[:, None, :] - points[None]).sum(axis=-1)
    found = owners[away.argmin(axis=1)].reshape(FINE, FINE)
    extent = (low[0], high[0], low[1], high[1])
    classes: dict[str, Any] = {"cmap": "tab10", "vmin": 0, "vmax": max(9, int(labels.max()))}
    axes.imshow(found, origin="lower", extent=extent, aspect="auto", alpha=0.45, **classes)
    some = samples[:SHOWN]
    axes.scatter(some[:, 0], some[:, 1], s=2, c=labels[:SHOWN], **classes)
    inside = points[((points >= low) & (points <= high)).all(axis=1)]
    axes.scatter(inside[:, 0], inside[:, 1], s=22, facecolor="white", edgecolor="black", linewidth=0.8)
    axes.set_title(surface.title, size=9)
    axes.set_xticks([])
    axes.set_yticks([])


def images(rows: Sequence[tuple[str, Sequence[Sequence[float]]]], shape: tuple[int, int]) -> Figure:
    """A row of pictures each; zero is grey, what is positive lighter, as in the paper."""
    from matplotlib.figure import Figure

    columns = max(len(pictures) for _, pictures in rows)
    figure = Figure((columns * 0.7 + 0.9, len(rows) * 0.85), layout="constrained")
    grid = figure.subplots(len(rows), columns, squeeze=False)
    for line, (title, pictures) in zip(grid, rows, strict=True):
        line[0].set_ylabel(title, rotation=0, ha="right", va="center", size=9)
        for axes, picture in zip(line, pictures, strict=True):
            values = np.asarray(picture, dtype=float).reshape(shape)
            reach = np.abs(values).max() or 1.0
            axes.imshow(values, cmap="gray", vmin=-reach, vmax=reach)
            axes.set_xticks([])
            axes.set_yticks([])
    return figure
