"""kilobench run: a suite on a board, from training to the report."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from harness.commands import show
from harness.errors import InputError, MeasurementError, RunFolderError

RESULTS = Path("results")


def command(
    suite: Annotated[
        str, typer.Argument(metavar="SUITE", help="quick, or a suite file of your own (.toml).")
    ],
    *,
    board: Annotated[str, typer.Option(help="A name that `kilobench boards` lists.")] = "uno",
    port: Annotated[
        str | None, typer.Option(metavar="PORT", help="Of a real board.  [default: that of the only one]")
    ] = None,
    sim: Annotated[bool, typer.Option("--sim", help="Simulate the board.")] = False,
    speed: Annotated[
        bool, typer.Option("--speed", help="Lay weights out for the fewest cycles, not the fewest bytes.")
    ] = False,
    meter: Annotated[
        str | None,
        typer.Option(metavar="KIND:ARGS", help="A power meter: ina219:/dev/ttyUSB0.  [default: modelled]"),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Take up a run that was stopped.")] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where to.  [default: results/SUITE-BOARD-TIME]")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Simulated jobs at a time.  [default: cores]")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="One line a job instead of bars.")] = False,
    as_json: show.Json = False,
) -> None:
    """Train, build and measure every job of a suite."""
    from harness import boards, runner, suites
    from harness.commands import ports, progress
    from harness.commands import report as reporting
    from harness.report import make

    kind = boards.load(board)
    chosen = suites.load(suite)
    if speed:
        chosen = replace(chosen, speed=True)
    if sim and port is not None:
        raise InputError("--sim and --port exclude each other.", "Give one of the two.")
    where = None if sim else port or ports.only(kind)
    folder = out or (_unfinished(chosen.name, board) if resume else _fresh(chosen.name, board))
    try:
        with progress.listener(len(chosen.jobs(board)), plain=quiet or as_json) as hear:
            done = runner.run(
                chosen,
                board=board,
                port=where,
                simulate=sim,
                out=folder,
                resume=resume,
                jobs=jobs,
                meter=meter,
                on_event=hear,
            )
    except KeyboardInterrupt:
        place = "--sim" if sim else f"--port {where}"
        measured = f" --meter {meter}" if meter else ""
        options = f"{place}{' --speed' if speed else ''}{measured} --out {folder} --resume"
        line = f"kilobench run {suite} --board {board} {options}"
        sys.stderr.write(f"\nWhat was measured is kept; continue with {line}\n")
        raise
    made = make(folder)
    if as_json:
        show.as_json(reporting.facts(made))
    else:
        reporting.print_table(made)
    if done.failed:
        raise MeasurementError(
            f"{done.failed} of {done.rows} jobs failed.", f"The reasons are above and in {made.page}."
        )


def _fresh(suite: str, board: str) -> Path:
    from datetime import datetime

    return RESULTS / f"{suite}-{board}-{datetime.now():%Y%m%d-%H%M%S}"


def _unfinished(suite: str, board: str) -> Path:
    """The latest of our default folders whose run was stopped."""
    import json

    for folder in sorted(RESULTS.glob(f"{suite}-{board}-*"), reverse=True):
        try:
            about = json.loads((folder / "run.json").read_text(encoding="utf8"))
        except (OSError, ValueError):
            continue
        if isinstance(about, dict) and "finished" not in about:
            return folder
    raise RunFolderError(
        f"There is no unfinished run of {suite} on {board} in {RESULTS}/.", "Name its folder with --out."
    )
