"""A device in memory that speaks the link protocol, and a port to it that can damage what passes.

Time is simulated: it goes on only when a read waits, so tests of lost frames and long silences take no time.
"""

from __future__ import annotations

import heapq
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from serial import SerialBase, SerialException

from harness.link.frames import Decoder, Frame, encode
from harness.link.messages import (
    ERROR,
    FEATURES,
    FEATURES_REPLY,
    HELLO_REPLY,
    PREDICT_REPLY,
    PROTOCOL_VERSION,
    REPEAT,
    SCORES,
    SCORES_PER_REPLY,
    SCORES_REPLY,
    ErrorCode,
    HelloFlag,
    Kind,
    Numbers,
)

Transform = Callable[[int, bytes], list[tuple[float, bytes]]]
"""What becomes of the n-th frame on a line: pieces, each with its delay in seconds."""

FEATURE_BYTES = {Numbers.INT8: 1, Numbers.INT16: 2, Numbers.FLOAT32: 4}


def clean(_: int, frame: bytes) -> list[tuple[float, bytes]]:
    return [(0.0, frame)]


def nothing(_: int, __: bytes) -> list[tuple[float, bytes]]:
    return []


def on(numbers: set[int], fault: Transform) -> Transform:
    """The fault on those frames only, counted from 0."""
    return lambda n, frame: fault(n, frame) if n in numbers else [(0.0, frame)]


def doubled(_: int, frame: bytes) -> list[tuple[float, bytes]]:
    return [(0.0, frame), (0.001, frame)]


def damaged(_: int, frame: bytes) -> list[tuple[float, bytes]]:
    middle = len(frame) // 2
    return [(0.0, frame[:middle] + bytes([frame[middle] ^ 0x01]) + frame[middle + 1 :])]


def late(seconds: float) -> Transform:
    return lambda _, frame: [(seconds, frame)]


def noisy(noise: bytes) -> Transform:
    return lambda _, frame: [(0.0, noise + frame)]


