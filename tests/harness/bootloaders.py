"""As much of three bootloader protocols as avrdude needs: bytes in, bytes out, and a flash to write to."""

from __future__ import annotations

from functools import reduce
from operator import xor
from typing import ClassVar, Protocol

SIGNATURES = {
    "atmega328p": bytes([0x1E, 0x95, 0x0F]),
    "atmega2560": bytes([0x1E, 0x98, 0x01]),
    "atmega32u4": bytes([0x1E, 0x95, 0x87]),
}


class Bootloader(Protocol):
    flash: bytearray
    left: bool
    """Whether programming has ended and the firmware is to start."""

    def answer(self, data: bytes) -> bytes: ...


class Programmer:
    """What the three have in common: an input of any pieces, a flash, and an address that moves on."""

    def __init__(self, mcu: str, flash_bytes: int, signature: bytes | None = None) -> None:
        self.flash = bytearray(b"\xff" * flash_bytes)
        self.left = False
        self.signature = signature or SIGNATURES[mcu]
        self.address = 0
        self._input = b""

    def answer(self, data: bytes) -> bytes:
        self._input += data
        said = b""
        while self._input:
            taken, reply = self.take(self._input)
            if not taken:
                break
            self._input = self._input[taken:]
            said += reply
        return said

    def take(self, data: bytes) -> tuple[int, bytes]:
        """How many bytes the first command has, none if it is not whole, and the answer to it."""
        raise NotImplementedError

    def write(self, data: bytes) -> None:
        self.flash[self.address : self.address + len(data)] = data
        self.address += len(data)

    def read(self, count: int) -> bytes:
        data = bytes(self.flash[self.address : self.address + count])
        self.address += count
        return data


class Stk500v1(Programmer):
    """Optiboot's, of Uno and Nano."""

    END, IN_SYNC, OK = 0x20, 0x14, 0x10
    ARGUMENTS: ClassVar = dict.fromkeys((0x30, 0x50, 0x51, 0x75), 0) | {
        **{0x41: 1, 0x42: 20, 0x45: 5, 0x55: 2, 0x56: 4, 0x74: 3},
    }
    PROGRAM_PAGE = 0x64

    def take(self, data: bytes) -> tuple[int, bytes]:
        command = data[0]
        if command == self.PROGRAM_PAGE:
            if len(data) < 4:
                return 0, b""
            size = 4 + int.from_bytes(data[1:3], "big")
        elif command in self.ARGUMENTS:
            size = 1 + self.ARGUMENTS[command]
        else:
            return 1, b"\x15"  # not in sync
        if len(data) <= size:
            return 0, b""
        assert data[size] == self.END
        return size + 1, bytes([self.IN_SYNC]) + self.do(command, data[1:size]) + bytes([self.OK])

    def do(self, command: int, arguments: bytes) -> bytes:
        if command == 0x41:
            return b"\x03"
        if command == 0x51:
            self.left = True
        elif command == 0x55:
            self.address = 2 * int.from_bytes(arguments, "little")  # of words
        elif command == 0x56:
            return b"\0"
        elif command == 0x75:
            return self.signature
        elif command == self.PROGRAM_PAGE:
            self.write(arguments[3:])
        elif command == 0x74:
            return self.read(int.from_bytes(arguments[:2], "big"))
        return b""


class Stk500v2(Programmer):
    """That of the Mega 2560, which avrdude calls wiring: messages with a number, a length and a checksum."""

    START, TOKEN = 0x1B, 0x0E

    def take(self, data: bytes) -> tuple[int, bytes]:
        if data[0] != self.START:
            return 1, b""
        if len(data) < 5 or len(data) < (size := 6 + int.from_bytes(data[2:4], "big")):
            return 0, b""
        assert data[4] == self.TOKEN and reduce(xor, data[:size]) == 0
        body = self.do(data[5 : size - 1])
        head = bytes([self.START, data[1]]) + len(body).to_bytes(2, "big") + bytes([self.TOKEN])
        return size, head + body + bytes([reduce(xor, head + body)])

    def do(self, message: bytes) -> bytes:
        command = message[0]
        good = bytes([command, 0])
        if command == 0x01:  # sign on
            return good + b"\x08AVRISP_2"
        if command == 0x03:  # get parameter
            return good + b"\x0a"
        if command == 0x06:  # load address, of words; the top bit asks for the extended byte
            self.address = 2 * (int.from_bytes(message[1:5], "big") & 0x7FFF_FFFF)
        elif command == 0x11:  # leave programming mode
            self.left = True
        elif command == 0x13:  # program flash
            self.write(message[10 : 10 + int.from_bytes(message[1:3], "big")])
        elif command == 0x14:  # read flash
            return good + self.read(int.from_bytes(message[1:3], "big")) + b"\0"
        elif command == 0x1B:  # signature, a byte at a time
            return good + self.signature[message[4] : message[4] + 1] + b"\0"
        elif command == 0x1D:  # bytes for the SPI bus, of which the signature is one request
            sent = message[4:]
            answer = self.signature[sent[2]] if sent[0] == 0x30 else 0
            return good + bytes([0, sent[0], sent[1], answer]) + b"\0"
        return good


class Avr109(Programmer):
    """Caterina's, of the Leonardo: letters, answered by a carriage return."""

    ARGUMENTS: ClassVar = {"T": 1, "A": 2, "x": 1, "y": 1, "g": 3}
    FIXED: ClassVar = {
        **{"S": b"CATERIN", "V": b"10", "v": b"13", "p": b"S"},
        **{"a": b"Y", "b": b"Y\0\x80", "t": b"\x44\0"},
    }

    def take(self, data: bytes) -> tuple[int, bytes]:
        letter = chr(data[0])
        size = 1 + self.ARGUMENTS.get(letter, 0)
        if letter == "B":
            if len(data) < 4:
                return 0, b""
            size = 4 + int.from_bytes(data[1:3], "big")
        if len(data) < size:
            return 0, b""
        return size, self.do(letter, data[1:size])

    def do(self, letter: str, arguments: bytes) -> bytes:
        if letter in self.FIXED:
            return self.FIXED[letter]
        if letter == "s":
            return self.signature[::-1]
        if letter == "g":
            return self.read(int.from_bytes(arguments[:2], "big"))
        if letter in "FNQr":  # fuses and lock bits
            return b"\0"
        if letter == "A":
            self.address = 2 * int.from_bytes(arguments, "big")
        elif letter == "B":
            self.write(arguments[3:])
        elif letter == "E":
            self.left = True
        return b"\r"
