"""report.html: one file without network, for a phone, a desk and paper, light and dark.

Everything can be read without JavaScript; with it the table sorts and filters, and points tell what they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from string import Template

from harness.report import details, methods, plots, summary, tables, theme, traces
from harness.report.rundata import Panel, Row, Run

LABELS = {"papers’ size": "papers’"}
"""Headings too long for a card on a phone."""


def render(run: Run) -> str:
    template = files("harness.report") / "template"
    pictures = [_plot(plot, run.panels()) for plot in plots.PLOTS]
    every = [_table(run), *pictures, _plot(traces.PLOT, traces.panels(run)), _troubled(run), _methods(run)]
    sections = [section for section in every if section is not None]
    return Template((template / "page.html").read_text(encoding="utf8")).substitute(
        title=escape(methods.title(run)),
        light=theme.variables(dark=False),
        dark=theme.variables(dark=True),
        style=(template / "style.css").read_text(encoding="utf8").rstrip(),
        headline=escape(summary.headline(run)),
        details="\n".join(f"<li>{escape(sentence)}</li>" for sentence in summary.details(run)),
        contents="\n".join(f'<li><a href="#{one.name}">{escape(one.title)}</a></li>' for one in sections),
        sections="\n".join(str(one) for one in sections),
        jobs=details.as_json(run),
        script=(template / "page.js").read_text(encoding="utf8").rstrip(),
    )


@dataclass(frozen=True)
class Section:
    name: str
    """Its place in the page."""
    title: str
    content: str

    def __str__(self) -> str:
        heading = f'<h2 id="{self.name}">{escape(self.title)}</h2>'
        return f'<section aria-labelledby="{self.name}">\n{heading}\n{self.content}\n</section>'


def _table(run: Run) -> Section | None:
    """Roles are explicit: a phone's style makes cards of the rows, and browsers then forget the table."""
    if not run.measured:
        return None
    columns = tables.columns(run)
    heads = "".join(
        f'<th scope="col" role="columnheader">{escape(column.name)}<small>{escape(column.unit)}</small></th>'
        for column in columns
    )
    bodies = "\n".join(_body(panel, columns) for panel in run.panels())
    caption = (
        f"Accuracy and median time are over {methods.samples(run)}. "
        "RAM is static memory and the deepest stack. "
        f"Agreement: predictions that the host computes as the device does. {tables.legend(run)}"
    )
    return Section(
        "table",
        "Figures",
        f'<table role="table">\n<caption>{escape(caption)}</caption>\n<thead role="rowgroup"><tr role="row">'
        f'<th scope="col" role="columnheader">model</th>{heads}</tr></thead>\n{bodies}\n</table>',
    )


def _body(panel: Panel, columns: tuple[tables.Column, ...]) -> str:
    best = {column: column.best(panel.rows) for column in columns}
    span = len(columns) + 1
    lines = [
        f'<tr class="group" role="row"><th scope="rowgroup" role="rowheader" colspan="{span}">'
        f"{escape(panel.title)}</th></tr>"
    ]
    for label, row in zip(panel.labels(), panel.rows, strict=True):
        cells = "".join(_cell(column, row, row in best[column]) for column in columns)
        shape = "float32" if row.numbers == "float32" else "integer"
        swatch = f'<span class="swatch {shape}" style="color: {theme.css(row.model)}"></span>'
        lines.append(
            f'<tr role="row" id="{row.anchor}" {_properties(row)}>'
            f'<th scope="row" role="rowheader">{swatch}{escape(label)}</th>{cells}</tr>'
        )
    return '<tbody role="rowgroup">\n' + "\n".join(lines) + "\n</tbody>"


def _properties(row: Row) -> str:
    """What the table can be filtered by."""
    named = {"dataset": row.dataset, "board": row.board, "numbers": row.numbers}
    return " ".join(f'data-{name}="{escape(value)}"' for name, value in named.items())


def _cell(column: tables.Column, row: Row, best: bool) -> str:
    text, value = escape(column.text(row)), column.value(row)
    sorting = "" if value is None else f' data-value="{value:.9g}"'
    label = f"{LABELS.get(column.name, column.name)}, {column.unit}"
    shown = f"<strong>{text}</strong>" if best else text
    return f'<td role="cell" data-label="{escape(label)}"{sorting}>{shown}</td>'


def _plot(plot: plots.Plot, panels: Sequence[Panel]) -> Section | None:
    shown = plot.drawn(panels)
    if not shown:
        return None
    figures = "\n".join(f"<figure>{plots.inline(plot, panel)}</figure>" for panel in shown)
    content = f'<p class="note">{escape(plot.note(panels))}</p>\n<div class="plots">\n{figures}\n</div>'
    return Section(plot.name, plot.title, content)


def _troubled(run: Run) -> Section | None:
    if not run.troubled:
        return None
    items = "\n".join(f"<li>{escape(sentence)}</li>" for sentence in tables.troubles(run))
    return Section("troubled", "Skipped and failed", f"<ul>\n{items}\n</ul>")


def _methods(run: Run) -> Section:
    items = "\n".join(
        f"<dt>{escape(term)}</dt><dd>{escape(text)}</dd>" for term, text in methods.list_all(run)
    )
    return Section("methods", "What was measured, and how", f"<dl>\n{items}\n</dl>")
