"""Small firmwares on simulated boards, for the tests of the simulator."""

from __future__ import annotations

import functools
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from harness import boards
from harness.boards import Board, Simulator
from harness.targets import runner_build
from harness.targets.simavr import SimavrTarget
from harness.targets.simport.protocol_simavr import Serial

SOURCES = Path(__file__).resolve().parent.parent / "firmware" / "avrboard"
FRAME = 160
"""Cycles of a byte at 1 Mbaud from 16 MHz."""
UNO = replace(boards.load("uno"), simulator=Simulator("simavr", "atmega328p", "0", "B0"), baud=1_000_000)

needs_simulator = pytest.mark.skipif(
    shutil.which("avr-gcc") is None or not Path("/usr/include/simavr/sim_avr.h").exists(),
    reason="needs avr-gcc and libsimavr-dev",
)


@functools.cache
def _workshop() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="kilobench-tests-")


@functools.cache
def build(name: str, *definitions: str, mcu: str = "atmega328p", flags: tuple[str, ...] = ()) -> Path:
    """A firmware of tests/firmware/avrboard, linked; assembler programs bring no start-up code."""
    return link(SOURCES / name, *definitions, mcu=mcu, flags=flags)


def link(source: Path, *definitions: str, mcu: str = "atmega328p", flags: tuple[str, ...] = ()) -> Path:
    with tempfile.NamedTemporaryFile(suffix=".elf", dir=_workshop().name, delete=False) as file:
        elf = Path(file.name)
    bare = ["-nostartfiles"] if source.suffix == ".S" else ["-Os", "-std=c11", "-Wall", "-Werror"]
    command = ["avr-gcc", f"-mmcu={mcu}", *bare, *flags, *(f"-D{word}" for word in definitions)]
    subprocess.run([*command, "-o", str(elf), str(source)], check=True)
    return elf


def runner_pid(target: SimavrTarget) -> int:
    process = target._process
    assert process is not None
    return process.pid


@contextmanager
def running(elf: Path, board: Board = UNO, timeout: float = 0.1) -> Iterator[tuple[SimavrTarget, Serial]]:
    """A target with its port open."""
    with SimavrTarget(board, elf) as target:
        port = target.open()
        assert isinstance(port, Serial)
        port.timeout = timeout
        yield target, port


def program() -> Path:
    return runner_build.runner()
