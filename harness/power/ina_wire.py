"""What the INA meter's Arduino and the host say to each other; firmware/meter/wire.h is the other end.

The frames are those of the board's link. HELLO, START and STOP are answered by a frame of their kind with
REPLY set; between START and STOP the meter sends SAMPLES. Numbers are little-endian.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import NamedTuple

VERSION = 1
BAUD = 1_000_000
REPLY = 0x80
MOST_SAMPLES = 2
"""In a frame."""


class Kind(IntEnum):
    HELLO = 0x41
    START = 0x42
    STOP = 0x43
    SAMPLES = 0x44


class Status(IntEnum):
    """The answer to START."""

    OK = 0
    NO_CHIP = 1
    """Nobody acknowledges the address on the I2C bus."""
    REFUSED = 2
    """The configuration reads back otherwise."""


HELLO_REPLY = struct.Struct("<BI")
"""Version, ticks a second."""
START = struct.Struct("<BHBHB")
"""Address, configuration, register and mask of "conversion ready", register whose reading clears it."""
NOTHING = 0xFF
"""In place of a register."""
START_REPLY = struct.Struct("<B")
STOP_REPLY = struct.Struct("<I")
"""Samples that were taken."""
SAMPLES = struct.Struct("<II")
"""Number of the first sample, and the ticks at which it began."""
SAMPLE = struct.Struct("<HHhH")
"""Ticks it lasted, ticks of these with the trigger high, shunt and bus register."""


class Block(NamedTuple):
    """A frame of samples."""

    first: int
    ticks: int
    samples: list[tuple[int, int, int, int]]

    @classmethod
    def parse(cls, payload: bytes) -> Block:
        first, ticks = SAMPLES.unpack_from(payload)
        return cls(first, ticks, list(SAMPLE.iter_unpack(payload[SAMPLES.size :])))

    def pack(self) -> bytes:
        return SAMPLES.pack(self.first, self.ticks) + b"".join(SAMPLE.pack(*one) for one in self.samples)
