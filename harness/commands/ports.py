"""Which boards are plugged in: USB ids of the serial ports against those of the board files."""

from __future__ import annotations

from harness.boards import Board
from harness.errors import PortError


def connected(board: Board) -> list[str]:
    """The ports that look like this board type. A bare USB bridge (CH340) can be any of several."""
    from serial.tools import list_ports

    wanted = {identity.lower() for identity in board.usb}
    return sorted(
        port.device
        for port in list_ports.comports()
        if port.vid is not None and f"{port.vid:04x}:{port.pid:04x}" in wanted
    )


def only(board: Board) -> str:
    """The port of the one board of this type that is connected."""
    found = connected(board)
    if not found:
        raise PortError(
            f"No {board.title} is connected.",
            f"Plug one in, name its port with --port, or use --sim for a simulated {board.name}.",
        )
    if len(found) > 1:
        raise PortError(
            f"{len(found)} ports look like a {board.title}: {', '.join(found)}.",
            f"Choose one with --port, or use --sim for a simulated {board.name}.",
        )
    return found[0]
