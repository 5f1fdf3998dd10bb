"""A figure: what was measured beside what was promised."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Figure:
    name: str
    measured: float
    wanted: float
    unit: str = ""
    at_most: bool = False
    """The promise is an upper limit; else a lower one."""
    detail: str = ""

    @property
    def reached(self) -> bool:
        return self.measured <= self.wanted if self.at_most else self.measured >= self.wanted

    def __str__(self) -> str:
        sign = "≤" if self.at_most else "≥"
        verdict = "reached" if self.reached else "missed "
        text = f"{verdict}  {self.name}: {self.measured:.6g}{self.unit} ({sign} {self.wanted:g}{self.unit})"
        return f"{text}; {self.detail}" if self.detail else text


def spread(values: Sequence[float]) -> str:
    """How far the seeds lie apart, beside their mean."""
    return f"sd {statistics.stdev(values):.2f} over {len(values)} seeds"


Source = Callable[[], Iterator[Figure]]


def show(sources: Iterable[Source], record: Path) -> bool:
    """Measure and print each figure as it comes, keep all in a JSON file; whether every one was reached."""
    figures: list[Figure] = []
    for source in sources:
        for figure in source():
            print(figure, flush=True)
            figures.append(figure)
            record.parent.mkdir(parents=True, exist_ok=True)
            entries = [{**asdict(f), "reached": f.reached} for f in figures]
            record.write_text(json.dumps(entries, indent=2, ensure_ascii=False) + "\n", encoding="utf8")
    missed = sum(not figure.reached for figure in figures)
    print(f"\n{len(figures) - missed} of {len(figures)} figures reached; all of them in {record}")
    return missed == 0
