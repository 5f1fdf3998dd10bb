"""Which boards a command line means: names of the desk or of types, asked for where that leaves a choice."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import typer

from harness import bench, boards, connected
from harness.bench import Place
from harness.boards import Board
from harness.errors import InputError, PortError, UnknownName
from harness.lifeline import LOOK


def places(
    names: list[str], file: Path | None, *, port: str | None, simulate: bool, wait: bool
) -> list[Place]:
    """One for each name, all of them simulated or none."""
    desk = bench.load(file)
    if port is not None and len(names) > 1:
        raise InputError("--port names one board, and --board several.", "Name their ports in bench.toml.")
    if simulate:
        return [Place(_type(name, desk)) for name in dict.fromkeys(names)]
    found = [_find(name, desk, port, wait) for name in names]
    seen: set[str] = set()
    for place in found:
        if place.identity in seen:
            raise InputError(f"The board {place.title} is named twice.", "Name each board once.")
        seen.add(place.identity)
    return found


def _type(name: str, desk: dict[str, Place]) -> str:
    if name in desk:
        return desk[name].type
    if name not in boards.names():
        raise UnknownName("board", name, [*desk, *boards.names()])
    return name


def _find(name: str, desk: dict[str, Place], port: str | None, wait: bool) -> Place:
    told = False
    while True:
        try:
            place = connected.find(name, desk, port=port, ask=_ask if _somebody_there() else None)
            if told:
                sys.stderr.write(f"{place.title} is there.\n")
            return place
        except PortError as error:
            if not wait:
                raise
            if not told:
                sys.stderr.write(f"{error.problem} Waiting for it.\n")
                told = True
        time.sleep(LOOK)


def _somebody_there() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _ask(board: Board, found: list[Place]) -> Place:
    typer.echo(f"{len(found)} ports look like a {board.title}:", err=True)
    for number, place in enumerate(found, start=1):
        typer.echo(f"  {number}  {connected.described(place)}", err=True)
    choice: int = typer.prompt("Which one", type=int, err=True)
    if not 1 <= choice <= len(found):
        raise InputError(f"There is no number {choice}.", f"Choose one from 1 to {len(found)}.")
    return found[choice - 1]
