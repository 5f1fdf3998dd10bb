"""What was measured, and how: the circumstances without which a figure means nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from harness.report import numbers
from harness.report.rundata import Run, board_type
from harness.targets.base import CYCLE_EXACT, INSTRUCTIONS, MODELLED

EXPLAINED = {
    CYCLE_EXACT: f"Timing is {CYCLE_EXACT}: the device counts with its own timer, and the trigger pin "
    "confirms it.",
    MODELLED: f"Timing is {MODELLED}: instructions between the edges of the trigger pin are counted, and "
    "each takes the cycles that the processor's manual gives for it, with memory that never makes it wait.",
    INSTRUCTIONS: "No time is known: instructions between the edges of the trigger pin are counted, and how "
    "long this processor takes for them is not modelled.",
}


def title(run: Run) -> str:
    """Which suite on which board, real or simulated."""
    places = " and ".join(_place(part) for part in _by_board(run).values())
    return f"{run.about.get('suite', 'A run')} on {places}"


def list_all(run: Run) -> list[tuple[str, str]]:
    """Terms and what they were in this run; what run.json does not tell is left out."""
    about = run.about
    parts = _by_board(run)

    def each(tell: Callable[[Run], str]) -> str:
        """Once where it holds for all boards, else of each board by its name."""
        told = {board: tell(part) for board, part in parts.items()}
        if len(set(told.values())) == 1:
            return next(iter(told.values()))
        return " ".join(f"{board}: {text}" for board, text in told.items() if text)

    entries = [
        ("suite", f"{about.get('suite')}: {about['title']}" if about.get("title") else ""),
        ("board", each(_board)),
        ("runs on", each(_target)),
        ("prediction time", f"Compute only, without the waiting for serial bytes. {each(_timing)}".strip()),
        ("energy", each(_energy)),
        ("model size", "Flash bytes of values, indices, tables and scales."),
        ("papers’ size", "4 bytes a parameter, and 4 more for the index of a sparse one."),
        ("compiler", each(lambda part: _distinct(part, "compiler"))),
        ("flags", each(lambda part: _distinct(part, "flags"))),
        ("features", each(_features)),
        ("test samples", _sentence(samples(run))),
        ("training", _training(about)),
        ("link", _link(run)),
        ("versions", ", ".join(f"{name} {version}" for name, version in _table(about, "versions").items())),
        ("source", _source(about)),
        ("host", _host(about)),
        ("time", " to ".join(str(about[key]) for key in ("started", "finished") if key in about)),
    ]
    return [(term, text) for term, text in entries if text]


def _by_board(run: Run) -> dict[str, Run]:
    """The run, or each board's part of it as a run of its own."""
    if run.on_one_board:
        return {"": run}
    jobs = _table(run.about, "jobs")
    parts = {}
    for board in dict.fromkeys(row.board for row in run.rows):
        rows = tuple(row for row in run.rows if row.board == board)
        own = {name: job for name, job in jobs.items() if (job.get("key") or [""])[0] == board}
        about = {**run.about, "board": board, "target": rows[0].target, "jobs": own}
        parts[board] = replace(run, rows=rows, about=about)
    return parts


def _place(run: Run) -> str:
    name = str(run.about.get("board", "an unknown board"))
    board = board_type(name)
    simulated = board is not None and run.about.get("target") == board.simulator.kind
    return f"{board.title if board else name}{' (simulated)' if simulated else ''}"


