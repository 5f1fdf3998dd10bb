"""The memory in which the plugin counts; qemuboard/counts.h is its other end."""

from __future__ import annotations

import mmap
import os
import struct
from typing import NamedTuple

from harness.errors import SimulatorError
from harness.targets.base import Window

_TOTALS = struct.Struct("<QQQQ")
_WINDOW = struct.Struct("<QQQ")
_RING = 16384
_BYTES = _TOTALS.size + _RING * _WINDOW.size


class Totals(NamedTuple):
    instructions: int
    cycles: int
    windows: int
    stack_low: int


class Counts:
    """Counts of one board, over all its restarts. `descriptor` is for the simulator to inherit."""

    def __init__(self) -> None:
        self.descriptor = os.memfd_create("kilobench-counts", os.MFD_CLOEXEC)
        os.truncate(self.descriptor, _BYTES)
        self._memory = mmap.mmap(self.descriptor, _BYTES)
        self._taken = 0

    def close(self) -> None:
        self._memory.close()
        os.close(self.descriptor)

    def totals(self) -> Totals:
        return Totals(*_TOTALS.unpack_from(self._memory))

    def windows(self) -> list[Window]:
        """Those that ended since the last call."""
        first, last = self._taken, self.totals().windows
        self._taken = last
        if last - first > _RING:
            raise SimulatorError(
                f"{last - first} windows have passed since they were last asked for, and {_RING} are kept.",
                "Ask the target for its windows more often.",
            )
        return [self._window(number % _RING) for number in range(first, last)]

    def last(self, count: int) -> int:
        """The cycles of the last so many windows together, whether they were asked for before or not."""
        ended = self.totals().windows
        if count > ended:
            raise SimulatorError(
                f"{ended} windows of the trigger pin were seen where {count} must have been.",
                "Compare the trigger's addresses in the board file with what the firmware writes to.",
            )
        return sum(self._window(number % _RING).cycles for number in range(ended - count, ended))

    def _window(self, place: int) -> Window:
        start, cycles, instructions = _WINDOW.unpack_from(self._memory, _TOTALS.size + place * _WINDOW.size)
        return Window(start=start, cycles=cycles, slept=0, instructions=instructions)
