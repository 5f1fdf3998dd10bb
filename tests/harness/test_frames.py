from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from harness.link.frames import OVERHEAD, Decoder, Frame, encode
from harness.link.messages import ESCAPE, FLAG

special = st.sampled_from([FLAG, ESCAPE, FLAG ^ 0x20, ESCAPE ^ 0x20])
payloads = st.lists(st.one_of(st.integers(0, 255), special), max_size=80).map(bytes)
frames = st.builds(Frame, st.integers(0, 255), st.integers(0, 255), payloads)


def bitwise_crc(data: bytes) -> int:
    crc = 0xFFFF
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x1021 if crc & 0x8000 else crc << 1) & 0xFFFF
    return crc


def test_the_check_value_of_the_crc_catalogue() -> None:
    assert bitwise_crc(b"123456789") == 0x29B1
    assert encode(ord("1"), ord("2"), b"3456789")[-3:-1] == b"\x29\xb1"


@given(frames)
def test_what_is_encoded_is_decoded(frame: Frame) -> None:
    assert Decoder().feed(encode(*frame)) == [frame]


@given(frames)
def test_a_flag_is_only_ever_a_boundary(frame: Frame) -> None:
    wire = encode(*frame)
    assert wire[0] == wire[-1] == FLAG
    assert FLAG not in wire[1:-1]


@given(frames)
def test_the_crc_covers_kind_number_and_payload(frame: Frame) -> None:
    wire = encode(*frame)[1:-1]
    plain = bytearray()
    escaped = False
    for byte in wire:
        if byte == ESCAPE:
            escaped = True
        else:
            plain.append(byte ^ 0x20 if escaped else byte)
            escaped = False
    body = bytes([frame.kind, frame.seq]) + frame.payload
    assert bytes(plain) == body + bitwise_crc(body).to_bytes(2, "big")


@given(st.lists(frames, max_size=6), st.data())
def test_pieces_of_any_size(sent: list[Frame], data: st.DataObject) -> None:
    wire = b"".join(encode(*frame) for frame in sent)
    decoder = Decoder()
    received = []
    while wire:
        cut = data.draw(st.integers(1, len(wire)))
        received += decoder.feed(wire[:cut])
        wire = wire[cut:]
    assert received == sent
    assert decoder.damaged == 0


@given(st.lists(st.tuples(payloads, frames), min_size=1, max_size=6))
def test_garbage_between_frames_hides_none_of_them(stream: list[tuple[bytes, Frame]]) -> None:
    wire = b"".join(garbage + encode(*frame) for garbage, frame in stream)
    received = Decoder().feed(wire)
    for _, frame in stream:
        assert frame in received


@given(frames, frames)
def test_one_flag_may_close_a_frame_and_open_the_next(first: Frame, second: Frame) -> None:
    assert Decoder().feed(encode(*first) + encode(*second)[1:]) == [first, second]


@given(frames, st.data())
def test_a_changed_byte_never_passes(frame: Frame, data: st.DataObject) -> None:
    """Any change within 16 bits is caught by the CRC's construction, whatever it does to the escaping."""
    wire = bytearray(encode(*frame))
    at = data.draw(st.integers(1, len(wire) - 2))
    wire[at] ^= data.draw(st.integers(1, 255))
    # Making or breaking an escape changes the frame's length, and then the CRC is only a 1 in 65536 guard.
    assume(ESCAPE not in (wire[at], encode(*frame)[at]) and wire[at] != FLAG)
    assume(encode(*frame)[at - 1] != ESCAPE)
    decoder = Decoder()
    assert decoder.feed(bytes(wire)) == []
    assert decoder.damaged == 1


@given(frames, st.data())
def test_a_cut_frame_never_passes(frame: Frame, data: st.DataObject) -> None:
    wire = encode(*frame)
    cut = data.draw(st.integers(1, len(wire) - 2))
    body = wire[1:cut]
    assume(bitwise_crc(body) != 0)  # a prefix that happens to end with its own CRC is a frame
    assert Decoder().feed(bytes([FLAG]) + body + bytes([FLAG])) == []


@given(st.binary(max_size=200))
def test_nothing_without_a_good_crc_is_a_frame(noise: bytes) -> None:
    for frame in Decoder().feed(noise):
        body = bytes([frame.kind, frame.seq]) + frame.payload
        assert encode(*frame)[1:-1] in noise
        assert len(body) >= 2


def test_an_escape_before_anything_else_is_damage() -> None:
    good = encode(1, 2, bytes([FLAG]))
    assert bytes([ESCAPE, FLAG ^ 0x20]) in good
    decoder = Decoder()
    assert decoder.feed(good.replace(bytes([ESCAPE, FLAG ^ 0x20]), bytes([ESCAPE, 0x00]))) == []
    assert decoder.damaged == 1


@given(frames, st.integers(0, 30))
def test_missing_never_asks_for_more_than_will_come(frame: Frame, cut: int) -> None:
    wire = encode(*frame)
    decoder = Decoder()
    at = min(cut, len(wire) - 1)
    assert decoder.feed(wire[:at]) == []
    while True:
        count = decoder.missing(len(frame.payload))
        # A lone opening flag can't be told from the end of an earlier frame, hence one byte more.
        assert count <= len(wire) - at + (1 if at == 1 else 0)
        found = decoder.feed(wire[at : at + count])
        at += count
        if found:
            break
    assert found == [frame]


def test_missing_reads_a_plain_answer_in_one_go() -> None:
    assert Decoder().missing(6) == len(encode(1, 2, bytes(6))) == 6 + OVERHEAD


def test_endless_noise_does_not_fill_the_memory() -> None:
    decoder = Decoder(longest=100)
    for _ in range(1000):
        assert decoder.feed(b"\x55" * 64) == []
    assert len(decoder._rest) <= 101
    frame = encode(1, 2, b"abc")
    assert decoder.feed(frame) == [Frame(1, 2, b"abc")]
    assert decoder.damaged == 1


def test_the_tail_of_something_too_long_is_no_frame() -> None:
    body = encode(1, 2, b"x" * 96)[1:-1]
    assert len(body) == 100
    decoder = Decoder(longest=100)
    decoder.feed(b"noise that came before")
    assert decoder.feed(body + bytes([FLAG])) == []
