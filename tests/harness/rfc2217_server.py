"""A virtual board behind an RFC 2217 server, in a process of its own: `python -m … BOARD FOLDER`."""

from __future__ import annotations

import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

from serial import SerialBase
from serial.rfc2217 import PortManager

from harness import boards
from tests.harness.virtualboard import TICK, Chip


class ChipPort(SerialBase):
    """A chip as a serial port: a falling DTR resets it."""

    cts = dsr = cd = True
    ri = False

    def __init__(self, chip: Chip) -> None:
        super().__init__()
        self._chip = chip
        self._said = bytearray()
        self._lock = threading.Lock()
        self.is_open = True

    def _reconfigure_port(self) -> None:
        """A bootloader and a firmware take any rate here."""

    def _update_dtr_state(self) -> None:
        if not self.dtr:
            with self._lock:
                self._chip.reset()
                self._said.clear()

    def _update_rts_state(self) -> None:
        """RTS goes nowhere on these boards."""

    def _update_break_state(self) -> None:
        """Nor does a break."""

    def reset_input_buffer(self) -> None:
        self._said.clear()

    def reset_output_buffer(self) -> None:
        """What is written is taken at once."""

    def write(self, data: Any, /) -> int:
        with self._lock:
            self._said += self._chip.turn(bytes(data))
        return len(data)

    def read(self, size: int = 1, /) -> bytes:
        with self._lock:
            self._said += self._chip.turn(b"")
            data = bytes(self._said[:size])
            del self._said[:size]
        return data


class Client:
    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lock = threading.Lock()

    def write(self, data: bytes) -> None:
        with self._lock:
            self._connection.sendall(data)


def serve(port: ChipPort, connection: socket.socket) -> None:
    """One client, until it leaves."""
    client = Client(connection)
    manager = PortManager(port, client)  # type: ignore[arg-type]  # any port, and whatever writes
    left = threading.Event()

    def speak() -> None:
        while not left.is_set():
            data = port.read(4096)
            if data:
                client.write(b"".join(manager.escape(data)))
            manager.check_modem_lines()
            time.sleep(TICK)

    speaker = threading.Thread(target=speak, daemon=True)
    speaker.start()
    while data := connection.recv(4096):
        port.write(b"".join(manager.filter(data)))
    left.set()
    speaker.join()


def main(board: str, folder: str) -> None:
    chip = Chip(boards.load(board), Path(folder))
    with socket.create_server(("127.0.0.1", 0)) as server:
        print(server.getsockname()[1], flush=True)
        while True:
            connection, _ = server.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with connection:
                serve(ChipPort(chip), connection)


if __name__ == "__main__":
    main(*sys.argv[1:])
