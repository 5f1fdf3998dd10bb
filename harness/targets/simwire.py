"""The simulator's socket protocol; avrboard/wire.h is its other end and explains the requests."""

from __future__ import annotations

import os
import socket
import struct
import time
from dataclasses import dataclass
from enum import IntEnum
from itertools import starmap
from pathlib import Path
from typing import NamedTuple

from harness.errors import SimulatorError
from harness.targets.base import Window

_HEAD = struct.Struct("<BI")
_LINE = struct.Struct("<IB")
_RUN = struct.Struct("<BIIQB")
"""With its head: nothing is asked more often."""
_RUN_LETTER = ord("r")
_REPLY = struct.Struct("<BQII")
_WINDOW = struct.Struct("<QQQ")
_FACTS = struct.Struct("<QQQQ")
_FAULT = struct.Struct("<I")
_CHUNK = 1 << 16
_PATIENCE = 120
"""Seconds for a reply; the longest run of one request takes well under one on an idle machine."""
_SOON_NS = 300_000
"""Most replies take less."""


class Outcome(IntEnum):
    """What ended a run."""

    ENOUGH = 0
    OUT_OF_TIME = 1
    QUIET = 2
    """The chip sleeps, and nothing but the host can wake it."""
    FAULT = 3


class Reply(NamedTuple):
    outcome: int
    cycle: int
    unsent: int
    """Bytes still on their way to the device's receiver."""
    payload: bytes


@dataclass(frozen=True)
class Counters:
    cycles: int
    slept: int
    overruns: int
    stack_peak: int
    cpu_ns: int


@dataclass(frozen=True)
class About:
    """What the simulator is, and what it runs."""

    version: str
    library: Path
    elf: Path
    clock_hz: int


@dataclass(frozen=True)
class Fault:
    pc: int
    what: str


class Connection:
    """One connection to a simulated board.

    What is written is kept and sent together with the next request. `start` does not wait for its reply and
    `collect` fetches it: between the two the simulator works and so can the host.
    """

    def __init__(self, path: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.connect(path)
        except OSError as error:
            self._socket.close()
            raise SimulatorError(
                f"No simulated board listens at {path} ({error.strerror}).",
                "Open the port through its target.",
            ) from error
        # The kernel keeps the time: Python's own would cost a system call more in every reply.
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("@ll", _PATIENCE, 0))
        self._unsent = bytearray()
        self._received = b""
        self.due = 0
        """How many replies are still to be collected."""

    def close(self) -> None:
        self._socket.close()

    def post(self, letter: bytes, payload: bytes | bytearray = b"") -> None:
        """A request without a reply; it travels with the next one."""
        self._unsent += _HEAD.pack(letter[0], len(payload))
        self._unsent += payload

    def start(self, letter: bytes, payload: bytes = b"") -> None:
        """A request with a reply, which `collect` fetches."""
        self.post(letter, payload)
        self._send()

    def _send(self) -> None:
        """What was posted, of which the last has a reply."""
        try:
            self._socket.sendall(self._unsent)
        except OSError as error:
            raise _gone() from error
        self._unsent.clear()
        self.due += 1

    def collect(self) -> Reply:
        """The oldest reply that has not been collected."""
        while len(self._received) < _REPLY.size:
            self._receive()
        outcome, cycle, unsent, length = _REPLY.unpack_from(self._received)
        end = _REPLY.size + length
        while len(self._received) < end:
            self._receive()
        payload = self._received[_REPLY.size : end]
        self._received = self._received[end:]
        self.due -= 1
        return Reply(outcome, cycle, unsent, payload)

    def ask(self, letter: bytes, payload: bytes = b"") -> Reply:
        """A request and its reply. What Ctrl-C has left uncollected is dropped first."""
        while self.due:
            self.collect()
        self.start(letter, payload)
        return self.collect()

    def _receive(self) -> None:
        try:
            data = self._soon() or self._socket.recv(_CHUNK)
        except BlockingIOError as error:
            raise SimulatorError(
                f"The simulator has not answered for {_PATIENCE} seconds.",
                "Try again; `kilobench doctor` tests the simulator.",
            ) from error
        except OSError as error:
            raise _gone() from error
        if not data:
            raise _gone()
        self._received += data

    def _soon(self) -> bytes:
        """What comes within the time that most replies take; a core that sleeps meanwhile would be late."""
        until = time.perf_counter_ns() + _SOON_NS
        while True:
            try:
                return self._socket.recv(_CHUNK, socket.MSG_DONTWAIT)
            except BlockingIOError:
                if time.perf_counter_ns() > until:
                    return b""
            os.sched_yield()

    # The requests, one method each.

    def write(self, data: bytes | bytearray) -> None:
        self.post(b"w", data)

    def line(self, baud: int, dtr: bool) -> None:
        self.ask(b"l", _LINE.pack(baud, dtr))

    def purge(self) -> None:
        self.ask(b"p")

    def start_run(self, want: int, cycles: int, *, whole: bool = True) -> None:
        """Let at most so many cycles pass, until so many bytes have arrived (0: however many).

        whole: let an answer that has begun come to its end.
        """
        self._unsent += _RUN.pack(_RUN_LETTER, _RUN.size - _HEAD.size, want, cycles, whole)
        self._send()

    def windows(self) -> list[Window]:
        return list(starmap(Window, _WINDOW.iter_unpack(self.ask(b"t").payload)))

    def counters(self) -> Counters:
        reply = self.ask(b"f")
        return Counters(reply.cycle, *_FACTS.unpack(reply.payload))

    def fault(self) -> Fault:
        payload = self.ask(b"e").payload
        return Fault(_FAULT.unpack_from(payload)[0], payload[_FAULT.size :].decode())

    def about(self) -> About:
        version, library, elf, clock_hz = self.ask(b"a").payload.decode().split("\n")
        return About(version, Path(library), Path(elf), int(clock_hz))

    def reset(self) -> None:
        self.ask(b"x")


def _gone() -> SimulatorError:
    return SimulatorError(
        "The simulator has ended.", "Open the target again; `kilobench doctor` tests the simulator."
    )
