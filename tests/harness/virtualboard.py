"""A whole board without hardware: the real tools program its bootloader, and simavr runs what they wrote."""

from __future__ import annotations

import contextlib
import os
import select
import struct
import termios
import threading
import time
import tty
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from serial import SerialBase

from harness.boards import Board
from harness.targets.simavr import SimavrTarget
from tests.harness.bootloaders import Avr109, Bootloader, Stk500v1, Stk500v2

LISTENS = {"uno": 1.0, "nano": 1.0, "mega2560": 1.0, "leonardo": 8.0}
"""Seconds that the bootloader waits for a programmer after a reset."""
TICK = 0.002
PROTOCOLS: dict[str, Callable[[str, int], Bootloader]] = {
    "uno": Stk500v1,
    "nano": Stk500v1,
    "mega2560": Stk500v2,
    "leonardo": Avr109,
}


def as_elf(flash: bytes, path: Path) -> Path:
    """An ELF file with nothing but what is in the flash."""
    code = flash.rstrip(b"\xff")
    ident = b"\x7fELF\x01\x01\x01" + bytes(9)
    header = struct.pack("<HHIIIIIHHHHHH", 2, 83, 1, 0, 52, 0, 0, 52, 32, 1, 0, 0, 0)
    segment = struct.pack("<IIIIIIII", 1, 84, 0, 0, len(code), len(code), 5, 1)
    path.write_bytes(ident + header + segment + code)
    return path


class Firmware:
    """What is in a flash, running; bytes in, bytes out."""

    def __init__(self, board: Board, flash: bytes, folder: Path) -> None:
        self._target = SimavrTarget(board, as_elf(flash, folder / "flash.elf"))
        self._port: SerialBase = self._target.open()
        self._port.timeout = 0.02

    def said(self, heard: bytes = b"") -> bytes:
        """What it says from now to its next pause."""
        if heard:
            self._port.write(heard)
        answer = b""
        while piece := self._port.read(256):
            answer += piece
        return answer

    def close(self) -> None:
        self._target.close()


class Chip:
    """A bootloader and a firmware in one flash; `turn` gives it bytes and time."""

    def __init__(self, board: Board, folder: Path) -> None:
        self.board = board
        self.bootloader = PROTOCOLS[board.name](board.mcu, board.flash_bytes)
        self.resets = 0
        self.uploads = 0
        self._folder = folder
        self._firmware: Firmware | None = None
        self._deadline: float | None = None

    @property
    def flash(self) -> bytes:
        return bytes(self.bootloader.flash)

    def reset(self) -> None:
        self.resets += 1
        self.bootloader.left = False
        self._deadline = time.monotonic() + LISTENS[self.board.name]

    def turn(self, data: bytes) -> bytes:
        """What it says, be it to these bytes or by itself."""
        if self._deadline is None:
            return self._firmware.said(data) if self._firmware else b""
        said = self.bootloader.answer(data)
        if data:
            self._deadline = time.monotonic() + 8.0  # for as long as it is talked to
        if self.bootloader.left:
            self.uploads += 1
        elif time.monotonic() < self._deadline:
            return said
        self._deadline = None
        self.close()
        if self.flash.rstrip(b"\xff"):
            self._firmware = Firmware(self.board, self.flash, self._folder)
        return said

    def close(self) -> None:
        if self._firmware is not None:
            self._firmware.close()
            self._firmware = None


class VirtualBoard:
    """A chip on the device file `port`, from entering to leaving.

    A pseudo-terminal has no DTR; opening it resets the board, as it does where DTR is wired to the reset pin.
    """

    def __init__(self, board: Board, folder: Path, name: str = "ttyACM0", *, touch: bool = False) -> None:
        """touch: at first a sketch runs, which gives way to the bootloader when the port is opened at 1200
        baud and closed again."""
        self.chip = Chip(board, folder)
        self.port = str(folder / name)
        self.touched = False
        self._sketch = touch
        self._ours = -1
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> VirtualBoard:
        self.plug()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join(10)
        self.unplug()
        self.chip.close()

    def plug(self, name: str | None = None) -> None:
        ours, theirs = os.openpty()
        tty.setraw(theirs)
        if name is not None:
            self.port = str(Path(self.port).with_name(name))
        Path(self.port).symlink_to(os.ttyname(theirs))
        os.close(theirs)
        self._ours = ours

    def unplug(self) -> None:
        """As pulling the cable: the device file goes, and whoever has it open hears of it."""
        Path(self.port).unlink(missing_ok=True)
        ours, self._ours = self._ours, -1
        if ours >= 0:
            os.close(ours)

    def _serve(self) -> None:
        opened = False
        while not self._stop.is_set():
            handle = self._ours
            try:
                ready = select.select([handle], [], [], TICK)[0]
                data = os.read(handle, 4096) if ready else b""
            except (OSError, ValueError):  # nobody has it open, or it is unplugged
                if self._sketch and handle >= 0 and termios.tcgetattr(handle)[5] == termios.B1200:
                    self.touched = True
                    self._change()
                opened = False
                time.sleep(TICK)
                continue
            if self._sketch:
                continue
            if not opened:
                opened = True
                self.chip.reset()
            said = self.chip.turn(data)
            with contextlib.suppress(OSError):
                while said:
                    said = said[os.write(handle, said) :]

    def _change(self) -> None:
        """From the sketch's USB device to the bootloader's."""
        self.unplug()
        time.sleep(0.3)
        self._sketch = False
        self.plug()
