"""Who is most accurate within the same true bytes: ProtoNN and Bonsai against every baseline, all of ours."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from harness.figures import sizes
from harness.figures.spec import Plan, Point, Results
from models import budget

CHAMPIONS = (sizes.COMPRESSED["protonn"], sizes.COMPRESSED["bonsai"])
WANTED = 0.8
"""Of the cells, to be won."""
WHY = {
    "NeuralNet Pruning": "our network learns pruned and in integers, as ProtoNN and Bonsai do and the "
    "papers' did not; it has no prototypes or tree to spend bytes on",
}
"""By the baseline that wins a cell, as far as it is known."""


@dataclass(frozen=True)
class Match:
    """One cell: a dataset and a budget, and what every method reached there."""

    dataset: str
    bytes: int
    points: Sequence[Point]

    @property
    def champion(self) -> Point:
        """The better of the two."""
        return max((p for p in self.points if p.method in CHAMPIONS), key=lambda point: point.y)

    @property
    def rival(self) -> Point:
        """The best of the others."""
        return max((p for p in self.points if p.method not in CHAMPIONS), key=lambda point: point.y)

    @property
    def lead(self) -> float:
        return self.champion.y - self.rival.y

    def won_by(self, method: str) -> bool:
        return any(point.method == method and point.y > self.rival.y for point in self.points)


def matches(plan: Plan, results: Results) -> list[Match]:
    """Every dataset and budget that both sides have an accuracy for; `results` may lack some."""
    found: dict[tuple[str, int], list[Point]] = {}
    for cell in sizes.compressed(plan, (*sizes.BINARY, *sizes.MANY)):
        if all(trial in results for trial in cell.trials(plan)):
            place = (cell.dataset, int(json.loads(cell.trial.options)["budget"]))
            found.setdefault(place, []).extend(cell.points(plan, results))
    return [Match(*place, points) for place, points in found.items() if _both_sides(points)]


def _both_sides(points: Sequence[Point]) -> bool:
    return len({point.method in CHAMPIONS for point in points}) == 2


def share(found: Sequence[Match]) -> float:
    """Of the cells where the better of the two beats every baseline."""
    return sum(match.lead > 0 for match in found) / len(found)


def markdown(found: Sequence[Match]) -> list[str]:
    """The count, and a line a cell, lost ones first."""
    if not found:
        return []
    won = sum(match.lead > 0 for match in found)
    alone = [f"{name} alone in {sum(match.won_by(name) for match in found)}" for name in CHAMPIONS]
    lines = [
        "## ProtoNN and Bonsai against every baseline, at equal true bytes",
        "",
        f"Ours against ours: of {len(found)} cells (dataset × budget), the better of the two beats every "
        f"baseline in {won} ({100 * share(found):.0f} %; {100 * WANTED:.0f} % were wanted); "
        f"{', '.join(alone)}. Accuracies are means over the seeds, lost cells come first.",
        "",
        "| data | budget | ProtoNN | Bonsai | best baseline | lead | remark |",
        "|---|---:|---:|---:|---|---:|---|",
    ]
    ordered = sorted(found, key=lambda match: match.lead)
    return [*lines, *map(_line, ordered), ""]


def _line(match: Match) -> str:
    reached = {point.method: f"{point.y:.2f} %" for point in match.points}
    own = [reached.get(name, "does not fit") for name in CHAMPIONS]
    rival = f"{match.rival.method} {match.rival.y:.2f} %"
    cells = (match.dataset, budget.show(match.bytes), *own, rival, f"{match.lead:+.2f}", _remark(match))
    return f"| {' | '.join(cells)} |"


def _remark(match: Match) -> str:
    """Whether the seeds could have decided it, and why a cell is lost where that is known."""
    spread = max(match.champion.sd, match.rival.sd)
    if abs(match.lead) <= spread:
        return f"within the spread over seeds ({spread:.2f})"
    return "" if match.lead > 0 else WHY.get(match.rival.method, "not known")
