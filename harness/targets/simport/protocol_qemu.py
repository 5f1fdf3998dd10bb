"""`qemu://NAME`: the serial port of a board that QEMU simulates, for pyserial."""

from __future__ import annotations

import contextlib
import socket
from typing import Any

from serial.serialutil import SerialException
from serial.urlhandler import protocol_socket

from harness.errors import SimulatorError
from harness.targets.qemumachine import Machine

SCHEME = "qemu://"
machines: dict[str, Machine] = {}
"""The boards of this process by name; a target enters its own while it has one."""


class Serial(protocol_socket.Serial):
    """A port whose clock is the host's: QEMU gives no way to let the device run only while the host waits.

    - Opening the port switches the board on, anew if it runs, as DTR resets an Uno.
    - Bytes take no time on this line, and the rate does not matter.
    - A board that has ended raises SimulatorError with what QEMU said.
    """

    _socket: socket.socket | None

    def open(self) -> None:
        if self.is_open:
            raise SerialException("Port is already open.")
        machine = machines.get(str(self.port).removeprefix(SCHEME))
        if machine is None:
            raise SerialException(f"There is no simulated board {self.port}.")
        self.logger = None
        self._machine = machine
        self._connect()
        self.is_open = True

    def close(self) -> None:
        """Leaves the board on."""
        line, self._socket = self._socket, None
        self.is_open = False
        if line is not None:
            line.close()

    def restart(self) -> None:
        """Switch the board off and on; nothing that it said before is left to be read."""
        if self._socket is not None:
            self._socket.close()
        self._connect()

    def counted(self, windows: int) -> int:
        """Cycles, or instructions where no cycles are known, in the last so many windows. The link takes them
        instead of what the device's own timer shows, which is QEMU's time and none of the chip's."""
        return self._machine.counts.last(windows)

    def _connect(self) -> None:
        self._socket = self._machine.switch_on()
        self._socket.setblocking(False)

    def read(self, size: int = 1, /) -> bytes:
        with self._explained():
            data: bytes = super().read(size)
            return data

    def write(self, data: Any, /) -> int | None:
        with self._explained():
            return super().write(data)

    @contextlib.contextmanager
    def _explained(self) -> Any:
        try:
            yield
        except SerialException as error:
            if not self.is_open:
                raise
            raise SimulatorError(
                f"The simulated {self._machine.board.title} has ended: {self._machine.complaint()}.",
                "Open the target again; `kilobench doctor` tests the simulator.",
            ) from error
