"""report.html: one file without network, for a phone, a desk and paper, light and dark.

Everything can be read without JavaScript; with it the table sorts and filters, and points tell what they are.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    sections = [_table(run), *pictures, _plot(traces.PLOT, traces.panels(run)), _troubled(run), _methods(run)]
    return Template((template / "page.html").read_text(encoding="utf8")).substitute(
        title=escape(methods.title(run)),
        light=theme.variables(dark=False),
        dark=theme.variables(dark=True),
        style=(template / "style.css").read_text(encoding="utf8").rstrip(),
        headline=escape(summary.headline(run)),
        details="\n".join(f"<li>{escape(sentence)}</li>" for sentence in summary.details(run)),
        sections="\n".join(section for section in sections if section),
        jobs=details.as_json(run),
        script=(template / "page.js").read_text(encoding="utf8").rstrip(),
    )


def _section(name: str, title: str, content: str) -> str:
    return f'<section aria-labelledby="{name}">\n<h2 id="{name}">{escape(title)}</h2>\n{content}\n</section>'


def _table(run: Run) -> str:
    """Roles are explicit: a phone's style makes cards of the rows, and browsers then forget the table."""
    if not run.measured:
        return ""
    columns = tables.columns(run)
    heads = "".join(
        f'<th scope="col" role="columnheader">{escape(column.name)}<small>{escape(column.unit)}</small></th>'
        for column in columns
    )
    bodies = "\n".join(_body(panel, columns) for panel in run.panels())
    caption = (
        "Median of each model over the whole test set. RAM is static memory and the deepest stack. "
        f"Agreement: predictions that the host computes as the device does. {tables.legend(run)}"
    )
    return _section(
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
        f"{escape(panel.dataset)}</th></tr>"
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


def _plot(plot: plots.Plot, panels: Sequence[Panel]) -> str:
    shown = [panel for panel in panels if plot.shows(panel)]
    if not shown:
        return ""
    figures = "\n".join(f"<figure>{plots.inline(plot, panel)}</figure>" for panel in shown)
    content = f'<p class="note">{escape(plot.caption)}</p>\n<div class="plots">\n{figures}\n</div>'
    return _section(plot.name, plot.title, content)


def _troubled(run: Run) -> str:
    if not run.troubled:
        return ""
    items = "\n".join(f"<li>{escape(sentence)}</li>" for sentence in tables.troubles(run))
    return _section("troubled", "Skipped and failed", f"<ul>\n{items}\n</ul>")


def _methods(run: Run) -> str:
    items = "\n".join(
        f"<dt>{escape(term)}</dt><dd>{escape(text)}</dd>" for term, text in methods.list_all(run)
    )
    return _section("methods", "What was measured, and how", f"<dl>\n{items}\n</dl>")
