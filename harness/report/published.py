"""The papers' own numbers for a dataset, to stand hollow beside ours."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from functools import cache

from harness import paths

MCU = "atmega328p"
"""The chip that times and energies are published for."""
COMPARABLE_BYTES = 64 * 1024
"""Uncompressed references of some megabytes would squeeze everything else into a corner of the plot."""

SHORT = {"NeuralNet Pruning": "NNPrune", "L1 Logistic": "Linear"}
OTHER_NAMES = {
    f"{name}-{classes}": f"{name}-{'binary' if classes == 2 else 'multiclass'}"
    for name, classes in (("usps", 2), ("usps", 10), ("mnist", 2), ("mnist", 10), ("letter", 26))
}
"""Datasets as Shiftry's authors call them."""


@dataclass(frozen=True)
class Published:
    """One method of one paper on one dataset; None is what the paper does not say."""

    paper: str
    where: str
    method: str
    accuracy: float | None
    """Of 1."""
    size: float | None
    """Bytes as the paper counts them: 4 a parameter."""
    uno_ms: float | None
    uno_uJ: float | None = None

    @property
    def title(self) -> str:
        """The method without the remark in brackets, and the papers' long names cut."""
        plain = re.sub(r"\s*\(.*\)", "", self.method)
        compiler = next((name for name in ("SeeDot", "Shiftry") if self.paper.startswith(name.lower())), "")
        return f"{compiler} {SHORT.get(plain, plain)}".strip()

    @property
    def on_cloud(self) -> bool:
        """Bonsai's cloud baseline: its time is the radio's, not the board's."""
        return self.method.startswith("Cloud")


@cache
def load(dataset: str) -> tuple[Published, ...]:
    """All that is published for the dataset, in the file's order; empty where there is nothing."""
    path = paths.project() / "results" / "published.csv"
    if not path.is_file():
        return ()
    names = (dataset, OTHER_NAMES.get(dataset))
    grouped: dict[tuple[str, str, str, float | None], dict[str, float]] = {}
    with path.open(encoding="utf8", newline="") as file:
        for line in csv.DictReader(file):
            if line["dataset"] not in names or (value := _number(line["value"])) is None:
                continue
            metric, _, at = line["metric"].partition("@")
            size = _kilobytes(at) or _kilobytes(line["method"])
            key = (line["paper"], line["where"], line["method"], size)
            grouped.setdefault(key, {})[metric] = value
    return tuple(_published(key, metrics) for key, metrics in grouped.items())


def by_size(dataset: str) -> list[Published]:
    """Those with an accuracy and a size that a microcontroller could hold, each method and size once."""
    chosen: dict[tuple[str, int], Published] = {}
    for item in load(dataset):
        if item.accuracy is not None and item.size is not None and item.size <= COMPARABLE_BYTES:
            chosen.setdefault((item.title, round(item.size / 512)), item)
    return list(chosen.values())


def by_time(dataset: str) -> list[Published]:
    """Those with an accuracy and a prediction time on the Uno."""
    return [item for item in _on_uno(dataset) if item.uno_ms is not None]


def by_energy(dataset: str) -> list[Published]:
    """Those with an accuracy and a prediction's energy on the Uno."""
    return [item for item in _on_uno(dataset) if item.uno_uJ is not None]


def _on_uno(dataset: str) -> list[Published]:
    return [item for item in load(dataset) if item.accuracy is not None and not item.on_cloud]


def _published(key: tuple[str, str, str, float | None], metrics: dict[str, float]) -> Published:
    paper, where, method, size = key
    percentage = metrics.get("accuracy_pct")
    if percentage is None and "error_pct" in metrics:
        percentage = 100 - metrics["error_pct"]
    kilobytes = metrics.get("model_kB", size)
    return Published(
        paper=paper,
        where=where,
        method=method,
        accuracy=None if percentage is None else percentage / 100,
        size=None if kilobytes is None else kilobytes * 1024,
        uno_ms=metrics["uno_us"] / 1000 if "uno_us" in metrics else metrics.get("uno_ms"),
        uno_uJ=1000 * metrics["uno_mJ"] if "uno_mJ" in metrics else None,
    )


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _kilobytes(text: str) -> float | None:
    found = re.search(r"([0-9.]+)kB", text)
    return float(found.group(1)) if found else None
