"""Proof that the simulator on this machine counts as the chips do, for `kilobench doctor`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from harness import boards
from harness.boards import Board, Simulator
from harness.errors import SimulatorError
from harness.targets import runner_build, selftest
from harness.targets.base import Window
from harness.targets.simavr import SimavrTarget

_REMEDY = "Install the distribution's libsimavr-dev again, or another version of it."
_MESSAGE = bytes(range(256))
_FRAME_BITS = 10
_NOPS = 50
_UART_SLACK = 24
"""Cycles from a received byte to its echo: at most two rounds of the polling loop."""


@dataclass(frozen=True)
class Check:
    name: str
    ok: bool
    detail: str
    remedy: str = ""


@dataclass(frozen=True)
class Proof:
    """All checks passed; as text, what was proved."""

    checks: tuple[Check, ...]

    def __str__(self) -> str:
        chips = sorted({check.name.split()[0] for check in self.checks[1:]})
        skip = self.checks[0]
        return f"instructions, interrupts, sleep and UART of {', '.join(chips)}; {skip.name}: {skip.detail}"


def prove() -> Proof:
    """SimulatorError names the first check that fails."""
    results = checks()
    for check in results:
        if not check.ok:
            raise SimulatorError(
                f"The simulator fails its self-test: {check.name}: {check.detail}.", check.remedy
            )
    return Proof(tuple(results))


def checks() -> list[Check]:
    """The skip over ADIW, and the self-test image on every chip that a board of boards/ simulates."""
    results = [_skip()]
    chips: dict[tuple[str, str], Board] = {}
    for name in boards.names():
        board = boards.load(name)
        if board.simulator.kind == "simavr":
            chips.setdefault((board.simulator.mcu, board.simulator.uart), board)
    for board in chips.values():
        results += examine(board)
    return results


def examine(board: Board) -> list[Check]:
    """The self-test image on one board."""
    simulator = board.simulator
    image = selftest.image(simulator.mcu, simulator.uart)
    pins = Simulator(simulator.kind, simulator.mcu, simulator.uart, selftest.PIN)
    board = replace(board, simulator=pins, baud=board.clock_hz // selftest.CYCLES_PER_BIT)
    with SimavrTarget(board, image) as target:
        port = target.open()
        port.timeout = 0.1
        greeting = port.read(1)
        windows = target.windows()
        begin = _cycles(target)
        port.write(_MESSAGE)
        echo = port.read(len(_MESSAGE))
        took = _cycles(target) - begin
        lost = target.facts().overruns or 0
    if greeting != b"K" or len(windows) != len(selftest.FORMS) + 3:
        detail = f"{len(windows)} windows and {greeting!r} instead of {len(selftest.FORMS) + 3} and b'K'"
        return [Check(simulator.mcu, False, detail, _REMEDY)]
    return [*_timing(simulator.mcu, windows), _uart(board, echo, took, lost)]


def _timing(mcu: str, windows: Sequence[Window]) -> Iterator[Check]:
    """The windows in selftest.S's order."""
    long_counter = 1 if mcu == "atmega2560" else 0
    wrong = []
    for form, window in zip(selftest.FORMS, windows, strict=False):
        expected = 1 + selftest.REPEATS * (form.cycles + form.longer * long_counter)
        if window.cycles != expected:
            wrong.append(f"{form.code!r} {window.cycles} instead of {expected}")
    detail = ", ".join(wrong) or f"{len(selftest.FORMS)} forms take the data sheet's cycles"
    yield Check(f"{mcu} instructions", not wrong, detail, _REMEDY if wrong else "")

    entry = 4 + long_counter
    plain, interrupted, slept = windows[len(selftest.FORMS) :]
    cost = interrupted.cycles - plain.cycles
    ok = plain.cycles == 1 + 2 + _NOPS and cost == 2 * entry
    yield Check(f"{mcu} interrupts", ok, f"{cost} cycles for entry and return", "" if ok else _REMEDY)

    # OUT 1, STS 2, SEI 1, SLEEP 1; then waking, entering and RETI
    awake, expected = slept.cycles - slept.slept, 5 + 3 * entry
    ok = awake == expected and slept.slept > 0
    yield Check(
        f"{mcu} sleep", ok, f"{awake} cycles awake around {slept.slept} asleep", "" if ok else _REMEDY
    )


def _uart(board: Board, echo: bytes, took: int, lost: int) -> Check:
    frame = _FRAME_BITS * board.clock_hz // board.baud
    exact = (len(_MESSAGE) + 1) * frame
    right = echo == bytes(byte ^ 0xFF for byte in _MESSAGE)
    ok = right and not lost and exact <= took <= exact + _UART_SLACK
    words = "came back" if right else "did not come back"
    detail = f"{len(_MESSAGE)} bytes {words} in {took} cycles ({exact} on the line), {lost} overruns"
    return Check(f"{board.simulator.mcu} UART {board.simulator.uart}", ok, detail, "" if ok else _REMEDY)


def _skip() -> Check:
    """Not a failure where it is wrong: such images are found and refused."""
    right = runner_build.skips_correctly(runner_build.runner())
    wrong = "executed wrongly by this simavr; images that contain it are refused"
    return Check("skip over adiw", True, "executed as on the chip" if right else wrong)


def _cycles(target: SimavrTarget) -> int:
    return target.facts().cycles or 0
