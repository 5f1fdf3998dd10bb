"""`python -m harness.measure [NAME…]`: groups of figures (loop, kernels, line, learners, report, papers) or
single sources, as in learners.budgets; all groups without a name."""

from __future__ import annotations

import sys

from harness import paths
from harness.errors import UnknownName
from harness.measure import figures, kernels, learners, line, loop, papers, report

GROUPS: dict[str, tuple[figures.Source, ...]] = {
    "loop": loop.SOURCES,
    "kernels": kernels.SOURCES,
    "line": line.SOURCES,
    "learners": learners.SOURCES,
    "report": report.SOURCES,
    "papers": papers.SOURCES,
}


def main(names: list[str]) -> int:
    known = _known()
    for name in names:
        if name not in known:
            print(UnknownName("group of figures", name, known), file=sys.stderr)
            return 2
    sources = [source for name in (names or GROUPS) for source in known[name]]
    reached = figures.show(sources, paths.project() / "results" / "measured.json")
    return 0 if reached else 1


def _known() -> dict[str, tuple[figures.Source, ...]]:
    """Groups, and every source of a group by itself."""
    single = {f"{group}.{source.__name__}": (source,) for group in GROUPS for source in GROUPS[group]}
    return GROUPS | single


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
