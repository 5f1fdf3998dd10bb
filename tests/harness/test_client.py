from __future__ import annotations

import os
import random
import time

import numpy as np
import pytest
import serial
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import DeviceError, LinkError, NoAnswer, PortError, WrongFirmware
from harness.link import requests
from harness.link.client import Link, Prediction
from harness.link.frames import encode
from harness.link.identity import Expected
from harness.link.messages import ERROR, ErrorCode, Kind, Numbers
from tests.harness.fake_device import (
    FakeDevice,
    FakePort,
    Transform,
    clean,
    damaged,
    doubled,
    late,
    noisy,
    nothing,
    on,
)

SAMPLE = bytes(range(8))
EXPECTED = Expected("uno", "fake", b"01234567", "int8", 8)


def sample(seed: int, size: int = 8) -> bytes:
    return random.Random(seed).randbytes(size)


def connected(port: FakePort, expected: Expected | None = EXPECTED) -> Link:
    link = Link(port, expected)
    link.hello()
    return link


def test_a_sample_of_one_chunk_is_one_write_and_one_read() -> None:
    port = FakePort(FakeDevice())
    link = connected(port)
    writes, reads = port.writes, port.reads
    assert link.predict(SAMPLE) == Prediction(sum(SAMPLE) % 4, 1000)
    assert (port.writes - writes, port.reads - reads) == (1, 1)


def test_hello_says_what_the_device_is() -> None:
    hello = Link(FakePort(FakeDevice(numbers=Numbers.INT16, features=300, buffered=False))).hello()
    assert (hello.board, hello.model, hello.numbers, hello.features) == ("uno", "fake", "int16", 300)
    assert (hello.clock_hz, hello.buffered, hello.model_hash) == (16_000_000, False, b"01234567")


def test_a_greeting_is_not_needed_before_the_first_sample() -> None:
    assert Link(FakePort(FakeDevice())).predict(SAMPLE).class_index == sum(SAMPLE) % 4


@pytest.mark.parametrize("numbers", list(Numbers))
@pytest.mark.parametrize("chunk_bytes", [5, 64, 70, 800, 2000])
def test_a_long_vector_goes_in_chunks_of_whole_features(numbers: Numbers, chunk_bytes: int) -> None:
    size = {Numbers.INT8: 1, Numbers.INT16: 2, Numbers.FLOAT32: 4}[numbers]
    device = FakeDevice(features=200, numbers=numbers, chunk_bytes=chunk_bytes, buffered=False)
    link = connected(FakePort(device), None)
    vectors = [sample(seed, 200 * size) for seed in range(5)]
    assert [link.predict(v).class_index for v in vectors] == [device.class_of(v) for v in vectors]
    assert device.predictions == vectors


FAULTS: dict[str, tuple[Transform, Transform]] = {
    "request lost": (on({3}, nothing), clean),
    "answer lost": (clean, on({3}, nothing)),
    "request doubled": (on({2, 3, 4}, doubled), clean),
    "answer doubled": (clean, on({2, 3, 4}, doubled)),
    "request damaged": (on({3, 5}, damaged), clean),
    "answer damaged": (clean, on({3, 5}, damaged)),
    "answer late": (clean, on({3}, late(1.5))),
    "many answers late": (clean, on(set(range(2, 12)), late(0.3))),
    "noise before": (clean, noisy(b"\x00\xff\x7e\x7d\x7e\x12\x34")),
    "noise to the device": (noisy(b"\x7e\x01\x02\x03\x7e"), clean),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("chunk_bytes", [8, 3])
def test_a_bad_line_costs_time_and_nothing_else(fault: str, chunk_bytes: int) -> None:
    to_device, to_host = FAULTS[fault]
    device = FakeDevice(chunk_bytes=chunk_bytes)
    link = connected(FakePort(device, to_device=to_device, to_host=to_host))
    vectors = [sample(seed) for seed in range(20)]
    answers = [link.predict(vector).class_index for vector in vectors]
    assert answers == [device.class_of(vector) for vector in vectors]
    assert device.predictions == vectors  # each computed exactly once


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.sampled_from([8, 3]))
def test_a_line_with_everything_wrong_at_random(seed: int, chunk_bytes: int) -> None:
    dice = random.Random(seed)
    faults: list[Transform] = [nothing, doubled, damaged, late(0.4), noisy(b"\x7e\x7d\x7ejunk")]

    def bad(number: int, frame: bytes) -> list[tuple[float, bytes]]:
        fault: Transform = dice.choice(faults) if dice.random() < 0.2 else clean
        return fault(number, frame)

    device = FakeDevice(chunk_bytes=chunk_bytes)
    link = connected(FakePort(device, to_device=bad, to_host=bad))
    vectors = [sample(n) for n in range(30)]
    answers = [link.predict(vector) for vector in vectors]
    assert [a.class_index for a in answers] == [device.class_of(v) for v in vectors]


