"""The host's end of the link: greets a device and gets predictions from it.

A device that was restarted has forgotten the features it got; it is greeted again and gets the sample from
its beginning, so that a sample is answered once or not at all.

`send` starts a sample and `receive` waits for its prediction: what the caller does in between happens while
the device computes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from serial import SerialBase, SerialException

from harness.errors import DeviceError, LinkError, NoAnswer
from harness.link.identity import Expected, Hello
from harness.link.messages import (
    FEATURES,
    FEATURES_REPLY,
    HELLO_REPLY,
    PREDICT_REPLY,
    REPEAT,
    REPEAT_REPLY,
    SCORES,
    SCORES_PER_REPLY,
    SCORES_REPLY,
    Kind,
)
from harness.link.requests import Requester, Restarted
from models.device import WIRE_TYPES

REBUILD = "Build the firmware and upload it again."
RESTARTS = 4
"""How often a request may be begun anew before the board is called unusable."""
HELLO_WAIT = 0.25
"""Seconds: nothing is computed for it."""

_FEATURES, _FEATURES_REPLY, _PREDICT_REPLY = FEATURES.struct, FEATURES_REPLY.struct, PREDICT_REPLY.struct


class Prediction(NamedTuple):
    class_index: int
    cycles: int


class Link:
    """A device that speaks the protocol of harness.link.messages, on any pyserial port."""

    def __init__(self, port: SerialBase, expected: Expected | None = None) -> None:
        self._requests = Requester(port)
        # A simulator whose device has no timer of use counts outside, and its port tells.
        self._counted: Callable[[int], int] | None = getattr(port, "counted", None)
        self._expected = expected
        self._hello: Hello | None = None
        self._feature_bytes = 1
        self._chunk = 0
        self._sample = b""
        self._offset = 0
        self._under_way: Kind | None = None
        self._last: Prediction | None = None
        self.restarts = 0
        """Times the device had lost its state and was asked anew from the beginning."""

    @property
    def resent(self) -> int:
        """Requests that were sent again."""
        return self._requests.resent

    @property
    def stale(self) -> int:
        """Frames that came late or twice and were dropped."""
        return self._requests.stale

    @property
    def damaged(self) -> int:
        """Pieces of input that were no frame."""
        return self._requests.decoder.damaged

    @property
    def repeats(self) -> bool:
        """Whether the device keeps its features, and can repeat a prediction."""
        return (self._hello or self.hello()).buffered

    def now(self) -> float:
        """Seconds on the port's clock."""
        return self._requests.now()

    def attach(self, port: SerialBase) -> None:
        """Go on over another port to the same device, which must be greeted then."""
        self._requests.attach(port)

    def close(self) -> None:
        """Close the port, be it that it has failed."""
        with contextlib.suppress(SerialException, OSError):
            self._requests.port.close()

    def wait_ready(self, seconds: float) -> bool:
        """Wait for the READY of a device that starts, so that nothing is said to its boot loader."""
        return self._requests.wait_ready(seconds)

    def hello(self) -> Hello:
        """Greet the device, check who it is, and start counting anew; WrongFirmware names a stranger."""
        hello = Hello.parse(self._greet())
        if self._expected is not None:
            self._expected.check(hello)
        self._feature_bytes = WIRE_TYPES[hello.numbers].itemsize
        self._chunk = hello.chunk_bytes - hello.chunk_bytes % self._feature_bytes
        if self._chunk == 0:
            raise DeviceError("The board takes no features in a frame.", REBUILD)
        self._hello = hello
        return hello

    def ping(self, payload: bytes = b"") -> float:
        """Seconds until the payload came back."""
        began = self._requests.now()
        if self._ask(Kind.PING, payload, len(payload)) != payload:
            raise DeviceError("The board answered a ping with other bytes.", REBUILD)
        return self._requests.now() - began

    def predict(self, features: bytes) -> Prediction:
        """Class and compute cycles of one sample; the bytes are a row of what DeviceModel.encode gives."""
        self.send(features)
        return self.receive()

    def send(self, features: bytes) -> None:
        """Start a sample, of which `receive` gets the prediction."""
        if self._hello is None:
            self.hello()
        self._sample = features
        self._last = None
        self._begin()

    def receive(self) -> Prediction:
        """The prediction of the sample that `send` started."""
        if self._under_way is None:
            raise LinkError("There is no sample under way.", "Call send before receive.")
        for _ in range(RESTARTS):
            try:
                self._last = self._finish()
                return self._last
            except Restarted:
                self.restarts += 1
                self.hello()
                self._begin()
        raise self._unusable()

    def windows_of(self, vector_bytes: int) -> int:
        """In how many trigger windows a sample is computed: one if it is buffered, else one a chunk."""
        hello = self._hello or self.hello()
        return 1 if hello.buffered else max(1, -(-vector_bytes // self._chunk))

    def scores(self) -> npt.NDArray[np.int32] | npt.NDArray[np.float32]:
        """The scores of the last prediction."""
        hello, _ = self._result()
        parts = []
        for first in range(0, hello.scores, SCORES_PER_REPLY):
            size = SCORES_REPLY.struct.size + 4 * min(SCORES_PER_REPLY, hello.scores - first)
            reply = self._ask(Kind.SCORES, SCORES.struct.pack(first), size, about_last=True)
            if len(reply) != size or SCORES_REPLY.struct.unpack_from(reply)[0] != first:
                raise DeviceError(f"The board sent other scores than those from {first} on.", REBUILD)
            parts.append(reply[SCORES_REPLY.struct.size :])
        return np.frombuffer(b"".join(parts), dtype="<f4" if hello.numbers == "float32" else "<i4")

    def repeat(self, count: int) -> Prediction:
        """The last prediction so many times in one trigger window; the cycles of all of them."""
        hello, last = self._result()
        # What one prediction takes is known by now; a quarter more is for the loop around them.
        wait = 1.0 + 1.25 * count * last.cycles / hello.clock_hz
        payload = REPEAT.struct.pack(count)
        reply = self._ask(Kind.REPEAT, payload, REPEAT_REPLY.struct.size, wait, about_last=True)
        return self._prediction(reply, hello, 0)

    def _result(self) -> tuple[Hello, Prediction]:
        if self._hello is None or self._last is None:
            raise LinkError("There is no prediction yet.", "Call predict first.")
        return self._hello, self._last

    def _greet(self) -> bytes:
        for _ in range(RESTARTS):
            self._requests.post(Kind.HELLO, b"", HELLO_REPLY.struct.size, HELLO_WAIT)
            try:
                return self._requests.answer()
            except Restarted:
                continue  # its READY came only now, and it may have missed the greeting
        raise self._unusable()

    def _ask(
        self,
        kind: Kind,
        payload: bytes,
        reply_bytes: int,
        wait: float | None = None,
        *,
        about_last: bool = False,
    ) -> bytes:
        """Ask until answered; what concerns the last prediction needs it made again after a restart."""
        if self._hello is None:
            self.hello()
        for _ in range(RESTARTS):
            self._requests.post(kind, payload, reply_bytes, wait)
            try:
                return self._requests.answer()
            except Restarted:
                self.restarts += 1
                self.hello()
                if about_last:
                    self.predict(self._sample)
        raise self._unusable()

    # A sample is FEATURES as long as more than one chunk is left, then PREDICT with the rest.

    def _begin(self) -> None:
        self._offset = 0
        self._post_chunk()

    def _post_chunk(self) -> None:
        start = self._offset
        part = self._sample[start : start + self._chunk]
        self._offset += len(part)
        payload = _FEATURES.pack(start // self._feature_bytes) + part
        if self._offset < len(self._sample):
            self._under_way = Kind.FEATURES
            self._requests.post(Kind.FEATURES, payload, _FEATURES_REPLY.size)
        else:
            self._under_way = Kind.PREDICT
            self._requests.post(Kind.PREDICT, payload, _PREDICT_REPLY.size)

    def _finish(self) -> Prediction:
        while self._under_way is Kind.FEATURES:
            if self._requests.answer() != _FEATURES_REPLY.pack(self._offset // self._feature_bytes):
                raise Restarted
            self._post_chunk()
        assert self._hello is not None
        answer = self._requests.answer()
        prediction = self._prediction(answer, self._hello, len(self._sample))
        self._under_way = None
        return prediction

    def _prediction(self, reply: bytes, hello: Hello, vector_bytes: int) -> Prediction:
        """vector_bytes: those that came for it, of which its windows follow; a repetition has one."""
        if len(reply) != _PREDICT_REPLY.size:
            raise DeviceError(
                f"The board's prediction has {len(reply)} bytes instead of {_PREDICT_REPLY.size}.", REBUILD
            )
        prediction = Prediction(*_PREDICT_REPLY.unpack(reply))
        if prediction.class_index >= hello.classes:
            raise DeviceError(
                f"The board predicts class {prediction.class_index} of {hello.classes}.",
                "Its memory may have been overwritten by the stack; build for a board with more RAM.",
            )
        if self._counted is None:
            return prediction
        return prediction._replace(cycles=self._counted(self.windows_of(vector_bytes)))

    def _unusable(self) -> NoAnswer:
        return NoAnswer(
            f"The board lost its state {RESTARTS} times while one request was made.",
            "It may restart for lack of power or of stack; look at its supply and at the RAM it uses.",
        )
