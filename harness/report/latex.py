"""The table of a run for a paper."""

from __future__ import annotations

from harness.report import numbers, tables
from harness.report.rundata import Run


def table(run: Run) -> str:
    """A booktabs table, ready to be \\input."""
    chosen = tables.columns(run)
    lines = [
        "% needs \\usepackage{booktabs}",
        f"\\begin{{tabular}}{{ll{'r' * len(chosen)}}}",
        "\\toprule",
        " & ".join(["dataset", "model", *(_tex(column.name) for column in chosen)]) + " \\\\",
        " & ".join(["", "", *(_tex(column.unit) for column in chosen)]) + " \\\\",
    ]
    for panel in run.panels():
        lines.append("\\midrule")
        best = {column: column.best(panel.rows) for column in chosen}
        for number, (label, row) in enumerate(zip(panel.labels(), panel.rows, strict=True)):
            cells = [_tex(column.text(row)) for column in chosen]
            cells = [
                f"\\textbf{{{cell}}}" if row in best[column] else cell
                for cell, column in zip(cells, chosen, strict=True)
            ]
            name = _tex(panel.title) if number == 0 else ""
            lines.append(" & ".join([name, _tex(label), *cells]) + " \\\\")
    lines += ["\\bottomrule", "\\end{tabular}", f"% {tables.legend(run)}"]
    return "\n".join(lines) + "\n"


TEX = {
    "\\": "\\textbackslash{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    "µ": "\\textmu{}",
    "’": "'",
    "–": "--",
    "≤": "$\\leq$",
    "†": "\\textdagger{}",
    numbers.THIN: "\\,",
}


def _tex(text: str) -> str:
    return "".join(TEX.get(character, character) for character in text)
