"""The simulated board as a target: its port, its clock, its measurements and its faults."""

from __future__ import annotations

import random
import time
from dataclasses import replace
from pathlib import Path

import pytest
import serial

from harness import boards, selftest
from harness.boards import Board, Simulator
from harness.errors import SimulatorError
from harness.targets import selftest as image
from harness.targets.base import CYCLE_EXACT, Window
from harness.targets.checks import check_target
from harness.targets.simavr import SimavrTarget
from harness.targets.simport.protocol_simavr import CREEP
from tests.harness.avrboards import FRAME, UNO, build, needs_simulator, runner_pid, running

pytestmark = needs_simulator

CHIPS = [("atmega328p", "0"), ("atmega2560", "0"), ("atmega32u4", "1")]


def board_of(mcu: str, uart: str) -> Board:
    return replace(UNO, mcu=mcu, simulator=Simulator("simavr", mcu, uart, "B0"))


# Conformance, and what the simulator proves of itself


@pytest.mark.parametrize(("mcu", "uart"), CHIPS)
def test_every_chip_keeps_a_targets_promises(mcu: str, uart: str) -> None:
    check_target(lambda: SimavrTarget(board_of(mcu, uart), image.image(mcu, uart)))


@pytest.mark.parametrize(("mcu", "uart"), CHIPS)
def test_every_chip_passes_the_self_test(mcu: str, uart: str) -> None:
    results = selftest.examine(board_of(mcu, uart))
    assert len(results) == 4
    assert [check for check in results if not check.ok] == []


