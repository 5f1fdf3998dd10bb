"""The firmware's side of the link, on this machine: every request, every refusal, nothing done twice."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from harness.link.frames import Frame, encode
from harness.link.messages import (
    ERROR,
    FEATURES,
    FEATURES_REPLY,
    HELLO_REPLY,
    MAX_REPLY,
    NAME_BYTES,
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
from models.costs import PIECE_FEATURES
from models.device import Array, DeviceModel, InputScale
from models.linear_device import LinearFloat, LinearInt8
from tests.firmware.hostfirmware import HostFirmware, compile_firmware, needs_gcc

pytestmark = needs_gcc

N_FEATURES, N_CLASSES = 300, 20
CHUNK = PIECE_FEATURES
LONGEST = FEATURES.struct.size + CHUNK
STRANGE_KIND = 0x3F
PIPEFUL = 16_384
"""What can be written at once without the answers blocking the pipe they come through."""
NAME = "twenty classes, and a name that is too long"


def integers() -> DeviceModel:
    rng = np.random.default_rng(1)
    W = rng.integers(-127, 128, (N_CLASSES, N_FEATURES))
    bias = rng.integers(-9999, 9999, N_CLASSES)
    scale = InputScale(np.array(0.0), np.array(1.0), "int8")
    return LinearInt8.from_integers(W, bias, scale, range(N_CLASSES), name=NAME)


def floats() -> DeviceModel:
    rng = np.random.default_rng(2)
    W, bias = rng.normal(size=(3, 50)), rng.normal(size=3)
    scale = InputScale(np.array(0.0), np.array(1.0), "float32")
    return LinearFloat.from_floats(W, bias, scale, range(3), name="floats")


@pytest.fixture(scope="module")
def buffered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_firmware(integers(), tmp_path_factory.mktemp("buffered"))


@pytest.fixture(scope="module")
def streaming(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_firmware(integers(), tmp_path_factory.mktemp("streaming"), vector_bytes=N_FEATURES - 1)


@pytest.fixture(params=["buffered", "streaming"])
def device(request: pytest.FixtureRequest) -> Iterator[HostFirmware]:
    """A device that was greeted with number 0."""
    with HostFirmware(request.getfixturevalue(request.param)) as firmware:
        assert firmware.frame().kind == Kind.READY
        assert firmware.ask(Kind.HELLO, 0).kind == Kind.HELLO_REPLY
        yield firmware


def features(offset: int, values: Array | bytes) -> bytes:
    return FEATURES.struct.pack(offset) + bytes(values)


def samples(model: DeviceModel, count: int) -> Array:
    rng = np.random.default_rng(3)
    return model.encode(rng.normal(size=(count, model.n_features)) * (40 if model.numbers == "int8" else 1))


def predict(device: HostFirmware, seq: int, sample: Array, chunk: int = CHUNK) -> tuple[Frame, int]:
    """The reply to PREDICT, and the number it had."""
    data, size = sample.tobytes(), sample.itemsize
    while len(data) > chunk:
        offset = sample.size - len(data) // size
        reply = device.ask(Kind.FEATURES, seq, features(offset, data[:chunk]))
        assert reply == Frame(Kind.FEATURES_REPLY, seq, FEATURES_REPLY.struct.pack(offset + chunk // size))
        data, seq = data[chunk:], seq + 1 & 0xFF
    return device.ask(Kind.PREDICT, seq, features(sample.size - len(data) // size, data)), seq


def refused(reply: Frame, code: ErrorCode, detail: int) -> bool:
    return reply.kind == Kind.ERROR and ERROR.struct.unpack(reply.payload) == (code, detail)


def test_ready_and_hello_say_who_it_is(buffered: Path) -> None:
    model = integers()
    with HostFirmware(buffered) as firmware:
        ready = firmware.frame()
        hello = firmware.ask(Kind.HELLO, 77)
    assert (ready.kind, ready.seq, hello.kind, hello.seq) == (Kind.READY, 0, Kind.HELLO_REPLY, 77)
    assert ready.payload == hello.payload
    fields = dict(zip(HELLO_REPLY.offsets(), HELLO_REPLY.struct.unpack(hello.payload), strict=True))
    assert fields == {
        "version": PROTOCOL_VERSION,
        "numbers": Numbers.INT8,
        "flags": HelloFlag.BUFFERED,
        "clock_hz": 1_000_000_000,
        "features": N_FEATURES,
        "classes": N_CLASSES,
        "scores": N_CLASSES,
        "chunk_bytes": CHUNK,
        "buffer_bytes": N_FEATURES,
        "model_hash": model.digest,
        "board": b"host".ljust(NAME_BYTES, b"\0"),
        "model": NAME.encode()[:NAME_BYTES],
    }


def test_streaming_firmware_keeps_a_chunk_only(streaming: Path) -> None:
    with HostFirmware(streaming) as firmware:
        values = HELLO_REPLY.struct.unpack(firmware.frame().payload)
    fields = dict(zip(HELLO_REPLY.offsets(), values, strict=True))
    assert (fields["flags"], fields["buffer_bytes"]) == (0, CHUNK)


@pytest.mark.parametrize("chunk", [CHUNK, 40, 7])
def test_class_and_scores_are_the_models(device: HostFirmware, chunk: int) -> None:
    model, seq = integers(), 1
    encoded = samples(model, 20)
    scores = model.scores(encoded)
    for sample, expected in zip(encoded, scores, strict=True):
        reply, seq = predict(device, seq, sample, chunk)
        assert reply.kind == Kind.PREDICT_REPLY
        assert PREDICT_REPLY.struct.unpack(reply.payload)[0] == model.decide(expected[None])[0]
        received = b""
        for first in range(0, N_CLASSES, SCORES_PER_REPLY):
            seq = seq + 1 & 0xFF
            part = device.ask(Kind.SCORES, seq, SCORES.struct.pack(first))
            assert part.kind == Kind.SCORES_REPLY
            assert SCORES_REPLY.struct.unpack_from(part.payload) == (first,)
            received += part.payload[SCORES_REPLY.struct.size :]
        assert np.array_equal(np.frombuffer(received, "<i4"), expected)
        seq = seq + 1 & 0xFF
    device.finish()


@pytest.mark.parametrize("vector_bytes", [4096, 100])
def test_float_features_and_scores(tmp_path: Path, vector_bytes: int) -> None:
    model, seq = floats(), 1
    encoded = samples(model, 20)
    with HostFirmware(compile_firmware(model, tmp_path, vector_bytes=vector_bytes)) as firmware:
        firmware.frame()
        firmware.ask(Kind.HELLO, 0)
        for sample, expected in zip(encoded, model.scores(encoded), strict=True):
            reply, seq = predict(firmware, seq, sample)
            assert PREDICT_REPLY.struct.unpack(reply.payload)[0] == model.decide(expected[None])[0]
            part = firmware.ask(Kind.SCORES, seq + 1 & 0xFF, SCORES.struct.pack(0))
            received = np.frombuffer(part.payload[SCORES_REPLY.struct.size :], "<f4")
            assert np.array_equal(received, expected)
            seq = seq + 2 & 0xFF
        assert refused(
            firmware.ask(Kind.FEATURES, seq, features(0, b"abc")),
            ErrorCode.BAD_LENGTH,
            FEATURES.struct.size + 3,
        )
        firmware.finish()


def test_features_may_all_come_before_predict(device: HostFirmware) -> None:
    model = integers()
    sample = samples(model, 1)[0]
    assert device.ask(Kind.FEATURES, 1, features(0, sample[:CHUNK].tobytes())).kind == Kind.FEATURES_REPLY
    assert device.ask(Kind.FEATURES, 2, features(CHUNK, sample[CHUNK:].tobytes())).kind == Kind.FEATURES_REPLY
    reply = device.ask(Kind.PREDICT, 3, features(N_FEATURES, b""))
    assert PREDICT_REPLY.struct.unpack(reply.payload)[0] == model.decide(model.scores(sample[None]))[0]


def test_repeat_gives_the_same_class(buffered: Path) -> None:
    sample = samples(integers(), 1)[0]
    with HostFirmware(buffered) as firmware:
        firmware.frame()
        firmware.ask(Kind.HELLO, 0)
        once, seq = predict(firmware, 1, sample)
        again = firmware.ask(Kind.REPEAT, seq + 1, REPEAT.struct.pack(50))
        assert again.kind == Kind.REPEAT_REPLY
        (first, one), (second, fifty) = (PREDICT_REPLY.struct.unpack(f.payload) for f in (once, again))
        assert first == second and fifty > one
        firmware.finish()


def test_ping_brings_the_payload_back(device: HostFirmware) -> None:
    for seq, payload in enumerate((b"", b"~}~}", bytes(range(MAX_REPLY))), start=1):
        assert device.ask(Kind.PING, seq, payload) == Frame(Kind.PING_REPLY, seq, payload)


WRONG_REQUESTS = [
    (Kind.PING, bytes(MAX_REPLY + 1), ErrorCode.BAD_LENGTH, MAX_REPLY + 1),
    (Kind.PING, bytes(LONGEST + 1), ErrorCode.TOO_LONG, LONGEST),
    (STRANGE_KIND, b"", ErrorCode.BAD_KIND, STRANGE_KIND),
    (Kind.READY, b"", ErrorCode.BAD_KIND, Kind.READY),
    (Kind.FEATURES, b"", ErrorCode.BAD_LENGTH, 0),
    (Kind.FEATURES, b"\0", ErrorCode.BAD_LENGTH, 1),
    (Kind.FEATURES, features(0, b""), ErrorCode.BAD_LENGTH, 2),
    (Kind.FEATURES, features(5, b"abc"), ErrorCode.BAD_OFFSET, 0),
    (Kind.PREDICT, b"", ErrorCode.BAD_LENGTH, 0),
    (Kind.PREDICT, features(0, b""), ErrorCode.INCOMPLETE, 0),
    (Kind.PREDICT, features(0, bytes(CHUNK)), ErrorCode.INCOMPLETE, CHUNK),
    (Kind.PREDICT, features(65_535, bytes(CHUNK)), ErrorCode.BAD_OFFSET, 0),
    (Kind.SCORES, b"", ErrorCode.BAD_LENGTH, 0),
    (Kind.SCORES, SCORES.struct.pack(0), ErrorCode.NO_RESULT, 0),
    (Kind.REPEAT, b"abc", ErrorCode.BAD_LENGTH, 3),
]


@pytest.mark.parametrize(("kind", "payload", "code", "detail"), WRONG_REQUESTS)
def test_wrong_request_is_refused_with_its_reason(
    device: HostFirmware, kind: int, payload: bytes, code: ErrorCode, detail: int
) -> None:
    reply = device.ask(kind, 1, payload)
    assert reply.seq == 1 and refused(reply, code, detail)
    # It was refused, but it was a request: the next one has the next number.
    assert device.ask(Kind.PING, 2, b"on") == Frame(Kind.PING_REPLY, 2, b"on")


def test_more_features_than_the_model_has(device: HostFirmware) -> None:
    device.ask(Kind.FEATURES, 1, features(0, bytes(CHUNK)))
    assert refused(
        device.ask(Kind.FEATURES, 2, features(CHUNK, bytes(CHUNK))), ErrorCode.TOO_MANY, N_FEATURES
    )
    # What was refused has changed nothing: the sample goes on where it was.
    rest = N_FEATURES - CHUNK
    assert device.ask(Kind.PREDICT, 3, features(CHUNK, bytes(rest))).kind == Kind.PREDICT_REPLY


def test_features_out_of_order(device: HostFirmware) -> None:
    device.ask(Kind.FEATURES, 1, features(0, bytes(10)))
    assert refused(device.ask(Kind.FEATURES, 2, features(11, bytes(10))), ErrorCode.BAD_OFFSET, 10)
    assert device.ask(Kind.FEATURES, 3, features(10, bytes(10))).payload == FEATURES_REPLY.struct.pack(20)
    # Offset 0 begins anew at any time.
    assert device.ask(Kind.FEATURES, 4, features(0, bytes(3))).payload == FEATURES_REPLY.struct.pack(3)


def test_result_is_gone_when_a_new_sample_begins(device: HostFirmware) -> None:
    _, seq = predict(device, 1, samples(integers(), 1)[0])
    assert device.ask(Kind.SCORES, seq + 1, SCORES.struct.pack(0)).kind == Kind.SCORES_REPLY
    past = device.ask(Kind.SCORES, seq + 2, SCORES.struct.pack(N_CLASSES))
    assert refused(past, ErrorCode.BAD_COUNT, N_CLASSES)
    device.ask(Kind.FEATURES, seq + 3, features(0, bytes(10)))
    assert refused(device.ask(Kind.SCORES, seq + 4, SCORES.struct.pack(0)), ErrorCode.NO_RESULT, 0)


def test_refusals_of_repeat(buffered: Path, streaming: Path) -> None:
    with HostFirmware(buffered) as firmware:
        firmware.ask(Kind.HELLO, 0)
        firmware.frame()
        assert refused(firmware.ask(Kind.REPEAT, 1, REPEAT.struct.pack(5)), ErrorCode.NO_RESULT, 0)
        _, seq = predict(firmware, 2, samples(integers(), 1)[0])
        assert refused(firmware.ask(Kind.REPEAT, seq + 1, REPEAT.struct.pack(0)), ErrorCode.BAD_COUNT, 0)
    with HostFirmware(streaming) as firmware:
        firmware.ask(Kind.HELLO, 0)
        firmware.frame()
        assert refused(firmware.ask(Kind.REPEAT, 1, REPEAT.struct.pack(5)), ErrorCode.NOT_BUFFERED, 0)


def test_every_error_code_is_reached_in_this_file() -> None:
    """A code that no test provokes is a code that nobody knows to work."""
    text = Path(__file__).read_text(encoding="utf8")
    assert all(f"ErrorCode.{code.name}" in text for code in ErrorCode)


def test_repeated_number_gets_the_same_answer_and_does_nothing(device: HostFirmware) -> None:
    first = device.ask(Kind.FEATURES, 1, features(0, bytes(10)))
    assert device.ask(Kind.FEATURES, 1, features(0, bytes(10))) == first
    # Had it been done twice, 10 would not be the next offset.
    assert device.ask(Kind.FEATURES, 2, features(10, bytes(10))).payload == FEATURES_REPLY.struct.pack(20)
    reply, seq = predict(device, 3, samples(integers(), 1)[0])
    # Equal to the last cycle: it was kept, not computed again.
    assert device.ask(Kind.PREDICT, seq, features(N_FEATURES, b"")) == reply


def test_other_numbers_are_refused_and_forgotten(device: HostFirmware) -> None:
    reply = device.ask(Kind.PING, 1, b"one")
    for seq in (0, 3, 200):
        wrong = device.ask(Kind.PING, seq, b"other")
        assert wrong.seq == seq and refused(wrong, ErrorCode.BAD_SEQUENCE, 2)
    assert device.ask(Kind.PING, 1, b"one") == reply
    assert device.ask(Kind.PING, 2, b"two") == Frame(Kind.PING_REPLY, 2, b"two")


def test_numbers_wrap_around(device: HostFirmware) -> None:
    for n in range(1, 600):
        assert device.ask(Kind.PING, n & 0xFF).seq == n & 0xFF


def test_nothing_but_hello_before_hello(buffered: Path) -> None:
    with HostFirmware(buffered) as firmware:
        firmware.frame()
        for seq in (0, 1, 255):
            assert refused(firmware.ask(Kind.PING, seq), ErrorCode.BAD_SEQUENCE, 0)
        assert firmware.ask(Kind.HELLO, 9, b"of a later version").kind == Kind.HELLO_REPLY
        assert firmware.ask(Kind.PING, 10).kind == Kind.PING_REPLY


def test_hello_starts_anew(device: HostFirmware) -> None:
    predict(device, 1, samples(integers(), 1)[0])
    assert device.ask(Kind.HELLO, 200).kind == Kind.HELLO_REPLY
    assert refused(device.ask(Kind.SCORES, 201, SCORES.struct.pack(0)), ErrorCode.NO_RESULT, 0)
    assert refused(device.ask(Kind.FEATURES, 202, features(10, b"a")), ErrorCode.BAD_OFFSET, 0)


def test_damage_is_reported_and_changes_nothing(device: HostFirmware) -> None:
    device.ask(Kind.FEATURES, 1, features(0, bytes(10)))
    wire = bytearray(encode(Kind.FEATURES, 2, features(10, bytes(10))))
    wire[6] ^= 0x01
    device.write(bytes(wire))
    reply = device.frame()
    assert reply.seq == 1 and refused(reply, ErrorCode.DAMAGED, 0)
    assert device.ask(Kind.FEATURES, 2, features(10, bytes(10))).payload == FEATURES_REPLY.struct.pack(20)


def test_noise_between_frames_is_passed_over(device: HostFirmware) -> None:
    device.write(b"noise without an end")
    assert device.silent()
    assert device.ask(Kind.PING, 1, b"x") == Frame(Kind.PING_REPLY, 1, b"x")


def test_frame_in_the_wake_of_a_damaged_one_is_received(device: HostFirmware) -> None:
    """The closing flag of the damaged one opens the next; both get their answer."""
    device.write(b"\x7enoise" + encode(Kind.PING, 1, b"x"))
    assert refused(device.frame(), ErrorCode.DAMAGED, 0)
    assert device.frame() == Frame(Kind.PING_REPLY, 1, b"x")


@pytest.mark.parametrize("seed", range(3))
def test_survives_any_input(device: HostFirmware, seed: int) -> None:
    """Requests with random contents over a bad line: no crash, and the device can still be greeted."""
    rng = random.Random(seed)
    kinds = [*Kind, STRANGE_KIND]
    sent = bytearray()
    for seq in range(1, 2000):
        payload = rng.randbytes(rng.choice((0, 1, 2, 3, 10, LONGEST, LONGEST + 1, 200)))
        if rng.random() < 0.5:
            payload = struct.pack("<H", rng.choice((0, 1, CHUNK, N_FEATURES))) + payload
        kind = rng.choice(kinds)
        if kind == Kind.REPEAT:
            payload = payload[:1]  # a random count is up to 65535 predictions
        wire = bytearray(encode(kind, seq & 0xFF, payload))
        if rng.random() < 0.1:
            wire[rng.randrange(len(wire))] = rng.randrange(256)
        sent += wire
    answers = 0
    for start in range(0, len(sent), PIPEFUL):
        device.write(bytes(sent[start : start + PIPEFUL]))
        while not device.silent(0.02):
            device.frame()
            answers += 1
    device.write(b"\x7e\x7e" + encode(Kind.HELLO, 5) + encode(Kind.PING, 6, b"well"))
    # A busy machine may still have answers to the noise under way: they come first.
    while device.frame() != Frame(Kind.PING_REPLY, 6, b"well"):
        answers += 1
    assert answers > 500
    device.finish()
