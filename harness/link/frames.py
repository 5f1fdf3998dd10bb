"""Frames on the wire: FLAG, kind, sequence number, payload, CRC, FLAG, with the two special bytes escaped.

Everything is done by whole-buffer operations of bytes and binascii, so that a frame costs the host about a
microsecond either way.
"""

from __future__ import annotations

from binascii import crc_hqx
from typing import NamedTuple

from harness.link.messages import CRC_START, ESCAPE, ESCAPE_XOR, FLAG

OVERHEAD = 6
"""Bytes of a frame beside its payload, before escaping: two flags, kind, number and CRC."""

_FLAG = bytes([FLAG])
_ESCAPE = bytes([ESCAPE])
_ESCAPED_FLAG = bytes([ESCAPE, FLAG ^ ESCAPE_XOR])
_ESCAPED_ESCAPE = bytes([ESCAPE, ESCAPE ^ ESCAPE_XOR])
_SHORTEST_BODY = 4


class Frame(NamedTuple):
    kind: int
    seq: int
    payload: bytes


def encode(kind: int, seq: int, payload: bytes = b"") -> bytes:
    """One frame, ready to be written."""
    body = bytes((kind, seq)) + payload
    body += crc_hqx(body, CRC_START).to_bytes(2, "big")
    # Escapes first: those that the flags' replacement brings in must not be escaped again.
    return _FLAG + body.replace(_ESCAPE, _ESCAPED_ESCAPE).replace(_FLAG, _ESCAPED_FLAG) + _FLAG


class Decoder:
    """Finds frames in a stream that comes in pieces of any size, with anything in between.

    Every FLAG is a boundary: what stands between two of them is a frame if its CRC says so and is dropped
    otherwise, so the damage to one frame never reaches beyond the next FLAG.
    """

    def __init__(self, longest: int = 4096) -> None:
        self.damaged = 0
        """Pieces between flags that were no frame: noise, or a frame that noise has hit."""
        self._longest = longest
        self._rest = b""

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that are whole with these bytes."""
        pieces = (self._rest + data).split(_FLAG)
        self._rest = pieces.pop()
        if len(self._rest) > self._longest:
            # A line stuck on noise must not fill the memory. One byte too many is kept, so that the
            # tail of something that was too long is never taken for a frame.
            self._rest = self._rest[-self._longest - 1 :]
        frames = []
        for piece in pieces:
            if not piece:
                continue  # the closing flag of one frame and the opening one of the next
            frame = self._decode(piece)
            if frame is None:
                self.damaged += 1
            else:
                frames.append(frame)
        return frames

    def forget(self) -> None:
        """The stream ends here, and what comes next is another's."""
        self._rest = b""

    def missing(self, payload_bytes: int) -> int:
        """The fewest bytes that can still complete a frame with such a payload; at least one."""
        rest = self._rest
        flags_to_come = 1 if rest else 2
        body = payload_bytes + OVERHEAD - 2
        return max(1, body + flags_to_come + rest.count(_ESCAPE) - len(rest))

    def _decode(self, piece: bytes) -> Frame | None:
        if len(piece) > self._longest:
            return None
        if _ESCAPE in piece:
            escapes = piece.count(_ESCAPE)
            if escapes != piece.count(_ESCAPED_FLAG) + piece.count(_ESCAPED_ESCAPE):
                return None  # an escape before anything else is never sent
            # Flags first: a restored ESCAPE before a 0x5E of the payload would look like an escaped flag.
            piece = piece.replace(_ESCAPED_FLAG, _FLAG).replace(_ESCAPED_ESCAPE, _ESCAPE)
        if len(piece) < _SHORTEST_BODY or crc_hqx(piece, CRC_START) != 0:
            return None  # the CRC of a body with its own CRC behind it is zero
        return Frame(piece[0], piece[1], piece[2:-2])
