"""A bootloader on a pseudo-terminal: as much of STK500 version 1 as avrdude needs to program an Uno."""

from __future__ import annotations

import contextlib
import os
import threading
import tty
from types import TracebackType

SYNC_CRC_EOP, IN_SYNC, OK, NO_SYNC = 0x20, 0x14, 0x10, 0x15
SIGNATURE = bytes([0x1E, 0x95, 0x0F])
"""The ATmega328P's."""
FIXED = {
    0x30: 0,  # get sync
    0x41: 1,  # get parameter
    0x42: 20,  # set device
    0x45: 5,  # set extended device
    0x50: 0,  # enter programming mode
    0x51: 0,  # leave it
    0x55: 2,  # load address
    0x56: 4,  # universal SPI command
    0x74: 3,  # read page
    0x75: 0,  # read signature
}
"""Argument bytes by command; the one that writes a page says its own length."""
PROGRAM_PAGE = 0x64


class Bootloader:
    """Answers on `port` until it is left; `flash` is what was written."""

    def __init__(self, flash_bytes: int = 32_768, wrong_signature: bool = False) -> None:
        self.flash = bytearray(b"\xff" * flash_bytes)
        self._signature = bytes(3) if wrong_signature else SIGNATURE
        self._address = 0
        self._ours, self._theirs = os.openpty()
        tty.setraw(self._theirs)
        self.port = os.ttyname(self._theirs)
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Bootloader:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._theirs)  # ends the read below
        self._thread.join(timeout=5)
        os.close(self._ours)

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                self._answer(self._take(1)[0])

    def _take(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            data += os.read(self._ours, count - len(data))
        return data

    def _answer(self, command: int) -> None:
        if command == PROGRAM_PAGE:
            head = self._take(3)
            data = self._take(head[0] << 8 | head[1])
            arguments = head + data
        elif command in FIXED:
            arguments = self._take(FIXED[command])
        else:
            os.write(self._ours, bytes([NO_SYNC]))
            return
        assert self._take(1)[0] == SYNC_CRC_EOP
        os.write(self._ours, bytes([IN_SYNC]) + self._do(command, arguments) + bytes([OK]))

    def _do(self, command: int, arguments: bytes) -> bytes:
        if command == 0x41:
            return b"\x03"
        if command == 0x55:
            self._address = 2 * int.from_bytes(arguments, "little")  # of words
        elif command == 0x56:
            return b"\0"
        elif command == 0x75:
            return self._signature
        elif command == PROGRAM_PAGE:
            self.flash[self._address : self._address + len(arguments) - 3] = arguments[3:]
        elif command == 0x74:
            count = arguments[0] << 8 | arguments[1]
            return bytes(self.flash[self._address : self._address + count])
        return b""
