"""A real board on a serial port: a device file, or any URL pyserial knows, such as rfc2217://host:port."""

from __future__ import annotations

import errno
import time
from pathlib import Path
from types import TracebackType

import serial
from serial import SerialBase, SerialException
from serial.tools import list_ports

from harness import connected
from harness.boards import Board
from harness.errors import PortError
from harness.targets import simport
from harness.targets.base import DEVICE_TIMER, Facts, Window

assert simport.__name__ in serial.protocol_handler_packages
RESET_PULSE = 0.05
"""Seconds DTR is taken back: the 100 nF to the reset pin need about one millisecond to recharge."""


class SerialTarget:
    """The firmware that is on the board already; harness.upload puts it there."""

    def __init__(self, board: Board, port: str, *, serial: str = "") -> None:
        """serial: the USB serial number, by which the board is found when its port has another name."""
        self.board = board
        self._url = port
        self._serial = serial
        self._port: SerialBase | None = None

    def __enter__(self) -> SerialTarget:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def open(self) -> SerialBase:
        if self._port is None or not self._port.is_open:
            self._port = open_port(present(self._url, self._serial), self.board.baud)
            # Opening asserts DTR, which restarts most boards; where it was asserted before, nothing happened.
            self.reset()
        return self._port

    def reset(self) -> None:
        """A falling edge of DTR goes through a capacitor to the reset pin."""
        if self._port is None:
            raise PortError(f"The port {self._url} is not open.", "Open the target first.")
        try:
            self._port.dtr = False
            time.sleep(RESET_PULSE)
            # What the firmware said before the reset must not be taken for what it says after.
            self._port.reset_input_buffer()  # type: ignore[attr-defined]  # the stubs lack it
            self._port.dtr = True
        except (SerialException, OSError) as error:
            if getattr(error, "errno", None) not in (errno.ENOTTY, errno.EINVAL):  # a line without DTR
                raise explain(self._url, error) from error

    def windows(self) -> list[Window]:
        """The pin is for a logic analyser or a power meter; nobody sees it here."""
        return []

    def facts(self) -> Facts:
        return Facts(target=self._url, timing=DEVICE_TIMER)

    def close(self) -> None:
        port, self._port = self._port, None
        if port is not None:
            port.close()


def present(url: str, serial: str) -> str:
    """The port by which the board with this serial number is reached now; PortError if it is not here."""
    if not serial:
        return url
    port = connected.port_of(serial)
    if port is None:
        raise PortError(
            f"The board with the USB serial number {serial} is not connected.", "Plug it in again."
        )
    return port


def open_port(url: str, baud: int) -> SerialBase:
    """The port, and nobody else's meanwhile; PortError says what stands in the way."""
    try:
        port = serial.serial_for_url(url, baudrate=baud, do_not_open=True)
        port.exclusive = True if "://" not in url else None
        port.open()
    except (SerialException, OSError, ValueError) as error:
        raise explain(url, error) from error
    return port


def explain(url: str, error: Exception) -> PortError:
    """What pyserial or the system refuses, in a sentence, and what to do."""
    code = getattr(error, "errno", None)
    if code == errno.ENOENT or ("://" not in url and not Path(url).exists()):
        ports = sorted(port.device for port in list_ports.comports())
        here = (
            f"Ports here: {', '.join(ports)}."
            if ports
            else "No serial port is here: is the board plugged in?"
        )
        return PortError(f"There is no port {url}.", here)
    if code == errno.EACCES:
        return PortError(
            f"You may not open {url}.",
            "Join the group dialout (sudo usermod -aG dialout $USER) and log in again.",
        )
    if code in (errno.EBUSY, errno.EAGAIN) or "exclusively lock" in str(error):
        return PortError(f"{url} is in use by another program.", "Close its serial monitor or the other run.")
    return PortError(
        f"{url} cannot be used as a serial port: {error}.", "Check the port's name and the cable."
    )
