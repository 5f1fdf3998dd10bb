"""`python -m harness.measure [NAME…]`: loop, kernels, learners; all of them without a name."""

from __future__ import annotations

import sys

from harness import paths
from harness.errors import UnknownName
from harness.measure import figures, kernels, learners, loop

GROUPS: dict[str, tuple[figures.Source, ...]] = {
    "loop": loop.SOURCES,
    "kernels": kernels.SOURCES,
    "learners": learners.SOURCES,
}


def main(names: list[str]) -> int:
    for name in names:
        if name not in GROUPS:
            print(UnknownName("group of figures", name, GROUPS), file=sys.stderr)
            return 2
    sources = [source for name in (names or GROUPS) for source in GROUPS[name]]
    reached = figures.show(sources, paths.project() / "results" / "measured.json")
    return 0 if reached else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
