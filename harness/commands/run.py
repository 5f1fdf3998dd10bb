"""kilobench run: a suite on a board, from training to the report."""

from __future__ import annotations

import shlex
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
        str,
        typer.Argument(
            metavar="SUITE", help="quick, uno, paper, reference, or a suite file of your own (.toml)."
        ),
    ],
    *,
    board: Annotated[
        list[str] | None,
        typer.Option(
            help="A type, or a name of bench.toml; again for boards side by side.", show_default="uno"
        ),
    ] = None,
    port: Annotated[
        str | None, typer.Option(metavar="PORT", help="Of a real board.  [default: that of the only one]")
    ] = None,
    sim: Annotated[bool, typer.Option("--sim", help="Simulate the board.")] = False,
    bench: show.BenchFile = None,
    own_boards: show.OwnBoards = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="For a board that was unplugged, as long as it takes.")
    ] = False,
    faults: Annotated[
        str | None, typer.Option(metavar="FAULTS", help="Damage the line on purpose: flip=0.01&seed=1.")
    ] = None,
    speed: Annotated[
        bool, typer.Option("--speed", help="Lay weights out for the fewest cycles, not the fewest bytes.")
    ] = False,
    meter: Annotated[
        str | None,
        typer.Option(metavar="KIND:ARGS", help="A power meter: ina219:/dev/ttyUSB0.  [default: modelled]"),
    ] = None,
    models: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Train nothing that this earlier run has trained.")
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
    from harness import desk, runner, suites
    from harness.commands import progress
    from harness.commands import report as reporting
    from harness.faulty import Faults
    from harness.report import make

    show.use_boards(own_boards)
    chosen = suites.load(suite)
    if speed:
        chosen = replace(chosen, speed=True)
    if sim and port is not None:
        raise InputError("--sim and --port exclude each other.", "Give one of the two.")
    names = board or ["uno"]
    damage = Faults.parse(faults) if faults else None
    places = desk.places(names, bench, port=port, simulate=sim, wait=wait)
    types = list(dict.fromkeys(place.type for place in places))
    title = "+".join(names)
    folder = out or (_unfinished(chosen.name, title) if resume else _fresh(chosen.name, title))
    try:
        total = sum(len(chosen.jobs(name)) for name in types)
        with progress.listener(total, plain=quiet or as_json) as hear:
            done = runner.run(
                chosen,
                places=places,
                out=folder,
                resume=resume,
                jobs=jobs,
                meter=meter,
                wait=wait,
                faults=damage,
                models=models,
                on_event=hear,
            )
    except KeyboardInterrupt:
        given = {
            "--port": port,
            "--bench": bench,
            "--boards": own_boards,
            "--meter": meter,
            "--faults": faults,
            "--models": models,
            "--out": folder,
        }
        words = ["kilobench", "run", suite, *(word for name in names for word in ("--board", name))]
        words += [name for name, wanted in (("--sim", sim), ("--speed", speed), ("--wait", wait)) if wanted]
        words += [word for name, value in given.items() if value for word in (name, str(value))]
        line = shlex.join([*words, "--resume"])
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