@dataclass
class FakeDevice:
    """The device's side of the protocol. Its model: the class is the sum of the bytes modulo the classes."""

    features: int = 8
    classes: int = 4
    numbers: Numbers = Numbers.INT8
    chunk_bytes: int = 64
    buffered: bool = True
    board: str = "uno"
    model: str = "fake"
    model_hash: bytes = b"01234567"
    version: int = PROTOCOL_VERSION
    predictions: list[bytes] = field(default_factory=list)
    """Every sample that was computed, in order."""
    reset_at: set[int] = field(default_factory=set)
    """Requests (counted from 0) that are met with a restart instead of an answer."""
    compute_cycles: int = 1000

    def __post_init__(self) -> None:
        self.requests = 0
        self._decoder = Decoder()
        self.restart()

    def restart(self) -> bytes:
        """Forget everything; the READY that a start sends."""
        self._last_seq: int | None = None
        self._stored = b""
        self._sample = b""
        self._result: bytes | None = None
        return encode(Kind.READY, 0, self.hello())

    def hello(self) -> bytes:
        return HELLO_REPLY.struct.pack(
            self.version,
            self.numbers,
            HelloFlag.BUFFERED if self.buffered else 0,
            16_000_000,
            self.features,
            self.classes,
            self.classes,
            self.chunk_bytes,
            self.features * FEATURE_BYTES[self.numbers] if self.buffered else self.chunk_bytes,
            self.model_hash,
            self.board.encode(),
            self.model.encode(),
        )

    def receive(self, data: bytes) -> list[bytes]:
        """The frames that answer these bytes."""
        seen = self._decoder.damaged
        answers = [self._answer(frame) for frame in self._decoder.feed(data)]
        if self._decoder.damaged > seen:
            answers.append(encode(Kind.ERROR, 0, ERROR.struct.pack(ErrorCode.DAMAGED, 0)))
        return answers

    def _answer(self, frame: Frame) -> bytes:
        number = self.requests
        self.requests += 1
        if number in self.reset_at:
            return self.restart()
        if frame.kind == Kind.HELLO:
            self._sample = b""
            self._result = None
        elif frame.seq == self._last_seq:
            return self._stored
        elif self._last_seq is None or frame.seq != (self._last_seq + 1) & 0xFF:
            expected = 0 if self._last_seq is None else (self._last_seq + 1) & 0xFF
            return encode(Kind.ERROR, frame.seq, ERROR.struct.pack(ErrorCode.BAD_SEQUENCE, expected))
        self._last_seq = frame.seq
        kind, payload = self._do(frame)
        self._stored = encode(kind, frame.seq, payload)
        return self._stored

    def _do(self, frame: Frame) -> tuple[int, bytes]:
        reply = frame.kind | 0x80
        if frame.kind == Kind.HELLO:
            return reply, self.hello()
        if frame.kind == Kind.PING:
            return reply, frame.payload
        if frame.kind in (Kind.FEATURES, Kind.PREDICT):
            return self._features(frame)
        if frame.kind == Kind.SCORES:
            return self._scores(SCORES.struct.unpack(frame.payload)[0])
        if frame.kind == Kind.REPEAT:
            return self._repeat(REPEAT.struct.unpack(frame.payload)[0])
        return self._error(ErrorCode.BAD_KIND, frame.kind)

    def _features(self, frame: Frame) -> tuple[int, bytes]:
        size = FEATURE_BYTES[self.numbers]
        (offset,) = FEATURES.struct.unpack_from(frame.payload)
        part = frame.payload[FEATURES.struct.size :]
        if len(part) > self.chunk_bytes:
            return self._error(ErrorCode.TOO_LONG, self.chunk_bytes)
        if offset == 0:
            self._sample = b""
        if offset * size != len(self._sample):
            return self._error(ErrorCode.BAD_OFFSET, len(self._sample) // size)
        self._sample += part
        if len(self._sample) > self.features * size:
            return self._error(ErrorCode.TOO_MANY, self.features)
        if frame.kind == Kind.FEATURES:
            return Kind.FEATURES_REPLY, FEATURES_REPLY.struct.pack(len(self._sample) // size)
        if len(self._sample) < self.features * size:
            return self._error(ErrorCode.INCOMPLETE, len(self._sample) // size)
        self._result = self._sample
        self.predictions.append(self._sample)
        return Kind.PREDICT_REPLY, PREDICT_REPLY.struct.pack(self.class_of(self._sample), self.compute_cycles)

    def class_of(self, sample: bytes) -> int:
        return sum(sample) % self.classes

    def _scores(self, first: int) -> tuple[int, bytes]:
        if self._result is None:
            return self._error(ErrorCode.NO_RESULT, 0)
        if first >= self.classes:
            return self._error(ErrorCode.BAD_COUNT, first)
        winner = self.class_of(self._result)
        values = [100 if c == winner else c for c in range(self.classes)][first : first + SCORES_PER_REPLY]
        packed = struct.pack(f"<{len(values)}{'f' if self.numbers is Numbers.FLOAT32 else 'i'}", *values)
        return Kind.SCORES_REPLY, SCORES_REPLY.struct.pack(first) + packed

    def _repeat(self, count: int) -> tuple[int, bytes]:
        if self._result is None:
            return self._error(ErrorCode.NO_RESULT, 0)
        if not self.buffered:
            return self._error(ErrorCode.NOT_BUFFERED, 0)
        if count == 0:
            return self._error(ErrorCode.BAD_COUNT, 0)
        cycles = count * self.compute_cycles
        return Kind.REPEAT_REPLY, PREDICT_REPLY.struct.pack(self.class_of(self._result), cycles)

    def _error(self, code: ErrorCode, detail: int) -> tuple[int, bytes]:
        return Kind.ERROR, ERROR.struct.pack(code, detail)


class FakePort(SerialBase):
    """A pyserial port to a FakeDevice, over a line with a fault in either direction."""

    def __init__(
        self,
        device: FakeDevice,
        *,
        to_device: Transform = clean,
        to_host: Transform = clean,
        latency: float = 0.001,
        breaks_after: int | None = None,
    ) -> None:
        super().__init__()
        self.device = device
        self.to_device = to_device
        self.to_host = to_host
        self.latency = latency
        self.name = "fake"
        self.time = 0.0
        self.writes = 0
        self.reads = 0
        self._sent = 0
        self._breaks_after = breaks_after
        self._queue: list[tuple[float, int, bytes]] = []
        self._order = 0
        self._input = b""

    def now(self) -> float:
        return self.time

    def press_reset(self) -> None:
        self._reply([self.device.restart()])

    def _reconfigure_port(self) -> None:
        """Nothing to configure."""

    def write(self, data: Any, /) -> int:
        number = self.writes
        self.writes += 1
        if self._breaks_after is not None and number >= self._breaks_after:
            raise SerialException("device disconnected")
        for _, piece in self.to_device(number, bytes(data)):
            self._reply(self.device.receive(piece))
        return len(data)

    def flush(self) -> None:
        """The device answers at once."""

    def read(self, size: int = 1, /) -> bytes:
        self.reads += 1
        deadline = self.time + (self.timeout or 0.0)
        while len(self._input) < size and self._queue and self._queue[0][0] <= deadline:
            arrives, _, piece = heapq.heappop(self._queue)
            self.time = max(self.time, arrives)
            self._input += piece
        if len(self._input) < size:
            self.time = deadline
        data, self._input = self._input[:size], self._input[size:]
        return data

    def _reply(self, frames: list[bytes]) -> None:
        for frame in frames:
            for delay, piece in self.to_host(self._sent, frame):
                self._order += 1
                heapq.heappush(self._queue, (self.time + self.latency + delay, self._order, piece))
            self._sent += 1
