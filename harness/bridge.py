"""A pseudo-terminal in front of a port that is only known by a URL, for programs that open device files."""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager

from serial import SerialBase, SerialException

from harness.targets.serialport import RESET_PULSE, open_port

TICK = 0.02
BOOT = 0.1
"""Seconds from the end of a reset to a bootloader that listens."""


@contextmanager
def local_end(url: str, baud: int) -> Iterator[str]:
    """A device file whose other end is the port. What is first written there resets the board, as opening a
    port with a board behind does."""
    port = open_port(url, baud)
    ours, theirs = os.openpty()
    tty.setraw(theirs)
    stop = threading.Event()
    pump = threading.Thread(target=_pump, args=(port, ours, stop), name="kilobench-bridge", daemon=True)
    pump.start()
    try:
        yield os.ttyname(theirs)
    finally:
        stop.set()
        pump.join()
        os.close(theirs)
        os.close(ours)
        port.close()


def _pump(port: SerialBase, ours: int, stop: threading.Event) -> None:
    """Both directions until the end; a port that fails shows as silence, which the program reports."""
    port.timeout = TICK
    fresh = True
    with contextlib.suppress(SerialException, OSError):
        while not stop.is_set():
            if select.select([ours], [], [], TICK if fresh else 0)[0]:
                data = os.read(ours, 4096)
                if fresh:
                    _reset(port)
                    fresh = False
                port.write(data)
            if not fresh and (data := port.read(port.in_waiting or 1)):  # type: ignore[attr-defined]
                os.write(ours, data)


def _reset(port: SerialBase) -> None:
    port.dtr = False
    time.sleep(RESET_PULSE)
    port.dtr = True
    time.sleep(BOOT)
    port.reset_input_buffer()  # type: ignore[attr-defined]
