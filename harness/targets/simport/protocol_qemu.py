"""`qemu://NAME`: the serial port of a board that QEMU simulates, for pyserial."""

from __future__ import annotations

import contextlib
import socket
import time
from typing import Any

from serial.serialutil import SerialException
from serial.urlhandler import protocol_socket

from harness.errors import SimulatorError
from harness.targets.qemumachine import Machine

SCHEME = "qemu://"
machines: dict[str, Machine] = {}
"""The boards of this process by name; a target enters its own while it has one."""


class Serial(protocol_socket.Serial):
    """The line to a board that runs by itself: QEMU cannot be told to go on only while the host waits.

    - `now()` is the board's time while it works and the host's while it sleeps. On a busy machine a byte
      takes QEMU milliseconds, and by the host's clock a request still being heard would be sent again.
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
        self._looked, self._worked, self._clock = time.monotonic(), 0, 0.0
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

    def now(self) -> float:
        """Seconds for which the board has worked, at an instruction a cycle, or was idle at every look."""
        looked, worked = time.monotonic(), self._machine.counts.totals().instructions
        if worked == self._worked:
            self._clock += looked - self._looked
        else:
            self._clock += (worked - self._worked) / self._machine.board.clock_hz
        self._looked, self._worked = looked, worked
        return self._clock

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
