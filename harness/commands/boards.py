"""kilobench boards: the board types, and which of them are here."""

from __future__ import annotations

from harness.commands import show


def command(as_json: show.Json = False) -> None:
    """Board types, and which are connected or simulated here."""
    from harness import boards
    from harness.commands.ports import connected

    here = [boards.load(name) for name in boards.names()]
    ports = {board.name: connected(board) for board in here}
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
                    "ports": ports[board.name],
                }
                for board in here
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
                ", ".join(ports[board.name]) or "–",
            ]
            for board in here
        ],
        right=["clock", "flash", "RAM"],
    )
