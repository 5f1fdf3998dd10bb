"""Two runs, job by job: what changed, and what of it is a regression.

Cycles, flash and RAM are exact, so any increase beyond the tolerance counts. Accuracy is an estimate from
samples: it has to fall by more than the tolerance, and the samples must say that this is no chance. Energy is
compared only with energy of the same kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from harness.errors import InputError
from harness.jobs import KEY_COLUMNS
from harness.report.rundata import Row, Run
from harness.report.runfiles import RIGHT, WRONG, Outcomes
from harness.stats import sign_test

SIGNIFICANT = 0.05
MEASURED, CYCLE_EXACT = "measured", "cycle-exact"
MOST_NOTES = 3
"""Of what is wrong with a run itself: its report has all."""


class Verdict(StrEnum):
    SAME = "same"
    BETTER = "better"
    WORSE = "worse"
    """Within what is tolerated."""
    REGRESSION = "regression"
    CHANGED = "changed"
    """Neither better nor worse: another kind of figure, or a job that only the new run has."""


@dataclass(frozen=True)
class Metric:
    """A figure of a row that two runs may differ in."""

    name: str
    unit: str
    more_is_better: bool = False
    tolerance: float = 0.0
    """Percent; of accuracy, percentage points."""


ACCURACY = Metric("accuracy", "%", more_is_better=True)
CYCLES = Metric("cycles", "")
FLASH = Metric("flash", "B")
RAM = Metric("RAM", "B")
ENERGY = Metric("energy", "µJ")
METRICS = (ACCURACY, CYCLES, FLASH, RAM, ENERGY)
MEASURED_ENERGY_TOLERANCE = 5.0
"""Percent that a measured energy may differ unless told otherwise: supply, temperature and meter drift."""


@dataclass(frozen=True)
class Change:
    """One figure of one job in both runs."""

    metric: str
    unit: str
    old: float | None
    new: float | None
    verdict: Verdict
    note: str = ""

    @property
    def percent(self) -> float | None:
        """Relative to the old value; of accuracy the difference in percentage points."""
        if self.old is None or self.new is None:
            return None
        if self.metric == ACCURACY.name:
            return self.new - self.old
        return 100 * (self.new - self.old) / self.old if self.old else None

    @property
    def difference(self) -> str:
        """With its sign; of accuracy in percentage points."""
        if self.percent is None:
            return ""
        points = " points" if self.metric == ACCURACY.name else " %"
        return f"{self.percent:+.2f}{points}" if self.percent else "±0"

    @property
    def sentence(self) -> str:
        values = f"{shown(self.old)} → {shown(self.new)}"
        return " ".join(part for part in (self.metric, values, self.unit, self.difference, self.note) if part)


def shown(value: float | None) -> str:
    """Whole numbers exactly, as cycles and bytes are; others to what a table has room for."""
    if value is None:
        return "–"
    return str(int(value)) if value == int(value) else f"{value:.4g}"


@dataclass(frozen=True)
class JobChange:
    """All figures of one job, and the worst that is to be said of them."""

    row: Row
    """In the new run; in the old one where the new has none."""
    verdict: Verdict
    changes: tuple[Change, ...]
    note: str = ""

    @property
    def name(self) -> str:
        return self.row.name


@dataclass(frozen=True)
class Comparison:
    jobs: tuple[JobChange, ...]
    notes: tuple[str, ...]

    @property
    def regressions(self) -> tuple[JobChange, ...]:
        return tuple(job for job in self.jobs if job.verdict is Verdict.REGRESSION)

    def count(self, verdict: Verdict) -> int:
        return sum(job.verdict is verdict for job in self.jobs)


Tolerances = Mapping[str, float]
"""By the metric's name, percent."""