def test_a_line_that_hits_one_byte_in_a_hundred() -> None:
    dice = random.Random(1)

    def bad(_: int, frame: bytes) -> list[tuple[float, bytes]]:
        hit = bytes(b ^ dice.randrange(1, 256) if dice.random() < 0.01 else b for b in frame)
        return [(0.0, hit)]

    device = FakeDevice(features=300, chunk_bytes=128, buffered=False)
    link = connected(FakePort(device, to_device=bad, to_host=bad), None)
    vectors = [sample(n, 300) for n in range(200)]
    assert [link.predict(v).class_index for v in vectors] == [device.class_of(v) for v in vectors]
    assert link.resent > 200


def test_answers_that_are_hit_many_times_in_a_row_are_no_silence() -> None:
    link = connected(FakePort(FakeDevice(), to_host=on(set(range(1, 16)), damaged)))
    assert link.predict(SAMPLE) == Prediction(sum(SAMPLE) % 4, 1000)
    assert link.resent == 15


def test_a_line_on_which_every_answer_is_hit_is_given_up() -> None:
    link = connected(FakePort(FakeDevice(), to_host=on(set(range(1, 10_000)), damaged)))
    with pytest.raises(NoAnswer, match=f"asked for {requests.GARBLED_ATTEMPTS} times"):
        link.predict(SAMPLE)


