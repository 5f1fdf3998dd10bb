"""Boards that QEMU simulates: a target's contract, counts that never vary, errors that say what to do."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import serial
from serial.serialutil import SerialException

from harness import boards, doctor, qemuproof
from harness.errors import SetupError, SimulatorError
from harness.faulty import Faults, FaultyPort
from harness.link.client import Link
from harness.link.frames import Decoder, encode
from harness.link.messages import Kind
from harness.targets import qemutest
from harness.targets.base import INSTRUCTIONS, MODELLED, Window
from harness.targets.checks import check_target
from harness.targets.qemu import QemuTarget
from harness.targets.qemucounts import Counts
from harness.targets.qemumachine import PLUGIN
from harness.targets.simport import protocol_qemu
from tests.firmware.boardfirmware import example, linked, parameters

TRAP = Path(__file__).resolve().parent.parent / "firmware" / "qemuboard" / "trap.c"
ONE = parameters(("microbit",))
VECTOR = np.arange(-10, 10, dtype=np.int8).tobytes()


@contextmanager
def running(name: str) -> Iterator[tuple[QemuTarget, Link]]:
    """A board that has said READY and was greeted."""
    with QemuTarget(boards.load(name), example(name)) as target:
        link = Link(target.open())
        assert link.wait_ready(5.0)
        link.hello()
        yield target, link


def pid_of(target: QemuTarget) -> int:
    machine = target._machine
    assert machine is not None and machine.pid is not None
    return machine.pid


@pytest.mark.parametrize("name", parameters())
def test_keeps_the_contract_of_a_target(name: str) -> None:
    check_target(lambda: QemuTarget(boards.load(name), example(name)))


@pytest.mark.parametrize("name", parameters())
def test_counts_are_the_same_in_every_run(name: str) -> None:
    runs: list[list[tuple[int, int | None]]] = []
    for _ in range(2):
        with running(name) as (target, link):
            cycles = [link.predict(VECTOR).cycles for _ in range(3)]
            cycles.append(link.repeat(5).cycles)
            windows = target.windows()
        assert cycles == [window.cycles for window in windows]
        runs.append([(window.cycles, window.instructions) for window in windows])
    assert runs[0] == runs[1]
    (cycles_of_one, instructions), *_, (cycles_of_five, _) = runs[0]
    assert instructions is not None and cycles_of_one >= instructions > 100
    assert cycles_of_five == pytest.approx(5 * cycles_of_one, rel=0.1)


@pytest.mark.parametrize("name", parameters())
def test_facts(name: str) -> None:
    board = boards.load(name)
    with running(name) as (target, link):
        link.predict(VECTOR)
        facts = target.facts()
    assert facts.target == "qemu" and facts.version.startswith("QEMU ")
    assert facts.timing == (MODELLED if board.simulator.timings else INSTRUCTIONS)
    assert facts.stack_peak is not None and 40 < facts.stack_peak < 512
    assert facts.cpu_seconds is not None and facts.cpu_seconds >= 0


@pytest.mark.parametrize("name", parameters(("microbit", "hifive1b")))
def test_instructions_are_those_that_qemu_counts_itself(name: str) -> None:
    """The device's own timer shows QEMU's time, 64 ns an instruction: 1.024 ticks of 16 MHz on the micro:bit,
    and 64 ticks of the RISC-V's counter. It is read a few instructions off the edges of the pin."""
    board, ticks = boards.load(name), {"microbit": 1.024, "hifive1b": 64}[name]
    with QemuTarget(board, example(name)) as target:
        link = Link(target.open())
        link._counted = None
        link.wait_ready(5.0)
        link.hello()
        shown = link.predict(VECTOR).cycles
        (window,) = target.windows()
    assert window.instructions is not None
    assert shown / ticks == pytest.approx(window.instructions, abs=6)


@pytest.mark.parametrize("name", ONE)
def test_nothing_is_lost_that_is_said_too_early(name: str) -> None:
    """Bytes that come while the receiver is still off wait on the line."""
    for _ in range(5):
        with QemuTarget(boards.load(name), example(name)) as target:
            port = target.open()
            port.write(encode(Kind.HELLO, 0, b""))
            port.timeout = 20.0
            decoder = Decoder()
            heard: list[int] = []
            while len(heard) < 2:
                data = port.read(1)
                assert data, f"silence after {heard}"
                heard += [frame.kind for frame in decoder.feed(data)]
            assert heard == [Kind.READY, Kind.HELLO | 0x80]


@pytest.mark.parametrize("name", ONE)
def test_reset_in_a_window_and_a_port_opened_again(name: str) -> None:
    with running(name) as (target, link):
        link.predict(VECTOR)
        before = target.facts().cpu_seconds or 0
        target.reset()
        assert link.wait_ready(5.0)
        link.hello()
        link.predict(VECTOR)
        assert len(target.windows()) == 2
        assert (target.facts().cpu_seconds or 0) >= before
        port = target.open()
        port.close()
        with pytest.raises(SerialException):
            port.read(1)
        again = Link(target.open())
        assert again.wait_ready(5.0), "opening the port starts the firmware anew"
        target.reset()
        assert again.wait_ready(5.0)