def tolerances(text: str) -> dict[str, float]:
    """From `2` or `2%` for every figure, or `cycles=1,energy=5` for some."""
    names = [metric.name for metric in METRICS]
    found: dict[str, float] = {}
    for part in text.split(","):
        given, equals, value = part.strip().rpartition("=")
        name = next((name for name in names if name.lower() == given.strip().lower()), None)
        if equals and name is None:
            raise InputError(
                f"There is no figure {given.strip()!r} to tolerate.", f"Known: {', '.join(names)}."
            )
        try:
            percent = float(value.strip().removesuffix("%"))
        except ValueError:
            percent = -1.0
        if not 0 <= percent < float("inf"):
            raise InputError(f"{part.strip()!r} is no tolerance.", "Write 2, 2% or cycles=1,energy=5.")
        found.update(dict.fromkeys([name] if name else names, percent))
    return found


def compare(old: Run, new: Run, tolerated: Tolerances | None = None) -> Comparison:
    """Every job of either run; jobs in the new run's order, then those it lacks."""
    allowed = tolerated or {}
    before = {row.key: row for row in old.rows}
    after = {row.key: row for row in new.rows}
    if not before.keys() & after.keys():
        raise InputError(
            f"{old.folder} and {new.folder} have no job in common.",
            " ".join(["Compare runs of one suite on one board.", *_circumstances(old, new)]),
        )
    jobs = []
    for key, row in after.items():
        if key in before:
            samples = old.outcomes.get(key, bytearray()), new.outcomes.get(key, bytearray())
            jobs.append(_job(before[key], row, samples, allowed))
        else:
            jobs.append(JobChange(row, Verdict.CHANGED, (), "only in the new run"))
    for key, row in before.items():
        if key not in after:
            verdict = Verdict.REGRESSION if row.ok else Verdict.CHANGED
            jobs.append(JobChange(row, verdict, (), "missing in the new run"))
    return Comparison(tuple(jobs), tuple(_circumstances(old, new)))


def _job(old: Row, new: Row, samples: tuple[Outcomes, Outcomes], allowed: Tolerances) -> JobChange:
    if old.ok and not new.ok:
        return JobChange(new, Verdict.REGRESSION, (), f"{new.status} now: {new.reason}")
    if not new.ok:
        same = (old.status, old.reason) == (new.status, new.reason)
        return JobChange(new, Verdict.SAME if same else Verdict.CHANGED, (), f"{new.status}: {new.reason}")
    if not old.ok:
        return JobChange(new, Verdict.BETTER, (), f"{old.status} before: {old.reason}")
    changes = (_accuracy(old, new, samples, allowed), *_exact(old, new, allowed), _energy(old, new, allowed))
    return JobChange(new, _worst(changes), changes)


def _worst(changes: tuple[Change, ...]) -> Verdict:
    ranking = (Verdict.REGRESSION, Verdict.WORSE, Verdict.BETTER, Verdict.CHANGED, Verdict.SAME)
    return min((change.verdict for change in changes), key=ranking.index)


def _accuracy(old: Row, new: Row, samples: tuple[Outcomes, Outcomes], allowed: Tolerances) -> Change:
    before, after = 100 * (old.accuracy or 0), 100 * (new.accuracy or 0)
    verdict, note = _verdict(ACCURACY, before, after, allowed), ""
    lost_and_won = paired(*samples)
    if lost_and_won is None:
        note = "the samples cannot be paired, so that chance cannot be ruled out"
        if verdict is Verdict.REGRESSION and old.interval and new.interval:
            # Without pairs, only intervals that do not meet are taken for a difference.
            apart = new.interval[1] < old.interval[0]
            verdict = Verdict.REGRESSION if apart else Verdict.WORSE
    elif sum(lost_and_won):
        chance = sign_test(*lost_and_won)
        note = f"{lost_and_won[0]} samples lost, {lost_and_won[1]} won, p = {chance:.2g}"
        if verdict is Verdict.REGRESSION and chance >= SIGNIFICANT:
            verdict = Verdict.WORSE
        if verdict is Verdict.SAME:
            verdict = Verdict.CHANGED
    return Change(ACCURACY.name, ACCURACY.unit, before, after, verdict, note)


