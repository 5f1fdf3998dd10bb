"""The table of a run: for the terminal, as Markdown and as CSV. One list of columns serves every form."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from harness.report import numbers
from harness.report.rundata import Row, Run

if TYPE_CHECKING:
    from rich.table import Table

NOTHING = "–"


@dataclass(frozen=True)
class Column:
    """A figure of every row: how it is called and shown, and which end of it is better."""

    name: str
    unit: str
    value: Callable[[Row], float | None]
    show: Callable[[float], str]
    better: int = 0
    """1: more is better, -1: less is."""
    mark: Callable[[Row], str] | None = None
    """A word beside each figure."""

    @property
    def heading(self) -> str:
        return f"{self.name}, {self.unit}"

    def text(self, row: Row) -> str:
        """Without the unit, which the heading has."""
        value = self.value(row)
        if value is None:
            return NOTHING
        return f"{self.show(value)} {self.mark(row)}" if self.mark else self.show(value)

    def best(self, rows: Sequence[Row]) -> set[Row]:
        """The rows that look best in this column, as it is shown; none where all look the same."""
        values = {row: self.value(row) for row in rows if row.ok}
        known = {row: self.better * value for row, value in values.items() if value is not None}
        if not self.better or not known:
            return set()
        best = self.text(max(known, key=lambda row: known[row]))
        winners = {row for row in known if self.text(row) == best}
        return winners if len(winners) < len(known) else set()


def _percent(fraction: float) -> str:
    return numbers.percent(fraction).removesuffix(f"{numbers.THIN}%")


ACCURACY = Column("accuracy", "%", lambda row: row.accuracy, _percent, 1)
AGREEMENT = Column("agreement", "%", lambda row: row.agreement, _percent)
TIME = Column("time", "ms", lambda row: row.ms, numbers.significant, -1)
CYCLES = Column("cycles", "median", lambda row: row.cycles, numbers.count, -1)
INSTRUCTIONS = Column("instructions", "median", lambda row: row.instructions, numbers.count, -1)
ENERGY = Column("energy", "µJ", lambda row: row.energy_uJ, numbers.significant, -1)
NET = Column("net energy", "µJ", lambda row: row.energy_net_uJ, numbers.significant, -1)
MODEL = Column("model", "B", lambda row: row.flash_model, numbers.count, -1)
FLASH = Column("flash", "B", lambda row: row.flash_total, numbers.count, -1)
RAM = Column("RAM", "B", lambda row: row.ram, numbers.count, -1)
PAPER = Column("papers’ size", "kB", lambda row: row.paper_kB, lambda value: f"{value:.2f}", -1)
CLIPPED = Column("clipped", "features", lambda row: row.clipped, numbers.count)
COLUMNS = (ACCURACY, TIME, CYCLES, INSTRUCTIONS, ENERGY, NET, MODEL, FLASH, RAM, PAPER, AGREEMENT, CLIPPED)
NARROW = (ACCURACY, TIME, INSTRUCTIONS, ENERGY, MODEL, FLASH, RAM)
"""What a terminal of 80 columns has room for; agreement joins them where it is not perfect."""
DISPENSABLE = (RAM, FLASH, ENERGY, MODEL)
"""What a narrower one goes without, one after the other."""
WIDEST = 1000
"""Columns in which any table has room, to see how many it takes."""
BY_BOARD = (TIME, CYCLES, INSTRUCTIONS, ENERGY, NET)
"""What not every board has: one has times, another only instructions."""
BY_METER = (ENERGY, NET)
"""Measured or modelled: that stands beside them."""


def columns(run: Run, choice: tuple[Column, ...] = COLUMNS) -> tuple[Column, ...]:
    """Those to show of a run: without the ones that its board has no figures for."""
    return tuple(
        _with_kind(column, run.measured) if column in BY_METER else column
        for column in choice
        if column not in BY_BOARD or any(column.value(row) is not None for row in run.measured)
    )


def _with_kind(column: Column, rows: Sequence[Row]) -> Column:
    """Whether it is measured or modelled: in the heading where that holds for all, else in every cell."""
    kinds = {row.energy_kind for row in rows if column.value(row) is not None}
    if len(kinds) == 1:
        return replace(column, unit=f"{column.unit} {kinds.pop()}")
    return replace(column, mark=lambda row: row.energy_kind)


def energy_kind(rows: Sequence[Row]) -> str:
    """`modelled`, `measured`, or both: it stands beside every energy figure."""
    return " and ".join(sorted({row.energy_kind for row in rows if row.energy_kind}))


def terminal(run: Run, width: int) -> Table:
    """A line a job, datasets set apart; the best of each dataset in bold.

    width: of the terminal. Columns are left out where it has no room for them, rather than figures cut.
    """
    from rich.console import Console
    from rich.measure import Measurement

    perfect = all(row.agreement == 1 for row in run.measured)
    chosen = columns(run, NARROW if perfect else (*NARROW, AGREEMENT))
    console = Console(width=WIDEST)
    for left_out in range(len(DISPENSABLE) + 1):
        gone = [column.name for column in DISPENSABLE[:left_out]]
        table = _terminal(run, tuple(column for column in chosen if column.name not in gone))
        table.caption = " ".join([legend(run), *([f"No room for {', '.join(gone)}."] if gone else [])])
        if Measurement.get(console, console.options, table).maximum <= width:
            break
    return table


def _terminal(run: Run, chosen: tuple[Column, ...]) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.caption_style, table.caption_justify = "dim", "left"
    for heading in ("dataset", "model"):
        table.add_column(heading, no_wrap=True)
    for column in chosen:
        heading = f"{column.name}\n{column.unit}".replace(" ", "\n")  # narrow: 80 columns are soon full
        table.add_column(heading, justify="right", no_wrap=True)
    for panel in run.panels():
        best = {column: column.best(panel.rows) for column in chosen}
        for number, (label, row) in enumerate(zip(panel.labels(), panel.rows, strict=True)):
            last = number == len(panel.rows) - 1
            cells = [Text(column.text(row), "bold" if row in best[column] else "") for column in chosen]
            table.add_row(panel.title if number == 0 else "", label, *cells, end_section=last)
    return table


def troubles(run: Run) -> list[str]:
    """Why jobs were skipped or failed; those with the same reason in one sentence."""
    groups: dict[tuple[str, str], list[str]] = {}
    for row in run.troubled:
        place = "" if run.on_one_board else f" ({row.board})"
        groups.setdefault((row.status, row.reason), []).append(row.name + place)
    return [
        f"{', '.join(names)}: {status}. {reason or 'No reason is given.'}"
        for (status, reason), names in groups.items()
    ]


def legend(run: Run) -> str:
    """What times and energy figures are, and what the marks mean."""
    kind = energy_kind(run.measured)
    every = {row.board for row in run.measured}
    modelled, untimed = (
        {row.board for row in run.measured if row.timing == timing} for timing in ("modelled", "instructions")
    )
    failed = any(not row.ok for row in run.measured)
    return " ".join(
        [
            *([f"Time{_on(modelled, every)} is modelled from documented timings."] if modelled else []),
            *([f"No time is known{_on(untimed, every) or ' of this board'}."] if untimed else []),
            *([f"Energy is {kind}."] if kind else []),
            "Bold: the best of a dataset.",
            *(["†: failed, the reason is below."] if failed else []),
        ]
    )


def _on(boards: set[str], every: set[str]) -> str:
    return "" if boards == every else f" on {' and '.join(sorted(boards))}"


def markdown(run: Run) -> str:
    chosen = columns(run)
    headings = ["dataset", "model", *(column.heading for column in chosen)]
    lines = [_pipes(headings), _pipes(["---", "---", *["---:"] * len(chosen)])]
    for panel in run.panels():
        best = {column: column.best(panel.rows) for column in chosen}
        for label, row in zip(panel.labels(), panel.rows, strict=True):
            cells = [
                f"**{column.text(row)}**" if row in best[column] else column.text(row) for column in chosen
            ]
            lines.append(_pipes([panel.title, label, *cells]))
    lines += ["", legend(run)]
    lines += ["", *(f"- {sentence}" for sentence in troubles(run))] if run.troubled else []
    return "\n".join(lines) + "\n"


def _pipes(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def comma_separated(run: Run) -> str:
    """For a spreadsheet: units in the names, plain numbers, the interval of the accuracy worked out."""
    text = io.StringIO()
    lines = [_plain_line(row) for row in run.rows]
    writer = csv.DictWriter(text, lines[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return text.getvalue()


def _plain_line(row: Row) -> dict[str, object]:
    low, high = row.interval or (None, None)
    return {
        "board": row.board,
        "target": row.target,
        "dataset": row.dataset,
        "model": row.model,
        "numbers": row.numbers,
        "budget_B": row.budget,
        "seed": row.seed,
        "speed": row.speed,
        "max_ms": row.max_ms,
        "shape": row.shape,
        "accuracy_pct": _hundredfold(row.accuracy),
        "accuracy_low_pct": _hundredfold(low),
        "accuracy_high_pct": _hundredfold(high),
        "agreement_pct": _hundredfold(row.agreement),
        "samples": row.n_samples,
        "clipped": row.clipped,
        "timing": row.timing,
        "time_ms": _plain(row.ms),
        "cycles_median": _plain(row.cycles),
        "instructions_median": _plain(row.instructions),
        "energy_uJ": _plain(row.energy_uJ),
        "energy_low_uJ": _plain(row.energy_low_uJ),
        "energy_high_uJ": _plain(row.energy_high_uJ),
        "energy_net_uJ": _plain(row.energy_net_uJ),
        "energy_kind": row.energy_kind,
        "energy_meter": row.energy_meter,
        "volts": _plain(row.volts),
        "volts_kind": row.volts_kind,
        "model_B": row.flash_model,
        "flash_B": row.flash_total,
        "ram_B": row.ram,
        "paper_kB": row.paper_kB,
        "status": row.status,
        "reason": row.reason,
    }


def _plain(value: float | None) -> str:
    """Without the digits that binary fractions add."""
    return "" if value is None else f"{value:.9g}"


def _hundredfold(fraction: float | None) -> str:
    return "" if fraction is None else f"{100 * fraction:.3f}"
