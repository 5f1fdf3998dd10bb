"""One request at a time over a line that may fail, sent again until it is answered.

A request keeps its sequence number however often it is sent, and the device answers a repeated number from
its memory: a lost, doubled, damaged or late frame costs time and nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from serial import SerialBase, SerialException

from harness.errors import DeviceError, LinkError, NoAnswer, PortError
from harness.link.frames import Decoder, Frame, encode
from harness.link.messages import ERROR, HELLO_REPLY, ErrorCode, Kind

TICK = 0.05
"""The longest single wait for bytes, in seconds. An answer shorter than expected is noticed this late."""
SILENT_ATTEMPTS = 5
"""So many in a row without one good frame, and nobody is there."""
GARBLED_ATTEMPTS = 20
"""So many in a row with damaged frames only. Of the longest answers every second is hit where 1 % of the
bytes are, and never 20 in a row; but at the wrong rate all of them are."""
ATTEMPTS = 60
"""So many on a line that damages most of what passes, though somebody is there: at 1 % of bytes hit, three in
four long requests need another."""
FIRST_WAIT = 1.0
"""Seconds until a kind of request that was never answered before is sent again."""
SHORTEST_WAIT, LONGEST_WAIT = 0.1, 2.0
TAIL_BYTES = 24
REPLY = 0x80

_LOST_STATE = {ErrorCode.BAD_SEQUENCE, ErrorCode.BAD_OFFSET, ErrorCode.INCOMPLETE, ErrorCode.NO_RESULT}


class Restarted(Exception):
    """The device has forgotten what it was told; no user sees this."""


class Request(NamedTuple):
    kind: Kind
    seq: int
    frame: bytes
    reply_bytes: int
    """Payload bytes of the expected answer, so that it can be read in one go."""
    sent: float
    wait: float
    """Seconds until it is sent again."""


class Requester:
    """Posts requests to a port and finds the answers among whatever comes back."""

    def __init__(self, port: SerialBase) -> None:
        self.decoder = Decoder()
        self.resent = 0
        """Requests that were sent again."""
        self.stale = 0
        """Frames that came late or twice and were dropped."""
        self._seq = 0
        self._request: Request | None = None
        self._longest: dict[Kind, float] = {}
        self._hit = False
        self._heard = False
        self._complaint = ""
        self.attach(port)

    def attach(self, port: SerialBase) -> None:
        """Go on over this port. What had come of a frame over another is not continued."""
        self.port = port
        self.now: Callable[[], float] = getattr(port, "now", time.monotonic)
        self.decoder.forget()
        self._tail = b""
        # Set once: on a real port every change is a round of system calls, on some a USB transfer.
        port.timeout = TICK

    def post(self, kind: Kind, payload: bytes, reply_bytes: int, wait: float | None = None) -> None:
        """Send a request and let a simulated device run; `answer` collects."""
        self._seq = seq = (self._seq + 1) & 0xFF
        if wait is None:
            known = self._longest.get(kind)
            wait = FIRST_WAIT if known is None else max(SHORTEST_WAIT, 4 * known)
        frame = encode(kind, seq, payload)
        self._request = Request(kind, seq, frame, reply_bytes, self.now(), wait)
        self._write(frame)

    def answer(self) -> bytes:
        """The payload that answers the last post; a LinkError, or Restarted, if none does."""
        request = self._request
        if request is None:
            raise LinkError("Nothing was asked that could be answered.", "Call send before receive.")
        began, wait, silent, garbled = request.sent, request.wait, 0, 0
        self._complaint = ""
        for attempt in range(ATTEMPTS):
            if attempt:
                self.resent += 1
                began = self.now()
                self._write(request.frame)
            self._heard, damaged = False, self.decoder.damaged
            reply = self._listen(request, began, wait)
            if reply is not None:
                self._request = None
                if attempt == 0:  # else nobody knows which of the copies was answered
                    took = self.now() - began
                    if took > self._longest.get(request.kind, 0.0):
                        self._longest[request.kind] = took
                return reply
            if self._heard:
                wait, silent, garbled = request.wait, 0, 0
            elif self.decoder.damaged != damaged:
                wait, silent, garbled = request.wait, 0, garbled + 1
            else:
                wait, silent = max(wait, min(2 * wait, LONGEST_WAIT)), silent + 1
            if silent == SILENT_ATTEMPTS or garbled == GARBLED_ATTEMPTS:
                break
        raise self._no_answer(request, attempt + 1)

    def wait_ready(self, seconds: float) -> bool:
        """Whether a READY came within that time."""
        deadline = self.now() + seconds
        while True:
            data = self._read(self.decoder.missing(HELLO_REPLY.struct.size))
            if any(frame.kind == Kind.READY for frame in self.decoder.feed(data)):
                return True
            if self.now() >= deadline:
                return False

    def _listen(self, request: Request, began: float, wait: float) -> bytes | None:
        """The answer, or None when it is time to send the request again."""
        decoder = self.decoder
        damaged = decoder.damaged
        self._hit = False
        deadline = began + wait
        while True:
            # Read before looking at the clock: a host that was held up must not ask again for what has come.
            data = self._read(decoder.missing(request.reply_bytes))
            for frame in decoder.feed(data):
                if frame.seq == request.seq and frame.kind == request.kind | REPLY:
                    return frame.payload
                self._examine(request, frame)
            now = self.now()
            if self._hit or decoder.damaged != damaged:
                # This request or its answer was hit, or the remains of an earlier one have come. So the usual
                # time is given to the answer: what is sent to a device that computes is lost and adds damage.
                self._hit, damaged = False, decoder.damaged
                usual = self._longest.get(request.kind, wait / 4)
                deadline = min(deadline, max(now, began + 2 * usual) + TICK)
            if now >= deadline:
                return None

    def _examine(self, request: Request, frame: Frame) -> None:
        """Something other than the answer."""
        self._heard = True
        if frame.kind == Kind.READY:
            raise Restarted
        if frame.kind != Kind.ERROR or len(frame.payload) != ERROR.struct.size:
            self.stale += 1
            return
        code, detail = ERROR.struct.unpack(frame.payload)
        name = ErrorCode(code).name if code in set(ErrorCode) else f"error {code}"
        if code == ErrorCode.DAMAGED:  # the number of a frame that could not be read is not known
            self._hit = True
            self._complaint = f"; the board said {name} ({detail})"
        elif frame.seq != request.seq:
            self.stale += 1
        elif code in _LOST_STATE:
            raise Restarted
        else:
            raise DeviceError(
                f"The board refused {request.kind.name}: {name} ({detail}).",
                "The firmware does not suit this kilobench; build it and upload it again.",
            )

    def _no_answer(self, request: Request, attempts: int) -> NoAnswer:
        seconds = self.now() - request.sent
        received = self._tail.hex(" ") if self._tail else "none"
        return NoAnswer(
            f"No {request.kind.name}_REPLY number {request.seq} from {self.port.name} in {seconds:.1f} s, "
            f"though it was asked for {attempts} times; last bytes received: {received}"
            f"{self._complaint}.",
            "Is the firmware uploaded, the baud rate right and the cable whole? Try kilobench doctor.",
        )

    def _write(self, frame: bytes) -> None:
        try:
            self.port.write(frame)
            self.port.flush()
        except (SerialException, OSError) as error:
            raise self._vanished(error) from error

    def _read(self, count: int) -> bytes:
        try:
            data = self.port.read(count)
        except (SerialException, OSError) as error:
            raise self._vanished(error) from error
        if data:
            self._tail = (self._tail + data)[-TAIL_BYTES:]
        return data

    def _vanished(self, error: Exception) -> PortError:
        return PortError(
            f"The port {self.port.name} failed while in use: {error}.",
            "Was the board unplugged, or the port opened by another program?",
        )
