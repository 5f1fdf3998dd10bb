"""A line that damages what passes: on purpose, in both directions, and the same way every time.

As a port it is the URL `faulty://PORT?flip=0.01&seed=1` (PORT is any that pyserial knows), as a target the
`FaultyTarget` around another, and `kilobench run --faults flip=0.01` makes one.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any
from urllib.parse import parse_qsl

from serial import SerialBase, SerialException

from harness.errors import InputError
from harness.targets.base import Facts, Target, Window

KINDS = ("drop", "flip", "repeat", "insert", "delay", "cut")
SHORTEST_WAIT = 1e-4


@dataclass(frozen=True)
class Faults:
    """How often what happens: shares of the bytes, from 0 to 1."""

    drop: float = 0.0
    flip: float = 0.0
    """Another byte in its place."""
    repeat: float = 0.0
    insert: float = 0.0
    """A byte nobody sent, before it."""
    delay: float = 0.0
    """It and what follows come `late` seconds later."""
    cut: float = 0.0
    """It and the rest of what was sent or read with it are lost."""
    close: int = 0
    """The port fails after so many bytes, and can be opened again."""
    late: float = 0.2
    seed: int = 0

    @property
    def rate(self) -> float:
        """The share of bytes to which something happens."""
        return sum(float(getattr(self, kind)) for kind in KINDS)

    @classmethod
    def parse(cls, text: str) -> Faults:
        """From `flip=0.01&seed=1`."""
        kinds = dict.fromkeys(field.name for field in dataclasses.fields(cls))
        values: dict[str, Any] = {}
        for key, value in parse_qsl(text, keep_blank_values=True):
            if key not in kinds:
                raise InputError(f"There is no fault {key!r}.", f"Known: {', '.join(kinds)}.")
            try:
                values[key] = int(value) if key in ("close", "seed") else float(value)
            except ValueError:
                raise InputError(f"The fault {key} is {value!r}.", "It must be a number.") from None
        faults = cls(**values)
        if not values or min(faults.rate, faults.close, faults.late) < 0 or faults.rate >= 1:
            raise InputError(
                f"{text!r} describes no faulty line.", "Write it as flip=0.01&drop=0.001&close=5000&seed=1."
            )
        return faults


class Damage:
    """What one direction of a line does to the bytes on it."""

    def __init__(self, faults: Faults, seed: str) -> None:
        self._random = Random(seed)
        self._rate = faults.rate
        self._weights = [getattr(faults, kind) for kind in KINDS]
        self._gap = self._draw()
        self.delayed = False
        """Whether the last piece is to come later."""

    def _draw(self) -> float:
        """Bytes until the next fault: of all draws that say whether, only the last is made."""
        if self._rate == 0:
            return math.inf
        return int(math.log(1 - self._random.random()) / math.log(1 - self._rate))

    def on(self, data: bytes) -> bytes:
        """What comes out of the other end."""
        self.delayed = False
        if self._gap >= len(data):
            self._gap -= len(data)
            return data
        out, at = bytearray(), 0
        while self._gap < len(data) - at:
            hit = at + int(self._gap)
            out += data[at:hit]
            at = self._hit(data, hit, out)
            self._gap = self._draw()
        self._gap -= len(data) - at
        return bytes(out + data[at:])

    def _hit(self, data: bytes, at: int, out: bytearray) -> int:
        """What becomes of one byte; where to go on."""
        (kind,) = self._random.choices(KINDS, self._weights)
        byte = data[at]
        if kind == "cut":
            return len(data)
        if kind == "delay":
            self.delayed = True
        elif kind == "flip":
            byte ^= self._random.randrange(1, 256)
        elif kind == "repeat":
            out.append(byte)
        elif kind == "insert":
            out.append(self._random.randrange(256))
        if kind != "drop":
            out.append(byte)
        return at + 1


class FaultyPort(SerialBase):
    """Another port behind a faulty line. Its clock is that port's."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._inner: SerialBase | None = None
        super().__init__(*args, **kwargs)

    def attach(self, inner: SerialBase, faults: Faults, opening: int) -> None:
        """Open this port on one that is open. Each opening has faults of its own."""
        self._inner = inner
        self._faults = faults
        self._to_device = Damage(faults, f"{faults.seed} {opening} to device")
        self._to_host = Damage(faults, f"{faults.seed} {opening} to host")
        self._passed = 0
        self._arrived = bytearray()
        self._waiting: list[tuple[float, bytes]] = []
        """To the device, each with the time when it goes out."""
        self._late: list[tuple[float, bytes]] = []
        self.name = inner.name
        self.baudrate = inner.baudrate
        self.is_open = True

    def close(self) -> None:
        inner, self._inner = self._inner, None
        self.is_open = False
        if inner is not None:
            inner.close()

    def now(self) -> float:
        clock = getattr(self._inner, "now", time.monotonic)
        return float(clock())

    @property
    def counted(self) -> Callable[[int], int] | None:
        """What a simulator counts that nothing on the line can damage, where the port behind has it."""
        return getattr(self._inner, "counted", None)

    @property
    def inner(self) -> SerialBase:
        if self._inner is None:
            raise SerialException("The faulty port is closed.")
        return self._inner

    def write(self, data: Any, /) -> int:
        octets = bytes(data)
        self._count(len(octets))
        damaged = self._to_device.on(octets)
        if self._to_device.delayed or self._waiting:
            self._waiting.append((self.now() + self._faults.late, damaged))
        else:
            self.inner.write(damaged)
        return len(octets)

    def flush(self) -> None:
        self.inner.flush()

    def read(self, size: int = 1, /) -> bytes:
        deadline = math.inf if self.timeout is None else self.now() + self.timeout
        while True:
            self._move()
            left = deadline - self.now()
            if len(self._arrived) >= size or left <= 0:
                break
            self._listen(size - len(self._arrived), left)
        data = bytes(self._arrived[:size])
        del self._arrived[:size]
        return data

    def _listen(self, size: int, seconds: float) -> None:
        due = [when for when, _ in (*self._waiting[:1], *self._late[:1])]
        wait = max(SHORTEST_WAIT, min([seconds, *(when - self.now() for when in due)]))
        timeout = None if wait == math.inf else wait
        inner = self.inner
        if inner.timeout != timeout:  # on a real port each change is a round of system calls
            inner.timeout = timeout
        data = inner.read(size)
        if not data:
            return
        self._count(len(data))
        damaged = self._to_host.on(data)
        if self._to_host.delayed or self._late:
            self._late.append((self.now() + self._faults.late, damaged))
        else:
            self._arrived += damaged

    def _move(self) -> None:
        """What was delayed and is due."""
        while self._waiting and self._waiting[0][0] <= self.now():
            self.inner.write(self._waiting.pop(0)[1])
            self.inner.flush()
        while self._late and self._late[0][0] <= self.now():
            self._arrived += self._late.pop(0)[1]

    def _count(self, size: int) -> None:
        self._passed += size
        if self._faults.close and self._passed >= self._faults.close:
            self.close()
            raise SerialException("The faulty line was cut off.")

    # Settings go to the port behind.

    def _reconfigure_port(self) -> None:
        if self._inner is not None and self._inner.baudrate != self.baudrate:
            self._inner.baudrate = self.baudrate

    def _update_dtr_state(self) -> None:
        self.inner.dtr = self.dtr

    def _update_rts_state(self) -> None:
        self.inner.rts = self.rts

    @property
    def in_waiting(self) -> int:
        return len(self._arrived) + int(self.inner.in_waiting)  # type: ignore[attr-defined]

    def reset_input_buffer(self) -> None:
        self._arrived.clear()
        self._late.clear()
        self.inner.reset_input_buffer()  # type: ignore[attr-defined]  # the stubs lack it


class FaultyTarget:
    """Another target behind a faulty line."""

    def __init__(self, target: Target, faults: Faults) -> None:
        self.board = target.board
        self._target = target
        self._faults = faults
        self._port: FaultyPort | None = None
        self._openings = 0

    def open(self) -> SerialBase:
        if self._port is None or not self._port.is_open:
            inner = self._target.open()
            self._port = FaultyPort()
            self._port.attach(inner, self._faults, self._openings)
            self._openings += 1
        return self._port

    def reset(self) -> None:
        self._target.reset()

    def windows(self) -> list[Window]:
        return self._target.windows()

    def facts(self) -> Facts:
        return self._target.facts()

    def close(self) -> None:
        if self._port is not None:
            self._port.close()
        self._target.close()
