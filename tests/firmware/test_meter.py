"""The meter's firmware, built by PlatformIO, in simavr with a chip on its I2C bus, emulated to the byte."""

from __future__ import annotations

import functools
import re
import struct
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from harness import elfscan, targets, toolchain
from harness.link.frames import Decoder, encode
from harness.power import ina_wire as wire
from harness.power.ina_chip import Setup, trace_of
from harness.power.ina_wire import Block, Kind, Status
from harness.power.registry import parse
from harness.power.windows import energies, triggered
from tests.harness.avrboards import needs_simulator

pytestmark = [needs_simulator, pytest.mark.slow, pytest.mark.xdist_group("meter")]

HERE = Path(__file__).parent / "meter"
AVRBOARD = Path(targets.__file__).parent / "avrboard"
VOLTS, IDLE, ACTIVE = 5.0, 2.3e-3, 9.2e-3
SHUNT = 0.1


@functools.cache
def workshop() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="kilobench-meter-")


@functools.cache
def firmware(environment: str = "meter-uno") -> Path:
    folder = Path(workshop().name)
    done = toolchain.platformio("--environment", environment, "--silent", workspace=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "build" / environment / "firmware.elf"


@functools.cache
def simulator() -> Path:
    program = Path(workshop().name) / "inaboard"
    parts = [AVRBOARD / name for name in ("board.c", "usart.c", "image.c")]
    flags = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", f"-I{AVRBOARD}"]
    command: list[str | Path] = ["cc", *flags, "-o", program, HERE / "inaboard.c", *parts, "-lsimavr", "-ldl"]
    subprocess.run(command, check=True)
    return program


@dataclass(frozen=True)
class Heard:
    """What the meter has sent."""

    blocks: list[Block]
    answers: dict[int, bytes]
    """By the number of the request."""


def simulate(setup: Setup, script: list[tuple[int, str, str]], address: int = 0x40) -> Heard:
    chip = setup.chip
    idle, active = (round(current * SHUNT / chip.shunt_volts) for current in (IDLE, ACTIVE))
    bus = round(VOLTS / chip.bus_volts) << chip.bus_shift
    words = (setup.kind[3:], address, round(5e5 * setup.seconds), idle, active, bus)
    lines = "".join(f"{at} {what} {rest}\n" for at, what, rest in script)
    done = subprocess.run(
        [simulator(), firmware(), *map(str, words)], input=lines.encode(), capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    decoder = Decoder()
    frames = decoder.feed(done.stdout)
    assert decoder.damaged == 0
    return Heard(
        [Block.parse(frame.payload) for frame in frames if frame.kind == Kind.SAMPLES],
        {frame.seq: frame.payload for frame in frames if frame.kind & wire.REPLY},
    )


def request(at: int, kind: Kind, seq: int, payload: bytes = b"") -> tuple[int, str, str]:
    return (at, "send", encode(kind, seq, payload).hex())


def start(at: int, seq: int, setup: Setup) -> tuple[int, str, str]:
    chip = setup.chip
    words = (setup.address, setup.configuration, chip.ready_register, chip.ready_mask, chip.clear_register)
    return request(at, Kind.START, seq, wire.START.pack(*words))


@pytest.mark.parametrize("meter", ["ina219:x", "ina226:x", "ina226:x,conversion=332us"])
def test_known_windows_come_back_to_the_half_microsecond_and_their_energy_within_a_percent(
    meter: str,
) -> None:
    setup = Setup.of(parse(meter))
    script = [request(10_000, Kind.HELLO, 1), start(20_000, 2, setup)]
    for at in range(220_123, 1_720_000, 300_000):
        script += [(at, "pin", "1"), (at + 200_333, "pin", "0")]
    script += [request(1_800_000, Kind.STOP, 3), (1_850_000, "end", "0")]
    heard = simulate(setup, script)
    assert wire.HELLO_REPLY.unpack(heard.answers[1]) == (wire.VERSION, 2_000_000)
    assert wire.START_REPLY.unpack(heard.answers[2]) == (Status.OK,)
    (taken,) = wire.STOP_REPLY.unpack(heard.answers[3])
    trace = trace_of(heard.blocks, taken, 2_000_000, setup)
    assert taken == len(trace.time)
    assert taken == pytest.approx(1.78 / setup.seconds, abs=3), "each conversion, and once"
    assert trace.dropped == 0
    assert trace.volts == pytest.approx(VOLTS)
    spans = triggered(trace)
    assert [span.seconds for span in spans] == pytest.approx([0.200333] * 5, abs=1.01e-6)
    assert np.diff([span.start for span in spans]) == pytest.approx([0.3] * 4, abs=1.01e-6)
    found = energies(trace, spans).windows
    for window in found:
        assert window.gross == pytest.approx(VOLTS * ACTIVE * 0.200333, rel=0.01)
        assert window.net == pytest.approx(VOLTS * (ACTIVE - IDLE) * 0.200333, rel=0.01)


def test_a_bus_without_a_chip_is_told_and_a_second_start_works() -> None:
    setup = Setup.of(parse("ina219:x"))
    elsewhere = Setup.of(parse("ina219:x,address=0x41"))
    script = [start(20_000, 1, elsewhere), start(60_000, 2, setup), request(120_000, Kind.STOP, 3)]
    heard = simulate(setup, [*script, (150_000, "end", "0")])
    assert wire.START_REPLY.unpack(heard.answers[1]) == (Status.NO_CHIP,)
    assert wire.START_REPLY.unpack(heard.answers[2]) == (Status.OK,)
    assert heard.blocks


def test_damaged_strange_and_repeated_requests_do_no_harm() -> None:
    setup = Setup.of(parse("ina219:x"))
    script = [
        (10_000, "send", "7e4201ffffff7e"),
        request(12_000, Kind.START, 1, b"too short"),
        request(15_000, Kind.STOP, 2),
        request(16_000, Kind.STOP, 2),
        request(17_000, Kind.HELLO, 3),
    ]
    heard = simulate(setup, [*script, (30_000, "end", "0")])
    assert set(heard.answers) == {2, 3}
    assert wire.STOP_REPLY.unpack(heard.answers[2]) == (0,)


@pytest.mark.parametrize("environment", ["meter-uno", "meter-nano"])
def test_it_is_built_for_both_boards_and_holds_nothing_that_simavr_gets_wrong(environment: str) -> None:
    assert elfscan.scan(firmware(environment)) == []


def test_both_ends_have_the_same_numbers() -> None:
    text = (toolchain.project() / "meter" / "wire.h").read_text()
    header = {name: int(value, 0) for name, value in re.findall(r"WIRE_(\w+) = (\w+)", text)}
    ours = {
        "VERSION": wire.VERSION,
        "REPLY": wire.REPLY,
        "MOST_SAMPLES": wire.MOST_SAMPLES,
        "NOTHING": wire.NOTHING,
        **{f"KIND_{kind.name}": int(kind) for kind in Kind},
        **{f"STATUS_{status.name}": int(status) for status in Status},
    }
    layouts: dict[str, tuple[struct.Struct, tuple[str, ...]]] = {
        "HELLO_REPLY": (wire.HELLO_REPLY, ("VERSION", "TICKS")),
        "START": (
            wire.START,
            ("ADDRESS", "CONFIGURATION", "READY_REGISTER", "READY_MASK", "CLEAR_REGISTER"),
        ),
        "START_REPLY": (wire.START_REPLY, ()),
        "STOP_REPLY": (wire.STOP_REPLY, ()),
        "SAMPLES": (wire.SAMPLES, ("FIRST", "TICKS")),
        "SAMPLE": (wire.SAMPLE, ("TICKS", "HIGH", "SHUNT", "BUS")),
    }
    for name, (layout, fields) in layouts.items():
        ours[f"SIZE_{name}"] = layout.size
        for number, part in enumerate(fields):
            ours[f"AT_{name}_{part}"] = struct.calcsize("<" + layout.format[1 : 1 + number])
    assert header == ours
