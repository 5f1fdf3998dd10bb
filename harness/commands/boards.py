"""kilobench boards: the board types, and which of them are here."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from harness.commands import show

if TYPE_CHECKING:
    from harness.bench import Place


def command(
    bench: show.BenchFile = None, own_boards: show.OwnBoards = None, as_json: show.Json = False
) -> None:
    """Board types, and which are connected or simulated here."""
    from harness import bench as desk
    from harness import boards, connected, locks

    show.use_boards(own_boards)
    named = desk.load(bench).values()
    types = [boards.load(name) for name in boards.names()]
    here = {board.name: connected.candidates(board, named) for board in types}
    if as_json:
        show.as_json(
            [
                {
                    "board": board.name,
                    "title": board.title,
                    "mcu": board.mcu,
                    "clock_hz": board.clock_hz,
                    "flash_bytes": board.flash_bytes,
                    "ram_bytes": board.ram_bytes,
                    "simulator": board.simulator.kind,
                    "ports": [place.port for place in here[board.name]],
                    "connected": [_facts(place, locks.holder(place)) for place in here[board.name]],
                }
                for board in types
            ]
        )
        return
    show.table(
        ["board", "", "MCU", "clock", "flash", "RAM", "simulated", "connected"],
        [
            [
                board.name,
                board.title,
                board.mcu,
                f"{board.clock_hz / 1e6:g} MHz",
                show.bytes_text(board.flash_bytes),
                show.bytes_text(board.ram_bytes),
                board.simulator.kind,
                ", ".join(place.title for place in here[board.name]) or "–",
            ]
            for board in types
        ],
        right=["clock", "flash", "RAM"],
    )
    _show_connected([place for places in here.values() for place in places], locks.holder)


def _show_connected(places: list[Place], holder: Any) -> None:
    """A port that may be one of several types stands here once."""
    single: dict[str, list[Place]] = {}
    for place in places:
        single.setdefault(place.port, []).append(place)
    if not single:
        return
    show.table(
        ["connected", "board", "port", "USB serial number", "meter", "in use by"],
        [
            [
                same[0].name or "–",
                " or ".join(place.type for place in same),
                port,
                same[0].serial or "–",
                same[0].meter or "–",
                str(holder(same[0]) or "–"),
            ]
            for port, same in single.items()
        ],
    )


def _facts(place: Place, owner: Any) -> dict[str, Any]:
    return {
        "name": place.name,
        "port": place.port,
        "serial": place.serial,
        "meter": place.meter,
        "in_use_by": asdict(owner) if owner else None,
    }
