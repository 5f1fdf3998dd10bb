"""Points from rows that were measured on a board: the suite `paper`, run like any other."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

from harness.figures.spec import Point
from harness.report import numbers
from harness.report.rundata import Row

IN_PROTONN = {
    "protonn": "ProtoNN",
    "ldkl-l1": "LDKL-L1",
    "mlp": "NeuralNet Pruning",
    "linear": "L1 Logistic",
}
IN_BONSAI = {"bonsai": "Bonsai", "linear": "Linear", "ldkl": "LDKL", "mlp": "NNPrune"}
CHIP_ALONE = "ours is modelled for the chip alone, theirs was measured on the whole board"
LARGER = 2048
"""The budget of integers that use as many bytes as the papers' floats."""


def milliseconds(row: Row) -> float | None:
    return row.ms


def millijoules(row: Row) -> float | None:
    return None if row.energy_uJ is None else row.energy_uJ / 1000


def percent(row: Row) -> float | None:
    return None if row.accuracy is None else 100 * row.accuracy


def kilobytes(row: Row) -> float | None:
    return None if row.flash_model is None else row.flash_model / 1024


def points(
    rows: Sequence[Row], figure: Callable[[Row], float | None], *, method: Callable[[Row], str]
) -> list[Point]:
    """The mean of the seeds of each method, its accuracy on the label."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row.ok and method(row) and figure(row) is not None:
            groups.setdefault((row.dataset, method(row)), []).append(row)
    found = []
    for (dataset, name), own in groups.items():
        values = [figure(row) or 0.0 for row in own]
        accuracy = statistics.mean(row.accuracy or 0.0 for row in own)
        found.append(
            Point(
                dataset,
                name,
                None,
                statistics.mean(values),
                statistics.stdev(values) if len(values) > 1 else 0.0,
                len(values),
                label=numbers.percent(accuracy),
            )
        )
    return found


def as_in_protonn(row: Row) -> str:
    """As ProtoNN's authors write it: the integer form is their optimised one. Empty: not in their figure."""
    family = IN_PROTONN.get(row.model, "")
    if row.numbers == "float32":
        return "ProtoNN (float, 2kB)" if row.model == "protonn" else family
    return f"{family} (optimized, 2kB)" if family and row.budget == LARGER else ""


def as_in_bonsai(row: Row) -> str:
    """As Bonsai's authors write it: BonsaiOpt is the integer form; of the others they only have floats."""
    if row.numbers == "float32":
        return IN_BONSAI.get(row.model, "")
    return "BonsaiOpt" if row.model == "bonsai" and row.budget != LARGER else ""