def _table(about: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = about.get(key)
    return value if isinstance(value, dict) else {}


def _jobs(run: Run, key: str) -> Iterator[Any]:
    """What each job that was measured has under that key."""
    for job in _table(run.about, "jobs").values():
        if isinstance(job, dict) and job.get(key) not in (None, ""):
            yield job[key]


def _distinct(run: Run, key: str) -> str:
    """Usually one for the whole run; all of them where jobs differ."""
    return "; ".join(dict.fromkeys(str(value) for value in _jobs(run, key)))


def _board(run: Run) -> str:
    name = str(run.about.get("board", ""))
    board = board_type(name)
    if board is None:
        return name
    flash, ram = numbers.of_bytes(board.flash_bytes), numbers.of_bytes(board.ram_bytes)
    clock = f"{board.clock_hz / 1e6:g}{numbers.THIN}MHz"
    return f"{board.title}: {board.mcu} at {clock}, {flash} of flash, {ram} of RAM."


def _target(run: Run) -> str:
    target = str(run.about.get("target", ""))
    simulator = _distinct(run, "simulator")
    return simulator if simulator.lower().startswith(target) else target


def _timing(run: Run) -> str:
    timing = _distinct(run, "timing")
    if timing in EXPLAINED:
        return EXPLAINED[timing]
    return f"Timing: {timing}." if timing else ""


def _energy(run: Run) -> str:
    board = board_type(str(run.about.get("board", "")))
    kinds = {row.energy_kind for row in run.measured if row.energy_kind}
    if kinds == {"modelled"} and board and board.power:
        power = board.power
        figures = f"{power.volts:g}{numbers.THIN}V × {power.active_mA:g}{numbers.THIN}mA"
        return f"Modelled, not measured: time × {figures} ({power.source.rstrip('.')})."
    return f"{_measured_by(run)} {_without_energy(run)}".strip()


def _measured_by(run: Run) -> str:
    """How the figures of a meter came about."""
    jobs = [job for job in _jobs(run, "energy") if isinstance(job, dict) and job.get("kind")]
    if not jobs:
        return ""
    meters = ", ".join(dict.fromkeys(str(job["meter"]) for job in jobs))
    volts = ", ".join(dict.fromkeys(f"{job['volts']:.2f}{numbers.THIN}V" for job in jobs))
    stated = "stated" if all(job["volts_stated"] for job in jobs) else "measured"
    windows, repeats = jobs[0]["windows"], [job["repeats"] for job in jobs]
    span = f"{min(repeats)} to {max(repeats)}" if min(repeats) < max(repeats) else f"{repeats[0]}"
    counts = (sum(job["samples_dropped"] for job in jobs), sum(job["windows_measured_again"] for job in jobs))
    lost = (
        f"{counts[0]} samples were dropped and {counts[1]} windows measured again for it."
        if any(counts)
        else ""
    )
    return (
        f"{str(jobs[0]['kind']).capitalize()}, {meters}, at {volts} ({stated}): {windows} windows of {span} "
        f"predictions each, {jobs[0]['method']}. {lost}"
    ).strip()


def _without_energy(run: Run) -> str:
    reasons = [job["reason"] for job in _jobs(run, "energy") if isinstance(job, dict) and "reason" in job]
    return " ".join(f"{reason} ({reasons.count(reason)} jobs.)" for reason in dict.fromkeys(reasons))


def _features(run: Run) -> str:
    streaming = list(_jobs(run, "streaming"))
    if not streaming:
        return ""
    if not any(streaming):
        return "The whole vector is kept in RAM before a prediction."
    if all(streaming):
        return "Folded in as they come, so that no vector is kept."
    return f"Kept in RAM in {streaming.count(False)} jobs, folded in as they come in {streaming.count(True)}."


def samples(run: Run) -> str:
    """What the figures were taken over."""
    limit = _table(run.about, "definition").get("samples")
    return f"the first {numbers.count(limit)} of each test set" if limit else "the whole of each test set"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _training(about: Mapping[str, Any]) -> str:
    effort = ", ".join(map(str, about.get("efforts") or [])) or _table(about, "definition").get("effort")
    seeds = about.get("seeds")
    told = [
        f"effort {effort}" if effort else "",
        f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"
        if isinstance(seeds, list)
        else "",
        "shapes chosen on a validation part of the training data",
    ]
    return _sentence(", ".join(part for part in told if part))


def _link(run: Run) -> str:
    counts = {key: sum(_jobs(run, key)) for key in ("resent", "restarts", "overruns")}
    if not any(counts.values()):
        return "Nothing had to be sent again."
    return (
        f"{counts['resent']} frames sent again, {counts['overruns']} bytes lost by the receiver, "
        f"{counts['restarts']} restarts; no sample is counted twice."
    )


def _source(about: Mapping[str, Any]) -> str:
    git = _table(about, "git")
    if not git.get("commit"):
        return ""
    changed = ", with changes that are not committed" if git.get("dirty") else ""
    return f"commit {str(git['commit'])[:12]}{changed}"


def _host(about: Mapping[str, Any]) -> str:
    host = _table(about, "host")
    return f"{host['system']}, {host.get('cpus')} processors" if host.get("system") else ""
