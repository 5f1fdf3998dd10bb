"""Points from rows that were measured on a board: the suite `paper`, run like any other."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

from harness.figures.sizes import COMPRESSED
from harness.figures.spec import Point
from harness.report import numbers
from harness.report.rundata import Row


def points(
    rows: Sequence[Row], figure: Callable[[Row], float | None], *, method: Callable[[Row], str]
) -> list[Point]:
    """The mean of the seeds of each method, its accuracy on the label."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row.ok and figure(row) is not None:
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


FAMILIES = {
    "protonn": "ProtoNN",
    "bonsai": "Bonsai",
    "linear": "L1 Logistic",
    "ldkl-l1": "LDKL-L1",
    "mlp": "NeuralNet Pruning",
}


def with_format(row: Row) -> str:
    """As ProtoNN's authors write it: the integer form is their optimised one."""
    family = COMPRESSED.get(row.model, row.family)
    form = "float" if row.numbers == "float32" else "optimized"
    return f"{family} ({form}, {row.size.replace(' ', '')})"


def as_in_bonsai(row: Row) -> str:
    """As Bonsai's authors write it: BonsaiOpt is the integer form; the others they only have in floats."""
    names = {"bonsai": "Bonsai", "linear": "Linear", "ldkl": "LDKL", "mlp": "NNPrune"}
    family = names.get(row.model, row.family)
    return family if row.numbers == "float32" else f"{family}Opt"
