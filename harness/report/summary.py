"""What a run says, in sentences computed from its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.report import numbers
from harness.report.rundata import Panel, Row, Run


def headline(run: Run) -> str:
    """The one sentence to remember."""
    if not run.measured:
        return f"None of {_jobs(len(run.rows))} could be measured."
    pairs = integer_and_float(run)
    if pairs:
        return _speed(pairs)
    return next(iter(_winners(run)), f"All {_jobs(len(run.measured))} that were measured have failed.")


def details(run: Run) -> list[str]:
    """What a reader asks next: the best of each dataset, whether host and device agree, what is missing."""
    sentences = _winners(run) if integer_and_float(run) else _winners(run)[1:]
    if run.measured:
        sentences.append(_agreement(run.measured))
    for status in dict.fromkeys(row.status for row in run.troubled):
        count = sum(row.status == status for row in run.rows)
        verb = "was" if count == 1 else "were"
        what = "skipped" if status == "skipped" else f"marked as {status}"
        sentences.append(f"{count} of {_jobs(len(run.rows))} {verb} {what}; the reasons are below.")
    return [*sentences, *run.notes]


def integer_and_float(run: Run) -> list[tuple[Row, Row]]:
    """The same model in both arithmetics, measured on the same samples."""

    def key(row: Row) -> tuple[str, ...]:
        return replace(row, numbers="").key

    floats = {key(row): row for row in run.measured if row.ok and row.numbers == "float32"}
    return [
        (row, floats[key(row)])
        for row in run.measured
        if row.ok and row.numbers != "float32" and key(row) in floats and row.work and floats[key(row)].work
    ]


def _speed(pairs: Sequence[tuple[Row, Row]]) -> str:
    ratios = sorted((slow.work or 0) / (fast.work or 1) for fast, slow in pairs)
    losses = [(exact.accuracy or 0) - (rounded.accuracy or 0) for rounded, exact in pairs]
    low, high = numbers.significant(ratios[0], 2), numbers.significant(ratios[-1], 2)
    span = f"{low}" if low == high else f"{low} to {high}"
    worst = max(losses)
    cost = f"at most {_points(worst)} less accurate" if worst > 0 else "no less accurate"
    if any(row.instructions for pair in pairs for row in pair):
        return f"Float firmware takes {span} times the instructions of integer firmware, which is {cost}."
    return f"Integer firmware is {span} times as fast as float firmware of the same models, and {cost}."


def _points(difference: float) -> str:
    points = numbers.significant(100 * difference, 2)
    return f"{points} percentage point{'' if points == '1.0' else 's'}"


def _winners(run: Run) -> list[str]:
    return [_winner(panel) for panel in run.panels() if any(row.ok and row.work for row in panel.rows)]


def _winner(panel: Panel) -> str:
    """Most accurate and fastest of a dataset, which may be the same. Instructions are no time."""
    names = dict(zip(panel.rows, panel.labels(), strict=True))
    rows = [row for row in panel.rows if row.ok and row.work]
    best = max(rows, key=lambda row: (row.accuracy or 0, -(row.work or 0)))
    fastest = min(rows, key=lambda row: (row.work or 0, -(row.accuracy or 0)))
    where = f"On {panel.title}, {names[best]}"
    least = "fastest" if fastest.instructions is None else "one of the fewest instructions"
    if best is fastest:
        return (
            f"{where} is the most accurate and the {least}: {numbers.percent(best.accuracy or 0)} of "
            f"{numbers.count(best.n_samples or 0)} samples, {_work(best)} each."
        )
    quick = f"{names[fastest]} the {least} ({_figures(fastest)})"
    return f"{where} is the most accurate ({_figures(best)}) and {quick}."


def _figures(row: Row) -> str:
    size = numbers.of_bytes(row.flash_model or 0)
    return f"{numbers.percent(row.accuracy or 0)}, {_work(row)}, {size}"


def _work(row: Row) -> str:
    if row.instructions is not None:
        return f"{numbers.count(row.instructions)} instructions"
    return numbers.milliseconds(row.ms or 0)


def _agreement(rows: Sequence[Row]) -> str:
    total = sum(row.n_samples or 0 for row in rows)
    agreed = sum(round((row.agreement or 0) * (row.n_samples or 0)) for row in rows)
    if agreed == total:
        return f"Host and device agree on all {numbers.count(total)} predictions."
    return (
        f"Host and device disagree on {numbers.count(total - agreed)} of {numbers.count(total)} predictions, "
        "which is a defect of the firmware or of its emulation."
    )


def _jobs(count: int) -> str:
    return f"{count} job{'' if count == 1 else 's'}"