def test_the_self_test_notices_a_wrong_count(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = replace(image.FORMS[0], cycles=2)
    monkeypatch.setattr(image, "FORMS", (wrong, *image.FORMS[1:]))
    instructions = selftest.examine(board_of(*CHIPS[0]))[0]
    assert not instructions.ok
    assert "'nop' 11 instead of 21" in instructions.detail


def test_proof_covers_every_simulated_board() -> None:
    text = str(selftest.prove())
    for simulator in (boards.load(name).simulator for name in boards.names()):
        assert simulator.kind != "simavr" or simulator.mcu in text


def test_facts() -> None:
    with running(build("sleepy.c")) as (target, port):
        port.read(1)
        facts = target.facts()
        assert (facts.target, facts.timing, facts.overruns) == ("simavr", CYCLE_EXACT, 0)
        assert facts.version.startswith("simavr 1.")
        assert facts.cycles == round(port.now() * UNO.clock_hz)


# Time


def test_time_passes_only_while_the_host_waits() -> None:
    with running(build("sleepy.c")) as (_, port):
        port.read(1)
        before = port.now()
        time.sleep(0.02)
        assert port.now() == before
        port.timeout = 0.25
        assert port.read(1) == b""
        assert port.now() == pytest.approx(before + 0.25, abs=1e-6)


def test_an_idle_board_burns_no_cpu_and_an_idle_hour_takes_no_time() -> None:
    with running(build("sleepy.c")) as (target, port):
        port.read(1)
        stat = Path(f"/proc/{runner_pid(target)}/stat")
        used = stat.read_text().split()[13:15]
        begin = time.perf_counter()
        port.timeout = 3600.0
        slept = target.facts().slept or 0
        assert port.read(1) == b""
        assert (target.facts().slept or 0) - slept == pytest.approx(3600 * UNO.clock_hz, rel=1e-9)
        time.sleep(0.1)
        assert time.perf_counter() - begin < 2.0
        assert stat.read_text().split()[13:15] == used


def converse(pause: float) -> tuple[list[Window], int | None, bytes]:
    """A talk with a host that is sometimes slow; the device must not notice."""
    lazy = random.Random(1)
    heard = b""
    with running(build("sleepy.c")) as (target, port):
        heard += port.read(1)
        for value in range(20):
            port.write(bytes([value]))
            port.flush()
            time.sleep(pause * lazy.random())
            heard += port.read(1)
        return target.windows(), target.facts().cycles, heard


def test_runs_are_the_same_to_the_cycle_however_slow_the_host_is() -> None:
    assert converse(0.0) == converse(0.005) == converse(0.0)


# Windows


def test_windows_tell_time_and_sleep() -> None:
    """sleepy.c sleeps about 100 timer clocks inside each window. Awake are waking and entry 8, the vector's
    JMP 3, RETI 4, SLEEP 1, six OUT 6 and two STS 4; a compiler may load constants in between."""
    with running(build("sleepy.c")) as (target, port):
        port.read(1)
        port.write(b"x")
        port.read(1)
        (window,) = target.windows()
        assert 95 <= window.slept <= 101
        assert 26 <= window.cycles - window.slept <= 36
        assert target.windows() == []


def test_only_a_driven_pin_makes_windows_and_sleep_without_se_is_a_nop() -> None:
    """pins.S: SBI 2, NOP 1, OUT 1 before the pin falls; then OUT 1 and SLEEP 1."""
    with running(build("pins.S")) as (target, port):
        port.read(1)
        assert [(w.cycles, w.slept) for w in target.windows()] == [(4, 0), (2, 0)]


# The stack


@pytest.mark.parametrize(("step", "peak"), [(1, 5), (2, 302), (3, 256), (4, 256)])
def test_stack_peak_is_exact(step: int, peak: int) -> None:
    with running(build("stack.S", f"STEP={step}")) as (target, port):
        assert port.read(1) == b"S"
        port.read(1)
        assert target.facts().stack_peak == peak
        target.reset()
        assert target.facts().stack_peak == peak, "a reset is no movement of the stack"


# The port


def test_reading_more_than_comes_returns_what_came_in_time() -> None:
    with running(build("send.S"), timeout=0.001) as (_, port):
        assert port.read(10) == b"abc"
        assert port.now() == pytest.approx(0.001, abs=1e-6)


def test_an_answer_that_has_begun_comes_whole() -> None:
    with running(build("send.S")) as (_, port):
        assert port.read(1) == b"a"
        when = port.now()
        assert port.in_waiting == 2
        assert port.read(2) == b"bc"
        assert port.now() == when


def test_a_device_that_never_stops_sending_does_not_keep_its_host_waiting() -> None:
    with running(build("babble.c"), timeout=1.0) as (_, port):
        assert port.read(2) == b"UU"
        assert port.now() < 1000 * FRAME / UNO.clock_hz


def test_loops_around_in_waiting_end() -> None:
    with running(build("sleepy.c")) as (_, port):
        while not port.in_waiting:
            pass
        assert port.read(port.in_waiting) == b"S"
        before = port.now()
        assert port.in_waiting == 0
        assert port.now() == pytest.approx(before + CREEP, abs=1e-6)
        port.timeout = 0
        assert port.read(1) == b""
        assert port.now() == pytest.approx(before + 2 * CREEP, abs=1e-6)


def test_out_waiting_and_dropping_what_is_unsent() -> None:
    with running(build("sleepy.c")) as (_, port):
        port.read(1)
        port.write(b"a" * 100)
        assert port.out_waiting == 100
        port.timeout = 10 * FRAME / UNO.clock_hz
        port.read(100)
        assert port.out_waiting == 90
        port.reset_output_buffer()
        assert port.out_waiting == 0
        port.timeout = 0.01
        port.read(100)
        port.write(b"A")
        assert port.read(1) == b"B"


def test_reset_input_buffer_forgets_what_came() -> None:
    with running(build("send.S")) as (_, port):
        assert port.in_waiting
        port.reset_input_buffer()
        assert port.in_waiting == 0


def test_flush_lets_the_device_work_and_read_collects() -> None:
    with running(build("sleepy.c")) as (target, port):
        port.read(1)
        port.write(b"x")
        port.flush()
        assert len(target.windows()) == 1, "the device has worked before anybody read"
        assert port.read(1) == b"y"


def test_dtr_and_opening_restart_the_firmware_and_closing_does_not_end_it() -> None:
    with running(build("sleepy.c")) as (target, port):
        assert port.read(1) == b"S"
        cycles = target.facts().cycles or 0
        port.dtr = False
        assert port.read(1) == b""
        port.dtr = True
        assert port.read(1) == b"S"
        port.close()
        pid = runner_pid(target)
        again = target.open()
        again.timeout = 0.1
        assert again.read(1) == b"S"
        assert runner_pid(target) == pid
        assert (target.facts().cycles or 0) > cycles, "the clock goes on"


def test_a_second_connection_reaches_the_same_board() -> None:
    with running(build("sleepy.c")) as (_, port):
        other = serial.serial_for_url(str(port.port), baudrate=UNO.baud, timeout=0.1, do_not_open=True)
        other.dtr = False
        other.open()
        assert other.read(1) == b"S"
        other.close()


def test_a_read_without_timeout_that_would_wait_for_ever_says_so() -> None:
    with running(build("sleepy.c")) as (_, port):
        port.timeout = None
        assert port.read(1) == b"S"
        with pytest.raises(SimulatorError, match="nothing but the host can wake it"):
            port.read(1)


def test_closed_ports_and_missing_boards_are_errors() -> None:
    with running(build("sleepy.c")) as (target, port):
        port.close()
        for act in (port.read, port.flush, port.now, lambda: port.write(b"a"), lambda: port.in_waiting):
            with pytest.raises(serial.PortNotOpenError):
                act()
        target.close()
        with pytest.raises(SimulatorError, match="not running"):
            target.windows()
    with pytest.raises(SimulatorError, match="No simulated board listens"):
        serial.serial_for_url("simavr:///nowhere/port")


# Faults


@pytest.mark.parametrize(
    ("case", "what"),
    [
        (1, r"\(culprit\): illegal instruction 0001"),
        (2, r"the program left the flash"),
        (3, r"\(culprit\+0x6\): sleep with interrupts off"),
        (4, r"\(culprit\+0x2\): an endless loop with interrupts off"),
        (5, r"\(culprit\+0x6\): sleep mode 2"),
        (6, r"\(culprit\): an access beyond the end of RAM"),
    ],
)
def test_a_cpu_that_cannot_go_on_is_an_error_with_its_place(case: int, what: str) -> None:
    with running(build("fault.S", f"CASE={case}")) as (target, port):
        assert port.read(1) == b"F"
        with pytest.raises(SimulatorError, match=what):
            port.read(1)
        with pytest.raises(SimulatorError, match=what):
            port.read(1)
        target.reset()
        assert port.read(1) == b"F", "the reset button helps"


@pytest.mark.parametrize(
    ("simulator", "complaint"),
    [
        (Simulator("simavr", "atmega9999", "0", "B0"), "does not know the chip atmega9999"),
        (Simulator("simavr", "atmega328p", "7", "B0"), "no UART named 7"),
        (Simulator("simavr", "atmega328p", "0", "Z9"), "no pin named Z9"),
    ],
)
def test_boards_that_cannot_be_are_refused(simulator: Simulator, complaint: str) -> None:
    target = SimavrTarget(replace(UNO, simulator=simulator), build("sleepy.c"))
    with pytest.raises(SimulatorError, match=complaint):
        target.open()
    target.close()


def test_images_that_cannot_be_are_refused(tmp_path: Path) -> None:
    broken = tmp_path / "broken.elf"
    for content in (b"", b"no ELF at all", build("sleepy.c").read_bytes()[:200]):
        broken.write_bytes(content)
        with pytest.raises(SimulatorError):
            SimavrTarget(UNO, broken).open()
    with pytest.raises(SimulatorError, match=r"missing\.elf"):
        SimavrTarget(UNO, tmp_path / "missing.elf").open()
    with pytest.raises(SimulatorError, match="not built for AVR"):
        SimavrTarget(UNO, Path("/bin/true")).open()
