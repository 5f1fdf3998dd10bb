"""The link's one definition: constants, message kinds and layouts.

`python -m harness.link.header` writes firmware/lib/link/protocol.h from this module; a test fails when the
two differ. Frames are `FLAG kind seq payload crc FLAG`; FLAG and ESCAPE inside a frame are sent as ESCAPE and
the byte xor 0x20. The CRC is CRC-16/CCITT (polynomial 0x1021, start 0xFFFF) over kind, seq and payload, high
byte first. All numbers in payloads are little-endian.

The host speaks, the device answers, and nothing is sent while the device computes: that is the flow control.
A request carries the number after the last one's; a repeated number gets the stored answer again, so nothing
is ever done twice. HELLO is accepted with any number and starts the count anew.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum

PROTOCOL_VERSION = 1
FLAG = 0x7E
ESCAPE = 0x7D
ESCAPE_XOR = 0x20
CRC_START = 0xFFFF
HASH_BYTES = 8
NAME_BYTES = 24
"""The longest board or model name in HELLO; a longer one is cut."""
MAX_REPLY = 88
"""The longest reply payload; the device keeps one to send again."""
SCORES_PER_REPLY = 16


class Kind(IntEnum):
    """What a frame is. Replies are the request's kind with the top bit set."""

    HELLO = 0x01
    """Who are you? Starts the sequence count anew."""
    FEATURES = 0x02
    """Some features of a sample, not the last ones. Offset 0 begins a new sample."""
    PREDICT = 0x03
    """The last features of a sample (perhaps all, perhaps none), then the prediction."""
    SCORES = 0x04
    """The scores of the last prediction, from a given one on."""
    REPEAT = 0x05
    """The last prediction again, so many times in one trigger window; buffered firmware only."""
    PING = 0x06
    """The payload comes back."""
    HELLO_REPLY = 0x81
    FEATURES_REPLY = 0x82
    PREDICT_REPLY = 0x83
    SCORES_REPLY = 0x84
    REPEAT_REPLY = 0x85
    PING_REPLY = 0x86
    READY = 0xC0
    """Sent once after every start, unasked, with HELLO_REPLY's payload."""
    ERROR = 0xFF


class ErrorCode(IntEnum):
    """Why a request was refused; `detail` in the ERROR reply is what the comment says."""

    DAMAGED = 1
    """A frame came with a wrong CRC or was cut short; send it again. detail: 0."""
    TOO_LONG = 2
    """A frame was longer than the receive buffer. detail: the most payload bytes it takes."""
    BAD_KIND = 3
    """No such request. detail: the kind."""
    BAD_LENGTH = 4
    """The payload's length does not fit the request. detail: the length."""
    BAD_SEQUENCE = 5
    """Neither the next number nor the last one again. detail: the number expected."""
    BAD_OFFSET = 6
    """Features out of order. detail: the offset expected."""
    TOO_MANY = 7
    """More features than the model has. detail: how many it has."""
    INCOMPLETE = 8
    """A prediction was asked before all features came. detail: how many are there."""
    NO_RESULT = 9
    """Scores or a repetition before any prediction. detail: 0."""
    NOT_BUFFERED = 10
    """REPEAT needs the whole vector in RAM and this firmware streams. detail: 0."""
    BAD_COUNT = 11
    """A repetition of zero times, or scores from beyond the last. detail: the number."""


class Numbers(IntEnum):
    """The number format of the features on the wire, and so of the firmware."""

    INT8 = 1
    INT16 = 2
    FLOAT32 = 3


class HelloFlag(IntEnum):
    BUFFERED = 1
    """The whole vector is kept in RAM; every prediction is one trigger window."""


@dataclass(frozen=True)
class Layout:
    """A payload's fixed fields, in order: (name, struct code)."""

    name: str
    fields: tuple[tuple[str, str], ...]

    @property
    def struct(self) -> struct.Struct:
        return struct.Struct("<" + "".join(code for _, code in self.fields))

    def offsets(self) -> dict[str, int]:
        """Where each field begins."""
        result, at = {}, 0
        for name, code in self.fields:
            result[name] = at
            at += struct.calcsize("<" + code)
        return result


HELLO_REPLY = Layout(
    "hello",
    (
        ("version", "B"),  # first in every version to come, so that a stranger can be named
        ("numbers", "B"),
        ("flags", "B"),
        ("clock_hz", "I"),
        ("features", "H"),
        ("classes", "H"),
        ("scores", "H"),
        ("chunk_bytes", "H"),  # feature bytes that one FEATURES or PREDICT may carry
        ("buffer_bytes", "H"),  # RAM kept for features: the vector if buffered, else a chunk
        ("model_hash", f"{HASH_BYTES}s"),
        ("board", f"{NAME_BYTES}s"),  # UTF-8, filled with zeros
        ("model", f"{NAME_BYTES}s"),
    ),
)
FEATURES = Layout("features", (("offset", "H"),))  # then the features; PREDICT has the same layout
FEATURES_REPLY = Layout("features_reply", (("next", "H"),))
PREDICT_REPLY = Layout("predict_reply", (("class", "H"), ("cycles", "I")))
SCORES = Layout("scores", (("first", "H"),))
SCORES_REPLY = Layout("scores_reply", (("first", "H"),))  # then the scores, 4 bytes each
REPEAT = Layout("repeat", (("count", "H"),))
REPEAT_REPLY = Layout("repeat_reply", (("class", "H"), ("cycles", "I")))
ERROR = Layout("error", (("code", "B"), ("detail", "H")))
LAYOUTS = (
    HELLO_REPLY,
    FEATURES,
    FEATURES_REPLY,
    PREDICT_REPLY,
    SCORES,
    SCORES_REPLY,
    REPEAT,
    REPEAT_REPLY,
    ERROR,
)
