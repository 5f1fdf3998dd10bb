"""The firmware on simulated boards: the device's cycle count is the trigger window, and no byte is lost."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from harness import boards
from harness.build import STACK_RESERVE, Firmware, build
from harness.errors import SetupError, SimulatorError
from harness.link.client import Link
from harness.link.frames import Decoder, Frame, encode
from harness.link.messages import FEATURES, FLAG, PREDICT_REPLY, Kind
from harness.session import Checks
from harness.targets import runner_build
from harness.targets.simavr import SimavrTarget
from models.device import DeviceModel
from tests.models.device_models import KINDS, make

OFFSET = Checks(scores=0).offset_cycles
"""What sessions believe the trigger window to have more than the device's own count."""
BYTE_CYCLES = 160
TIMER_PERIOD = 65_536
OVERFLOW_CYCLES = 24
"""What the timer's interrupt takes of a window."""
INTERRUPT_STACK = 24
"""What a receive interrupt in the middle of a kernel adds to its stack; none came while it was measured."""


def missing() -> str:
    """Why these tests cannot run here; empty if they can."""
    if shutil.which("avr-gcc") is None:
        return "avr-gcc is not on PATH"
    try:
        runner_build.runner()
    except (SetupError, SimulatorError) as error:
        return str(error)
    return ""


pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "all there")


@contextmanager
def running(firmware: Firmware) -> Iterator[tuple[SimavrTarget, Link]]:
    with SimavrTarget(firmware.board, firmware.elf) as target:
        link = Link(target.open())
        assert link.wait_ready(1.0)
        link.hello()
        yield target, link


def check_samples(model: DeviceModel, target: SimavrTarget, link: Link, count: int) -> None:
    """Classes, scores and windows of random samples."""
    rng = np.random.default_rng(5)
    encoded = model.encode(
        rng.normal(size=(count, model.n_features)) * (50 if model.numbers == "int8" else 1)
    )
    expected = model.scores(encoded)
    for sample, scores in zip(encoded, expected, strict=True):
        prediction = link.predict(sample.tobytes())
        windows = target.windows()
        assert prediction.class_index == model.decide(scores[None])[0]
        assert sum(window.cycles - OFFSET for window in windows) == prediction.cycles
        assert np.array_equal(link.scores(), scores)


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("name", boards.names())
def test_every_board_predicts_and_counts(name: str, streaming: bool) -> None:
    model = make("protonn", "int8", features=200, classes=10, rows=8, prototypes=12, density=0.3)
    with running(build(model, boards.load(name), streaming=streaming)) as (target, link):
        check_samples(model, target, link, count=10)
        facts = target.facts()
        assert facts.overruns == 0
        assert facts.slept is not None and facts.slept > 0
        assert link.resent == link.damaged == link.restarts == 0


@pytest.mark.parametrize(("family", "numbers"), KINDS)
def test_every_kernel_leaves_the_stack_its_room(family: str, numbers: str) -> None:
    model = make(family, numbers, features=100, classes=4, rows=6, prototypes=9, density=0.3)
    with running(build(model, boards.load("mega2560"))) as (target, link):
        check_samples(model, target, link, count=3)
        peak = target.facts().stack_peak
        assert peak is not None and 0 < peak + INTERRUPT_STACK <= STACK_RESERVE


def test_vector_far_larger_than_ram() -> None:
    model = make("linear", "int8", features=8192, classes=2)
    firmware = build(model, boards.load("uno"))
    assert firmware.streaming
    with running(firmware) as (target, link):
        check_samples(model, target, link, count=3)
        assert target.facts().overruns == 0