@pytest.mark.parametrize("name", ONE)
def test_a_faulty_line_changes_no_count(name: str) -> None:
    with running(name) as (target, link):
        clean = link.predict(VECTOR)
        line = FaultyPort()
        line.attach(target.open(), Faults.parse("flip=0.003&drop=0.002&seed=3"), 0)
        hit = Link(line)
        hit.hello()
        assert [hit.predict(VECTOR) for _ in range(20)] == [clean] * 20
        assert hit.resent > 0


@pytest.mark.parametrize("name", parameters())
def test_a_fault_restarts_the_firmware_and_ends_its_window(name: str) -> None:
    with QemuTarget(boards.load(name), linked([TRAP], name)) as target:
        port = target.open()
        port.timeout = 20.0
        assert port.read(4) == b"AAAA"
        assert target.windows() == []


@pytest.mark.parametrize("name", ONE)
def test_a_simulator_that_dies_is_an_error(name: str) -> None:
    with running(name) as (target, link):
        os.kill(pid_of(target), signal.SIGKILL)
        with pytest.raises(SimulatorError, match=r"micro:bit v1 has ended: it ended with exit code -9"):
            link.predict(VECTOR)


@pytest.mark.parametrize("name", ONE)
def test_what_qemu_says_is_told(name: str) -> None:
    board = boards.load(name)
    wrong = replace(board, simulator=replace(board.simulator, mcu="microbyte"))
    with (
        QemuTarget(wrong, example(name)) as target,
        pytest.raises(SimulatorError, match="unsupported machine"),
    ):
        target.open().read(1)


@pytest.mark.parametrize("name", ONE)
def test_a_core_without_timings_is_refused(name: str) -> None:
    board = boards.load(name)
    wrong = replace(board, simulator=replace(board.simulator, timings="cortex-m9"))
    with QemuTarget(wrong, example(name)) as target, pytest.raises(SimulatorError, match="cortex-m9"):
        target.open().read(1)


@pytest.mark.parametrize("name", ONE)
def test_a_pin_that_is_never_set_is_an_error(name: str) -> None:
    board = boards.load(name)
    deaf = replace(board, simulator=replace(board.simulator, trigger="0x40000 0x40004"))
    with QemuTarget(deaf, example(name)) as target:
        link = Link(target.open())
        link.wait_ready(5.0)
        with pytest.raises(SimulatorError, match="0 windows of the trigger pin were seen where 1 must"):
            link.predict(VECTOR)


@pytest.mark.parametrize("name", ONE)
def test_images_that_are_not_for_the_board(name: str, tmp_path: Path) -> None:
    text = tmp_path / "firmware.elf"
    text.write_text("no image")
    with pytest.raises(SimulatorError, match="is no ELF file"):
        QemuTarget(boards.load(name), text).open()
    with pytest.raises(SimulatorError, match="was not built for the SiFive HiFive1"):
        QemuTarget(boards.load("hifive1b"), example(name)).open()


def test_a_missing_qemu_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for name, package in (("microbit", "qemu-system-arm"), ("hifive1b", "qemu-system-misc")):
        with pytest.raises(SetupError, match=f"sudo apt install {package}"):
            QemuTarget(boards.load(name), tmp_path / "firmware.elf").open()
    checks = list(doctor.qemu())
    assert [check.status for check in checks] == ["missing"] * len(qemuproof.simulated())
    assert all("apt install" in check.remedy and not check.hurts for check in checks)


def test_a_family_that_qemu_has_not(tmp_path: Path) -> None:
    uno = boards.load("uno")
    with pytest.raises(SimulatorError, match="no processor for boards of the family 'avr'"):
        QemuTarget(uno, tmp_path / "firmware.elf").open()


def test_a_port_without_a_board() -> None:
    with pytest.raises(SerialException, match="no simulated board"):
        serial.serial_for_url(f"{protocol_qemu.SCHEME}nobody")


def test_windows_that_nobody_asked_for_in_time_are_missed_aloud() -> None:
    counts = Counts()
    try:
        counts._memory[16:24] = (20_000).to_bytes(8, "little")
        with pytest.raises(SimulatorError, match="20000 windows have passed"):
            counts.windows()
        assert counts.windows() == []
        assert counts.last(2) == 0
    finally:
        counts.close()


def test_the_plugin_compiles_without_a_warning(tmp_path: Path) -> None:
    command = PLUGIN.command("gcc", tmp_path / "plugin.so")
    subprocess.run([*command, "-Werror", "-Wshadow", "-Wstrict-prototypes"], check=True)


@pytest.mark.parametrize("name", parameters())
def test_known_instructions_are_counted_right(name: str) -> None:
    proof = next(qemuproof.checks(boards.load(name)))
    assert proof.ok, proof.detail


def test_the_self_test_notices_a_wrong_count() -> None:
    form = qemutest.Form("nop", cycles=1)
    right = Window(start=0, cycles=12, slept=0, instructions=11)
    slow, many = right._replace(cycles=13), right._replace(instructions=12)
    assert list(qemuproof._differences([form] * 3, [right, slow, many], timed=True)) == [
        "'nop' 13 cycles instead of 12",
        "'nop' 12 instructions instead of 11",
    ]