def paired(old: Outcomes, new: Outcomes) -> tuple[int, int] | None:
    """Samples that only the old run had right, and only the new one; None where the samples are others."""
    if not old or len(old) != len(new) or any((a == 0) != (b == 0) for a, b in zip(old, new, strict=True)):
        return None
    if old == new:
        return 0, 0
    pairs = list(zip(old, new, strict=True))
    return pairs.count((RIGHT, WRONG)), pairs.count((WRONG, RIGHT))


def _exact(old: Row, new: Row, allowed: Tolerances) -> Iterator[Change]:
    cycles = old.cycles_median, new.cycles_median
    if old.timing == new.timing:
        note = "" if new.timing == CYCLE_EXACT else new.timing
        yield Change(CYCLES.name, CYCLES.unit, *cycles, _verdict(CYCLES, *cycles, allowed), note)
    else:
        kinds = f"{old.timing} before, {new.timing} now"
        yield Change(CYCLES.name, CYCLES.unit, *cycles, Verdict.CHANGED, kinds)
    for metric, before, after in ((FLASH, old.flash_total, new.flash_total), (RAM, old.ram, new.ram)):
        yield Change(metric.name, metric.unit, before, after, _verdict(metric, before, after, allowed))


def _energy(old: Row, new: Row, allowed: Tolerances) -> Change:
    before, after = old.energy_uJ, new.energy_uJ
    if old.energy_kind != new.energy_kind:
        kinds = f"{old.energy_kind or 'none'} before, {new.energy_kind or 'none'} now"
        return Change(ENERGY.name, ENERGY.unit, before, after, Verdict.CHANGED, kinds)
    if new.energy_kind == MEASURED:
        allowed = {ENERGY.name: MEASURED_ENERGY_TOLERANCE, **allowed}
    verdict = _verdict(ENERGY, before, after, allowed)
    return Change(ENERGY.name, ENERGY.unit, before, after, verdict, new.energy_kind)


def _verdict(metric: Metric, old: float | None, new: float | None, allowed: Tolerances) -> Verdict:
    if old == new:
        return Verdict.SAME
    if old is None or new is None:
        return Verdict.CHANGED
    loss = old - new if metric.more_is_better else new - old
    if loss < 0:
        return Verdict.BETTER
    limit = allowed.get(metric.name, metric.tolerance)
    # Percentage points of accuracy; of everything else a share of what it was.
    beyond = loss > limit if metric is ACCURACY else loss > old * limit / 100
    return Verdict.REGRESSION if beyond else Verdict.WORSE


def _circumstances(old: Run, new: Run) -> Iterator[str]:
    """What else differs, and may be the reason."""
    for key in ("suite", "board", "target", "compiler", "flags"):
        before, after = old.about.get(key), new.about.get(key)
        if before != after:
            yield f"The {key} differs: {before} before, {after} now."
    for name, run in (("old", old), ("new", new)):
        for note in run.notes[:MOST_NOTES]:
            yield f"In the {name} run: {note}"
        more = len(run.notes) - MOST_NOTES
        if more > 0:
            yield f"In the {name} run: {more} more remarks; `kilobench report` has all."


def facts(comparison: Comparison) -> dict[str, Any]:
    """For JSON."""
    return {
        "regressions": len(comparison.regressions),
        "counts": {verdict.value: comparison.count(verdict) for verdict in Verdict},
        "notes": list(comparison.notes),
        "jobs": [
            {
                **{column: getattr(job.row, column) for column in KEY_COLUMNS},
                "verdict": job.verdict.value,
                "note": job.note,
                "figures": {
                    change.metric: {
                        "old": change.old,
                        "new": change.new,
                        "percent": change.percent,
                        "verdict": change.verdict.value,
                        "note": change.note,
                    }
                    for change in job.changes
                },
            }
            for job in comparison.jobs
        ],
    }
