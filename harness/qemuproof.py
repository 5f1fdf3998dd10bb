"""Proof that QEMU and its plugin on this machine count as they should, for `kilobench doctor`."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Sequence

import numpy as np

from harness import boards
from harness.boards import Board
from harness.build import build
from harness.errors import KilobenchError
from harness.link.client import Link
from harness.selftest import Check
from harness.targets import qemutest
from harness.targets.base import Window
from harness.targets.qemu import QemuTarget
from harness.targets.qemumachine import EMULATORS
from harness.toolchain import TOOLCHAINS
from models.device import Array, InputScale
from models.linear_device import LinearInt8

_REMEDY = "Install QEMU 7.2, as Debian 12 has it; other versions may have other plugin interfaces."
_PATIENCE = 5.0
"""Seconds for a self-test that takes milliseconds."""
_SAMPLES = 8


def simulated() -> list[Board]:
    """The boards of boards/ that QEMU simulates."""
    known = [boards.load(name) for name in boards.names()]
    return [board for board in known if board.simulator.kind == "qemu"]


def lacks(board: Board) -> list[str]:
    """The programs that this machine lacks to build for the board and simulate it with QEMU."""
    if board.simulator.kind != "qemu":
        return []
    programs = (TOOLCHAINS[board.family].program, EMULATORS[board.family].program)
    return [program for program in programs if shutil.which(program) is None]


def checks(board: Board) -> Iterator[Check]:
    """The counts of known instructions, then a firmware that is built, started and asked. SetupError if a
    program is missing."""
    yield _counts(board)
    yield _firmware(board)


def _counts(board: Board) -> Check:
    forms = qemutest.forms(board)
    with QemuTarget(board, qemutest.image(board)) as target:
        target.open()
        windows: list[Window] = []
        deadline = time.monotonic() + _PATIENCE
        while len(windows) < len(forms) and time.monotonic() < deadline:
            windows += target.windows()
            time.sleep(0.005)
    if len(windows) != len(forms):
        detail = f"{len(windows)} windows instead of {len(forms)}"
        return Check(f"{board.name} counts", False, detail, _REMEDY)
    wrong = list(_differences(forms, windows, timed=bool(board.simulator.timings)))
    what = "cycles" if board.simulator.timings else "instructions"
    detail = ", ".join(wrong) or f"{len(forms)} forms take the {what} they should"
    return Check(f"{board.name} counts", not wrong, detail, _REMEDY if wrong else "")


def _differences(forms: Sequence[qemutest.Form], windows: Sequence[Window], *, timed: bool) -> Iterator[str]:
    for form, window in zip(forms, windows, strict=True):
        executed = qemutest.REPEATS * form.instructions + qemutest.CLOSING_INSTRUCTIONS
        cycles = qemutest.REPEATS * form.cycles + qemutest.CLOSING_CYCLES
        if window.instructions != executed:
            yield f"{form.code!r} {window.instructions} instructions instead of {executed}"
        elif timed and window.cycles != cycles:
            yield f"{form.code!r} {window.cycles} cycles instead of {cycles}"


def _firmware(board: Board) -> Check:
    """Twice from the beginning: the same answers as on the host, and the same counts."""
    name = f"{board.name} firmware"
    rng = np.random.default_rng(0)
    weights, bias = rng.integers(-127, 128, size=(3, 40)), np.arange(3)
    scale = InputScale(np.array(0.0), np.array(1.0), "int8")
    model = LinearInt8.from_integers(weights, bias, scale, range(3))
    encoded = rng.integers(-127, 128, size=(_SAMPLES, 40)).astype(np.int8)
    expected = model.decide(model.scores(encoded)).tolist()
    try:
        with QemuTarget(board, build(model, board).elf) as target:
            link = Link(target.open())
            first = _ask(link, encoded)
            target.reset()
            second = _ask(link, encoded)
    except KilobenchError as error:
        return Check(name, False, error.problem, error.remedy)
    if [answer for answer, _ in first] != expected:
        return Check(name, False, "its answers differ from the host's", _REMEDY)
    if first != second:
        return Check(name, False, "its counts differ from one start to the next", _REMEDY)
    detail = f"{_SAMPLES} answers are the host's; their counts are the same after a restart"
    return Check(name, True, detail)


def _ask(link: Link, encoded: Array) -> list[tuple[int, int]]:
    link.wait_ready(_PATIENCE)
    link.hello()
    answers = [link.predict(sample.tobytes()) for sample in encoded]
    return [(answer.class_index, answer.cycles) for answer in answers]
