"""The frame decoder in C: a million damaged frames under sanitizers, and the same frames as Python's."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path

import pytest

from harness.link.frames import Decoder, Frame, encode
from harness.link.messages import ESCAPE, FLAG
from models.costs import PIECE_FEATURES
from tests.firmware.hostfirmware import FIRMWARE, compile_host, needs_gcc

pytestmark = needs_gcc

MILLION = 1_000_000
CHUNK = PIECE_FEATURES
LONGEST = 2 + CHUNK
"""Payload bytes that fit the device's buffer: an offset and a chunk of features."""
VECTORS = 2_000


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sources = [Path(__file__).with_name("frame_driver.c"), FIRMWARE / "lib" / "link" / "frame.c"]
    return compile_host(sources, tmp_path_factory.mktemp("frames") / "driver")


def run(driver: Path, *arguments: str, lines: list[str] | None = None) -> list[str]:
    text = "".join(f"{line}\n" for line in lines or [])
    done = subprocess.run([driver, *arguments], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def random_payload(rng: random.Random, longest: int) -> bytes:
    alphabet = [FLAG, ESCAPE, FLAG ^ 0x20, ESCAPE ^ 0x20, *range(256)]
    return bytes(rng.choices(alphabet, k=rng.randint(0, longest)))


def random_frames(seed: int, longest: int = LONGEST) -> list[Frame]:
    rng = random.Random(seed)
    return [
        Frame(rng.randrange(256), rng.randrange(256), random_payload(rng, longest)) for _ in range(VECTORS)
    ]


def good(line: str) -> list[Frame]:
    """The good frames in a line of the driver's output."""
    words = (word.removeprefix("good:") for word in line.split() if word.startswith("good:"))
    bodies = (bytes.fromhex(word) for word in words)
    return [Frame(body[0], body[1], body[2:]) for body in bodies]


def test_a_million_random_and_mutated_frames(driver: Path) -> None:
    (line,) = run(driver, "fuzz", str(MILLION), "1")
    counts = json.loads(line)
    assert counts["fed"] == MILLION
    # All three ends were reached, many times; what must hold at each of them is checked by the driver.
    assert min(counts["good"], counts["too_long"], counts["damaged"]) > MILLION // 40


def test_another_seed_feeds_other_frames(driver: Path) -> None:
    assert run(driver, "fuzz", "2000", "1") != run(driver, "fuzz", "2000", "2")


def test_c_encodes_what_python_encodes(driver: Path) -> None:
    frames = random_frames(seed=3)
    lines = [bytes([frame.kind, frame.seq, *frame.payload]).hex() for frame in frames]
    assert run(driver, "encode", lines=lines) == [encode(*frame).hex() for frame in frames]


def test_python_decodes_what_c_encodes(driver: Path) -> None:
    frames = random_frames(seed=4)
    lines = [bytes([frame.kind, frame.seq, *frame.payload]).hex() for frame in frames]
    wire = bytes.fromhex("".join(run(driver, "encode", lines=lines)))
    assert Decoder().feed(wire) == frames


def test_c_decodes_what_python_encodes(driver: Path) -> None:
    frames = random_frames(seed=5)
    decoded = run(driver, "decode", lines=[encode(*frame).hex() for frame in frames])
    assert [good(line) for line in decoded] == [[frame] for frame in frames]


def test_both_find_the_same_frames_in_a_damaged_stream(driver: Path) -> None:
    """A byte of each frame is changed to one that is neither FLAG nor ESCAPE, and noise stands in between."""
    rng = random.Random(6)
    ordinary = [byte for byte in range(256) if byte not in (FLAG, ESCAPE)]
    lines = []
    for frame in random_frames(seed=7):
        wire = bytearray(encode(*frame))
        places = [at for at, byte in enumerate(wire) if byte in ordinary and wire[at - 1] != ESCAPE]
        if rng.random() < 0.5 and places:
            wire[rng.choice(places)] = rng.choice(ordinary)
        noise = bytes(rng.choices(ordinary, k=rng.randint(0, 5)))
        lines.append(noise + bytes(wire) + noise + encode(1, 2, b"whole"))
    found = [good(line) for line in run(driver, "decode", lines=[line.hex() for line in lines])]
    assert found == [Decoder().feed(line) for line in lines]
    assert 0 < sum(len(frames) == 1 for frames in found) < VECTORS


@pytest.mark.parametrize("length", [LONGEST - 1, LONGEST, LONGEST + 1, LONGEST + 2, 255])
def test_one_byte_too_long_is_too_long(driver: Path, length: int) -> None:
    (line,) = run(driver, "decode", lines=[encode(6, 1, bytes(length)).hex()])
    if length <= LONGEST:
        assert good(line) == [Frame(6, 1, bytes(length))]
    else:
        assert line.split() == ["long"]


@pytest.mark.parametrize(
    ("wire", "events"),
    [
        ("7e7e7e7e", ""),
        ("7e017e", "damaged"),
        ("7e01021234567e", "damaged"),
        ("7e7d7e", "damaged"),
        ("0102030405", ""),
        (encode(1, 2).hex()[:-4] + "7d7e", "damaged"),  # cut inside an escape
        (encode(1, 2).hex()[:-4], ""),  # its end is still to come
    ],
)
def test_what_is_no_frame(driver: Path, wire: str, events: str) -> None:
    assert run(driver, "decode", lines=[wire])[0].strip() == events


def test_a_lost_flag_costs_one_frame(driver: Path) -> None:
    first, second, third = encode(1, 1, b"a"), encode(1, 2, b"b"), encode(1, 3, b"c")
    (line,) = run(driver, "decode", lines=[(first[:-1] + second[1:] + third).hex()])
    assert line.split()[0] == "damaged"
    assert good(line) == [Frame(1, 3, b"c")]