@pytest.mark.parametrize("request_number", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("ready_is_lost", [False, True])
def test_a_restarted_board_gets_its_sample_from_the_beginning(
    request_number: int, ready_is_lost: bool
) -> None:
    device = FakeDevice(chunk_bytes=3, reset_at={request_number})
    lost = on({request_number}, nothing) if ready_is_lost else clean
    link = connected(FakePort(device, to_host=lost))
    vectors = [sample(seed) for seed in range(3)]
    assert [link.predict(v).class_index for v in vectors] == [device.class_of(v) for v in vectors]
    assert link.restarts == 1


def test_a_board_that_always_restarts_is_given_up() -> None:
    device = FakeDevice(reset_at=set(range(1, 1000)))
    link = connected(FakePort(device))
    with pytest.raises(NoAnswer, match="lost its state"):
        link.predict(SAMPLE)


def test_after_a_restart_the_identity_is_checked_again() -> None:
    device = FakeDevice(reset_at={1})
    link = connected(FakePort(device))
    device.model_hash = b"another!"
    with pytest.raises(WrongFirmware, match=b"another!".hex()):
        link.predict(SAMPLE)


def test_ready_is_waited_for() -> None:
    port = FakePort(FakeDevice())
    link = Link(port)
    assert not link.wait_ready(0.5)
    assert port.now() >= 0.5
    port.press_reset()
    assert link.wait_ready(0.5)


def test_a_ready_that_comes_with_the_greeting_does_no_harm() -> None:
    port = FakePort(FakeDevice())
    port.press_reset()
    link = connected(port)
    assert link.predict(SAMPLE).class_index == sum(SAMPLE) % 4


def test_sequence_numbers_wrap() -> None:
    device = FakeDevice()
    link = connected(FakePort(device))
    for seed in range(600):
        assert link.predict(sample(seed)).class_index == device.class_of(sample(seed))
    assert (link.resent, link.restarts, link.stale, link.damaged) == (0, 0, 0, 0)


def test_scores_come_in_parts() -> None:
    device = FakeDevice(classes=40)
    link = connected(FakePort(device))
    winner = link.predict(SAMPLE).class_index
    scores = link.scores()
    assert scores.dtype == np.int32
    assert scores.tolist() == [100 if c == winner else c for c in range(40)]


@pytest.mark.parametrize("request_number", [2, 3])
def test_scores_of_a_restarted_board_are_those_of_the_last_sample(request_number: int) -> None:
    device = FakeDevice(classes=20, reset_at={request_number})
    link = connected(FakePort(device))
    winner = link.predict(SAMPLE).class_index
    assert link.scores()[winner] == 100


def test_repeat_waits_as_long_as_it_takes() -> None:
    device = FakeDevice(compute_cycles=1_600_000)
    port = FakePort(device, to_host=on({2}, late(190.0)))
    link = connected(port)
    once = link.predict(SAMPLE)
    assert link.repeat(2000) == Prediction(once.class_index, 2000 * 1_600_000)
    assert link.resent == 0


def test_scores_and_repeat_need_a_prediction() -> None:
    link = connected(FakePort(FakeDevice()))
    with pytest.raises(LinkError, match="no prediction"):
        link.scores()
    with pytest.raises(LinkError, match="no prediction"):
        link.repeat(3)
    with pytest.raises(LinkError, match="no sample under way"):
        link.receive()


def test_ping_returns_what_was_sent() -> None:
    port = FakePort(FakeDevice(), latency=0.007)
    assert connected(port).ping(b"\x7e\x7dhello") == pytest.approx(0.007)


def test_ping_survives_a_restart() -> None:
    link = connected(FakePort(FakeDevice(reset_at={1})))
    link.ping(b"hello")
    assert link.restarts == 1


def test_another_protocol_version_names_both() -> None:
    with pytest.raises(WrongFirmware, match=r"version 9 .* version 1"):
        Link(FakePort(FakeDevice(version=9))).hello()


@pytest.mark.parametrize(
    ("device", "says"),
    [
        (FakeDevice(board="nano"), r"'nano', not for 'uno'"),
        (FakeDevice(model="other", model_hash=b"\x01" * 8), r"'other' \(0101010101010101\), not the 'fake'"),
        (FakeDevice(numbers=Numbers.FLOAT32), r"number format is float32, the model's is int8"),
        (FakeDevice(features=9), r"number of features is 9, the model's is 8"),
    ],
)
def test_a_stranger_is_refused_by_name(device: FakeDevice, says: str) -> None:
    with pytest.raises(WrongFirmware, match=says):
        Link(FakePort(device), EXPECTED).hello()


def test_silence_is_reported_with_what_was_expected() -> None:
    with pytest.raises(NoAnswer, match=r"No HELLO_REPLY number 1 from fake .* received: none") as caught:
        Link(FakePort(FakeDevice(), to_host=nothing)).hello()
    assert "kilobench doctor" in caught.value.remedy


def test_garbage_is_reported_in_hex() -> None:
    def junk(_: int, __: bytes) -> list[tuple[float, bytes]]:
        return [(0.0, b"\x7e\x00\x41")]

    with pytest.raises(NoAnswer, match="7e 00 41"):
        Link(FakePort(FakeDevice(), to_host=junk)).hello()


def test_a_line_that_chatters_without_end_is_given_up() -> None:
    class Babble(FakePort):
        def read(self, size: int = 1, /) -> bytes:
            self.time += size * 1e-5
            return b"\x7e\x55" * (size // 2 + 1)

    port = Babble(FakeDevice())
    with pytest.raises(NoAnswer, match="7e 55"):
        Link(port).hello()
    assert port.now() < 60


def test_a_vanished_port_is_a_port_error() -> None:
    link = connected(FakePort(FakeDevice(), breaks_after=1))
    with pytest.raises(PortError, match="device disconnected"):
        link.predict(SAMPLE)


def test_a_refused_request_is_named() -> None:
    link = connected(FakePort(FakeDevice()))
    with pytest.raises(DeviceError, match=r"refused PREDICT: TOO_MANY \(8\)"):
        link.predict(bytes(9))


def test_an_error_code_of_the_future_is_named_by_number() -> None:
    def reply(_: int, frame: bytes) -> list[tuple[float, bytes]]:
        return [(0.0, encode(Kind.ERROR, frame[2], ERROR.struct.pack(99, 7)))]

    link = connected(FakePort(FakeDevice(), to_host=on({1}, reply)))
    with pytest.raises(DeviceError, match=r"error 99 \(7\)"):
        link.predict(SAMPLE)


def test_what_the_board_complained_of_is_part_of_the_evidence() -> None:
    link = connected(FakePort(FakeDevice(), to_device=on(set(range(1, 100)), damaged)))
    with pytest.raises(NoAnswer, match=r"the board said DAMAGED"):
        link.predict(SAMPLE)


def test_a_class_the_model_has_not_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    device = FakeDevice()
    monkeypatch.setattr(device, "class_of", lambda sample: 77)
    with pytest.raises(DeviceError, match="class 77 of 4"):
        connected(FakePort(device)).predict(SAMPLE)


def test_old_damage_is_no_reason_to_disturb_a_device_that_computes() -> None:
    """A DAMAGED left over from before comes while the answer is on its way."""
    stray = encode(Kind.ERROR, 0, ERROR.struct.pack(ErrorCode.DAMAGED, 0))

    def preceded(_: int, frame: bytes) -> list[tuple[float, bytes]]:
        return [(-0.02, stray), (0.0, frame)]

    port = FakePort(FakeDevice(), latency=0.03, to_host=on(set(range(5, 50)), preceded))
    link = connected(port)
    for seed in range(30):
        link.predict(sample(seed))
    assert link.resent == 0


def test_waiting_grows_from_what_is_usual() -> None:
    """A lost answer of a quick device is asked for again within a few tenths of a second."""
    port = FakePort(FakeDevice(), to_host=on({20}, nothing))
    link = connected(port)
    for seed in range(18):
        link.predict(sample(seed))
    before = port.now()
    link.predict(sample(18))
    link.predict(sample(19))
    assert link.resent == 1
    assert port.now() - before < 0.3


def test_real_time_is_used_where_the_port_has_no_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "SILENT_ATTEMPTS", 2)
    board, computer = os.openpty()
    with serial.serial_for_url(os.ttyname(computer)) as port:
        began = time.monotonic()
        with pytest.raises(NoAnswer, match=os.ttyname(computer)):
            Link(port).hello()
        assert 0.5 < time.monotonic() - began < 5
    os.close(board)
    os.close(computer)


def test_sending_and_receiving_can_be_apart() -> None:
    device = FakeDevice(chunk_bytes=3)
    link = connected(FakePort(device))
    link.send(SAMPLE)
    assert link.receive().class_index == device.class_of(SAMPLE)
