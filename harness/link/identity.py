"""Who is at the other end of the line: what HELLO says, and whether it is what was expected."""

from __future__ import annotations

from dataclasses import dataclass

from harness.boards import Board
from harness.errors import WrongFirmware
from harness.link.messages import (
    HASH_BYTES,
    HELLO_REPLY,
    NAME_BYTES,
    PROTOCOL_VERSION,
    HelloFlag,
    Numbers,
)
from models.device import DeviceModel

REMEDY = "Build it and upload it again."
_STRUCT = HELLO_REPLY.struct


@dataclass(frozen=True)
class Hello:
    """What a device says of itself."""

    version: int
    numbers: str
    """int8, int16 or float32, as in DeviceModel."""
    buffered: bool
    clock_hz: int
    features: int
    classes: int
    scores: int
    chunk_bytes: int
    buffer_bytes: int
    model_hash: bytes
    board: str
    model: str

    @classmethod
    def parse(cls, payload: bytes) -> Hello:
        """From the payload of HELLO_REPLY or READY; WrongFirmware names both protocol versions."""
        version = payload[0] if payload else 0
        if version != PROTOCOL_VERSION:
            raise WrongFirmware(
                f"The board speaks version {version} of the link protocol and this kilobench version "
                f"{PROTOCOL_VERSION}.",
                REMEDY,
            )
        if len(payload) != _STRUCT.size:
            raise WrongFirmware(
                f"The board's HELLO has {len(payload)} bytes where protocol version {version} has "
                f"{_STRUCT.size}.",
                REMEDY,
            )
        (
            version,
            numbers,
            flags,
            clock_hz,
            features,
            classes,
            scores,
            chunk_bytes,
            buffer_bytes,
            model_hash,
            board,
            model,
        ) = _STRUCT.unpack(payload)
        try:
            numbers_name = Numbers(numbers).name.lower()
        except ValueError:
            raise WrongFirmware(f"The board names an unknown number format ({numbers}).", REMEDY) from None
        return cls(
            version=version,
            numbers=numbers_name,
            buffered=bool(flags & HelloFlag.BUFFERED),
            clock_hz=clock_hz,
            features=features,
            classes=classes,
            scores=scores,
            chunk_bytes=chunk_bytes,
            buffer_bytes=buffer_bytes,
            model_hash=model_hash,
            board=_text(board),
            model=_text(model),
        )


@dataclass(frozen=True)
class Expected:
    """The board and model that the firmware was built for."""

    board: str
    model: str
    model_hash: bytes
    numbers: str
    features: int

    @classmethod
    def of(cls, board: Board, model: DeviceModel) -> Expected:
        return cls(_cut(board.name), _cut(model.name), model.digest, model.numbers, model.n_features)

    def check(self, hello: Hello) -> None:
        """WrongFirmware says by name what is there instead."""
        if hello.board != self.board:
            raise WrongFirmware(
                f"The firmware that answers was built for the board {hello.board!r}, not for {self.board!r}.",
                "Check the port, or build for this board and upload it again.",
            )
        if hello.model_hash != self.model_hash:
            raise WrongFirmware(
                f"The board runs model {hello.model!r} ({hello.model_hash.hex()}), not the {self.model!r} "
                f"({self.model_hash[:HASH_BYTES].hex()}) that was built.",
                "Upload it again.",
            )
        # The digest covers these; firmware that says otherwise was built with a stale header.
        for what, said, wanted in (
            ("number format", hello.numbers, self.numbers),
            ("number of features", hello.features, self.features),
        ):
            if said != wanted:
                raise WrongFirmware(f"The board's {what} is {said}, the model's is {wanted}.", REMEDY)


def _cut(name: str) -> str:
    """A name as the device can say it."""
    return name.encode()[:NAME_BYTES].decode(errors="replace")


def _text(field: bytes) -> str:
    return field.rstrip(b"\0").decode(errors="replace")
