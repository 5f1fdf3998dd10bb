"""paper-vs-ours.md: every published number that something of ours can be held against, with a verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.figures.spec import Point, Spec

CLOSE = 0.3
"""Percentage points that are no difference worth a word; of other units, percent."""


@dataclass(frozen=True)
class Pair:
    paper: str
    figure: str
    unit: str
    more_is_better: bool
    theirs: Point
    ours: Point
    caveat: str = ""

    @property
    def gain(self) -> float:
        """Positive is better: in percentage points, or in percent of theirs where the unit is another."""
        difference = self.ours.y - self.theirs.y
        if self.unit != "%":
            difference *= 100 / self.theirs.y
        return difference if self.more_is_better else -difference

    @property
    def verdict(self) -> str:
        words = "ours is better" if self.gain > 0 else "theirs is better"
        words = "as good" if abs(self.gain) <= CLOSE else words
        return f"{words}, but {self.caveat}" if self.caveat else words


def pairs(spec: Spec, points: Sequence[Point]) -> Iterator[Pair]:
    """Each published point beside ours of the same method: the largest that is no larger than theirs."""
    for theirs in points:
        if theirs.ours:
            continue
        same = [p for p in points if p.ours and (p.dataset, p.method) == (theirs.dataset, theirs.method)]
        if theirs.x is not None:
            same = [p for p in same if p.x is not None and p.x <= theirs.x * 1.001]
        if same:
            ours = max(same, key=lambda point: point.x or 0)
            where = spec.title.partition(":")[0]
            yield Pair(spec.paper, where, spec.unit, spec.more_is_better, theirs, ours, spec.caveat)


def markdown(found: Sequence[Pair], source: str, contest: Sequence[str] = ()) -> str:
    """Verdicts in words; `contest` are the lines about ours against ours."""
    better = sum(pair.gain > CLOSE for pair in found)
    worse = sum(pair.gain < -CLOSE for pair in found)
    lines = [
        "# The papers' numbers beside ours",
        "",
        f"{len(found)} published numbers have a counterpart: ours is better in {better}, as good (within "
        f"{CLOSE}) in {len(found) - better - worse}, and theirs is better in {worse}. {source}",
        "",
        *contest,
        "## Every published number that has a counterpart",
        "",
        "Sizes: theirs as the papers count (4 bytes a parameter), ours true flash bytes, and no larger.",
        "",
        "| paper | where | data | method | size | theirs | ours | sd (seeds) | gain | verdict |",
        "|---|---|---|---|---:|---:|---:|---:|---:|---|",
    ]
    lines += [_line(pair) for pair in found]
    return "\n".join(lines) + "\n"


def _line(pair: Pair) -> str:
    theirs, ours = pair.theirs, pair.ours
    size = "" if theirs.x is None or ours.x is None else f"{ours.x:.3g} ≤ {theirs.x:.3g}"
    spread = f"{ours.sd:.2g} ({ours.seeds})"
    gain = f"{pair.gain:+.2f}{'' if pair.unit == '%' else ' %'}"
    remark = f" ({ours.label})" if " " in ours.label.strip() and not ours.label.endswith("%") else ""
    cells = (
        pair.paper, pair.figure, theirs.dataset, f"{theirs.method}{remark}", size,
        f"{theirs.y:g} {pair.unit}", f"{ours.y:.4g} {pair.unit}", spread, gain, pair.verdict,
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"