def ends_near_overflow(features: int) -> set[int]:
    """Where in the timer's period windows ended that had an overflow near their end, all counted right."""
    model = make("linear", "int8", features=features, classes=2)
    with running(build(model, boards.load("uno"))) as (target, link):
        link.predict(bytes(features))
        one, two = link.repeat(1).cycles, link.repeat(2).cycles
        target.windows()
        step, fixed = two - one, 2 * one - two
        ends = set()
        for count in range(TIMER_PERIOD // step // 2, 20_000):
            cycles = fixed + step * count
            overflows = round(cycles / (TIMER_PERIOD - OVERFLOW_CYCLES))
            # From the last overflow to the end, if its own interrupt has not yet run.
            since = cycles + OVERFLOW_CYCLES * (overflows - 1) - TIMER_PERIOD * overflows
            if -4 <= since < 8:
                counted = link.repeat(count).cycles
                (window,) = target.windows()
                assert window.cycles - OFFSET == counted
                ends.add(counted % TIMER_PERIOD)
        return ends


def test_windows_that_end_as_the_timer_overflows() -> None:
    """An overflow just before the end may still wait for its interrupt; it is counted once all the same."""
    before, waiting, after = range(TIMER_PERIOD - 4, TIMER_PERIOD), range(1), range(OVERFLOW_CYCLES, 40)
    ends: set[int] = set()
    for features in range(4, 12):  # each has another number of cycles, and so meets other moments
        ends |= ends_near_overflow(features)
        if all(ends & set(moments) for moments in (before, waiting, after)):
            return
    pytest.fail(f"no window ended in the moment to be tested, only at {sorted(ends)}")


def test_receiving_leaves_time_to_spare() -> None:
    """Bytes back to back at 1 Mbaud: the CPU sleeps before the next one comes."""
    model = make("linear", "int8", features=64, classes=2)
    for name in ("uno", "mega2560"):
        with SimavrTarget(boards.load(name), build(model, boards.load(name)).elf) as target:
            port = target.open()
            Link(port).wait_ready(1.0)
            before = target.facts()
            port.write(bytes([FLAG]) + b"x" * 100)
            port.timeout = 0.01
            port.read(1)
            after = target.facts()
            assert before.cycles and before.slept is not None and after.cycles and after.slept is not None
            awake = (after.cycles - before.cycles) - (after.slept - before.slept)
            assert awake / 101 < 0.8 * BYTE_CYCLES
            assert after.overruns == 0


def test_sleeping_board_is_woken_by_bytes_only() -> None:
    """No timer runs on after a window: it would wake the CPU 244 times a second and spoil idle current."""
    model = make("linear", "int8", features=4, classes=2)
    with SimavrTarget(boards.load("uno"), build(model, boards.load("uno")).elf) as target:
        port = target.open()
        link = Link(port)
        link.wait_ready(1.0)
        link.predict(bytes(4))
        port.timeout = 0.001  # the reply's last byte leaves the UART
        port.read(1)
        before = target.facts()
        port.timeout = 1.0
        assert port.read(1) == b""
        after = target.facts()
        assert before.cycles and before.slept is not None and after.cycles and after.slept is not None
        idle = after.cycles - before.cycles
        assert idle > 0.9 * 16_000_000
        assert after.slept - before.slept == pytest.approx(idle, abs=2)


def test_stray_bytes_while_computing_do_no_harm() -> None:
    """The host is silent while the device works; if it is not, it is not heard and the answer is right."""
    model = make("protonn", "int8", features=64, classes=3)
    sample = model.encode(np.random.default_rng(1).normal(size=(1, 64)) * 50)
    request = FEATURES.struct.pack(0) + sample.tobytes()
    with SimavrTarget(boards.load("uno"), build(model, boards.load("uno")).elf) as target:
        port = target.open()
        port.timeout = 0.01
        decoder = Decoder()

        def replies(wire: bytes) -> list[Frame]:
            port.write(wire)
            return decoder.feed(port.read(1000))

        assert [frame.kind for frame in replies(b"")] == [Kind.READY]
        replies(encode(Kind.HELLO, 0))
        (quiet,) = replies(encode(Kind.PREDICT, 1, request))
        target.windows()
        (loud,) = replies(encode(Kind.PREDICT, 2, request) + encode(Kind.PING, 3, b"not now"))
        (window,) = target.windows()
        (class_quiet, cycles_quiet), (class_loud, cycles_loud) = (
            PREDICT_REPLY.struct.unpack(frame.payload) for frame in (quiet, loud)
        )
        assert class_loud == class_quiet
        assert cycles_loud == window.cycles - OFFSET
        # Dropping a byte is not free, and the count does not hide it.
        assert cycles_loud > cycles_quiet
        assert replies(encode(Kind.PING, 3, b"now")) == [Frame(Kind.PING_REPLY, 3, b"now")]
