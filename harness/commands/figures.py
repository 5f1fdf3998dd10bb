"""kilobench figures: the papers' tables and figures, with their numbers beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.commands import show

SEEDS = {"fast": 2, "normal": 5, "best": 5}
FAST_ON_LARGE = 1
"""Seeds of large data where the effort is fast and nobody asked for more."""


def command(
    papers: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PAPER…]", help="protonn, bonsai, snc, npc.  [default: all]"),
    ] = None,
    *,
    only: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Such as fig4; may be repeated.")
    ] = None,
    effort: Annotated[str, typer.Option(help="fast, normal or best.")] = "fast",
    seeds: Annotated[
        int | None,
        typer.Option(
            min=1, help="How many.  [default: 5; fast: 2, but 1 on data of more than 20,000 samples]"
        ),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where to.")] = Path("results/figures"),
    sim: Annotated[
        bool, typer.Option("--sim/--no-sim", help="Run the suite `paper` on a simulated Uno.")
    ] = True,
    jobs: Annotated[int | None, typer.Option(min=1, help="Trials at a time.  [default: cores]")] = None,
    as_json: show.Json = False,
) -> None:
    """Regenerate the papers' figures; what was computed before is only drawn again."""
    from harness.figures import everything
    from harness.figures.spec import Plan
    from models import search

    search.effort_named(effort)
    fewer = FAST_ON_LARGE if effort == "fast" and seeds is None else None
    plan = Plan(effort, tuple(range(seeds or SEEDS[effort])), fewer)
    specs = everything.chosen(papers or [], only or [])
    with show.working("computing", quiet=as_json) as tell:
        results = everything.compute(specs, plan, jobs=jobs, tell=tell)
    # Afterwards: the suite finds its models among those that were trained for the figures.
    rows = _measured(out, jobs) if sim and any(spec.device for spec in specs) else None
    made = everything.draw(specs, plan, results, out, rows=rows)
    if as_json:
        show.as_json(
            {
                "index": str(made.index),
                "versus": str(made.versus),
                "cells": len(made.matches),
                "won": sum(match.lead > 0 for match in made.matches),
                "figures": [
                    {"paper": item.spec.paper, "name": item.spec.name, "line": item.line}
                    | {"files": [str(path) for path in item.files]}
                    for item in made.written
                ],
            }
        )
        return
    for item in made.written:
        typer.echo(f"{item.spec.paper} {item.spec.name}: {item.line}")
    typer.echo(f"\nfigures  {made.index}\nverdicts {made.versus}")


def _measured(out: Path, jobs: int | None) -> Path | None:
    """The rows of the suite `paper`; without them, what only a board can tell is drawn as published."""
    from harness.errors import KilobenchError
    from harness.figures import measured

    try:
        return measured.rows(out / "run", jobs=jobs)
    except KilobenchError as error:
        typer.echo(f"The suite {measured.SUITE} could not be run. {error}", err=True)
        return None
