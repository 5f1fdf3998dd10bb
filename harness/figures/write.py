"""Figures as files: SVG, PNG and PDF, their points as CSV, and an index with a sentence each."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness.figures.spec import Point, Spec
from harness.report import theme
from harness.spool import write_whole, writing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PNG_DPI = 150
COLUMNS = ("dataset", "method", "source", "x", "y", "sd", "seeds", "label")


@dataclass(frozen=True)
class Written:
    spec: Spec
    points: Sequence[Point]
    line: str
    files: tuple[Path, ...]


def write(
    spec: Spec, points: Sequence[Point], draw: Callable[[], Figure], folder: Path, note: str = ""
) -> Written:
    """Into the paper's folder; the note stands above the picture if something of ours is in it."""
    place = folder / spec.paper
    with writing(place):
        place.mkdir(parents=True, exist_ok=True)
    table = place / f"{spec.name}.csv"
    write_whole(table, _csv(spec, points))
    with theme.applied():
        figure = draw()
        if note and any(point.ours for point in points):
            # Below, it would run into the legend of a narrow picture.
            figure.suptitle(note, x=0.99, ha="right", size=7, color=theme.MUTED.light)
        pictures = [_saved(figure, place / f"{spec.name}.{kind}") for kind in ("svg", "png", "pdf")]
    return Written(spec, points, spec.line(points), (table, *pictures))


def index(written: Sequence[Written], folder: Path, circumstances: str) -> Path:
    lines = ["# The papers' figures, regenerated", "", circumstances, ""]
    for item in written:
        name = f"{item.spec.paper}/{item.spec.name}"
        lines += [
            f"## {item.spec.paper}, {item.spec.title}",
            "",
            item.line,
            "",
            f"![{item.line}]({name}.png)",
            "",
        ]
    path = folder / "index.md"
    write_whole(path, "\n".join(lines))
    return path


def _saved(figure: Figure, path: Path) -> Path:
    """Without dates, so that the same points give the same file."""
    dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}
    with writing(path):
        figure.savefig(path, dpi=PNG_DPI, metadata=dates[path.suffix[1:]])
    return path


def _csv(spec: Spec, points: Sequence[Point]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([f"{name} ({getattr(spec, name)})" if name in ("x", "y") else name for name in COLUMNS])
    for point in points:
        source = "ours" if point.ours else "published"
        x = "" if point.x is None else f"{point.x:.6g}"
        row = (
            point.dataset,
            point.method,
            source,
            x,
            f"{point.y:.6g}",
            f"{point.sd:.3g}",
            point.seeds,
            point.label,
        )
        writer.writerow(row)
    return text.getvalue()
