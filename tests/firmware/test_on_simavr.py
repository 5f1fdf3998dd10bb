"""The firmware on simulated boards: the device's cycle count is the trigger window, and no byte is lost."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from harness import boards, toolchain
from harness.build import STACK_RESERVE, Firmware, build
from harness.errors import SetupError, SimulatorError
from harness.link.client import Link
from harness.link.frames import Decoder, Frame, encode
from harness.link.messages import FEATURES, FLAG, PREDICT_REPLY, Kind
from harness.session import Checks
from harness.targets import runner_build
from harness.targets.simavr import SimavrTarget
from models.device import DeviceModel
from models.export import c_files
from tests.models.device_models import KINDS, make

OFFSET = Checks(scores=0).offset_cycles
"""What sessions believe the trigger window to have more than the device's own count."""
BYTE_CYCLES = 160
TIMER_PERIOD = 65_536
OVERFLOW_CYCLES = 24
"""What the timer's interrupt takes of a window."""
INTERRUPT_STACK = 4
"""What the timer's interrupt adds to a kernel's stack; no window here is long enough for one."""


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
@pytest.mark.parametrize("name", [n for n in boards.names() if boards.load(n).simulator.kind == "simavr"])
def test_every_board_predicts_and_counts(name: str, streaming: bool) -> None:
    model = make("protonn", "int8", features=300, classes=10, rows=8, prototypes=12, density=0.3)
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


def test_nothing_on_the_line_makes_the_stack_deeper() -> None:
    """Or the stack of a run would depend on its line: errors are answered in the room that a reply needs."""
    model = make("linear", "int8", features=4, classes=2)
    damaged = bytes([FLAG]) + b"damaged" + bytes([FLAG])
    wrong = [
        *(damaged, damaged + b"noise" * 20, damaged * 30),
        *(encode(Kind.PING, 99), encode(Kind.HELLO, 0), encode(0x30, 1), encode(Kind.PING, 2, bytes(300))),
        *(
            encode(Kind.FEATURES, 3, b"x"),
            encode(Kind.FEATURES, 4, b"far off"),
            encode(Kind.REPEAT, 5, b"xx"),
        ),
    ]
    with running(build(model, boards.load("uno"))) as (target, link):
        port = target.open()
        port.timeout = 0.01
        at_start = target.facts().stack_peak
        for wire in wrong:
            port.write(wire)
            assert port.read(1000)
            assert target.facts().stack_peak == at_start, wire
        link.predict(bytes(4))
        quiet = target.facts().stack_peak
        port.write(encode(Kind.HELLO, 0))
        assert port.read(1000)
        for seq in range(1, 40):  # the noise comes later each time, in computing and in answering
            port.write(encode(Kind.PREDICT, seq, bytes(6)) + bytes(seq) + damaged * 4)
            assert Kind.PREDICT_REPLY in [frame.kind for frame in Decoder().feed(port.read(1000))]
        assert target.facts().stack_peak == quiet


def test_vector_far_larger_than_ram() -> None:
    model = make("linear", "int8", features=8192, classes=2)
    firmware = build(model, boards.load("uno"))
    assert firmware.streaming
    with running(firmware) as (target, link):
        check_samples(model, target, link, count=3)
        assert target.facts().overruns == 0


def test_windows_that_end_as_the_timer_overflows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every cycle around an overflow: also where it waits for its interrupt, it is counted, and once."""
    board = boards.load("uno")
    elf = build_delays(tmp_path, monkeypatch)
    with SimavrTarget(board, elf) as target:
        link = Link(target.open())
        link.wait_ready(1.0)
        counted = []
        for skipped in range(256):
            counted.append(link.predict(bytes([skipped])).cycles)
            (window,) = target.windows()
            assert window.cycles - OFFSET == counted[-1]
    # One cycle less each time, and the interrupt's own when it no longer comes before the end.
    differences = [longer - shorter for longer, shorter in pairwise(counted)]
    assert sorted(differences) == [1] * 254 + [1 + OVERFLOW_CYCLES]
    assert TIMER_PERIOD in counted, "the overflow came and its interrupt did not"


def build_delays(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The firmware of the Uno around delay_kernel.c."""
    project, workspace, model = folder / "firmware", folder / "workspace", folder / "model"
    shutil.copytree(toolchain.project(), project, ignore=shutil.ignore_patterns(".pio", "__pycache__"))
    for kernel in (project / "lib" / "kernels").glob("*.c"):
        kernel.unlink()
    shutil.copy(Path(__file__).with_name("delay_kernel.c"), project / "lib" / "kernels")
    model.mkdir()
    for name, text in c_files(make("linear", "int8", features=1, classes=2)).items():
        (model / name).write_text(text, encoding="utf8")
    monkeypatch.setattr(toolchain, "project", lambda: project)
    settings = {"KILOBENCH_MODEL": str(model)}
    done = toolchain.platformio("--environment", "uno", workspace=workspace, extra=settings)
    assert done.returncode == 0, done.stderr
    return workspace / "build" / "uno" / "firmware.elf"


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
        # The receiver is deaf while the model computes, so that what comes then cannot lengthen the window.
        assert cycles_loud == cycles_quiet
        assert replies(encode(Kind.PING, 3, b"now")) == [Frame(Kind.PING_REPLY, 3, b"now")]
