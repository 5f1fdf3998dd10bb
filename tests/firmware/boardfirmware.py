"""The firmware of 32-bit boards in one call of the compiler: a fifth of the time that PlatformIO takes.

For tests that need dozens. What PlatformIO tells the compiler is read from an image that it has built, so
that both make the same code.
"""

from __future__ import annotations

import functools
import json
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from harness import boards, qemuproof, toolchain
from harness.boards import Board
from harness.build import build
from models.device import DeviceModel
from models.export import c_files
from tests.models.device_models import make

SHARED = {"nrf51": ("polled", "cortexm"), "stm32": ("polled", "cortexm"), "fe310": ("polled",)}
BOARDS = tuple(board.name for board in qemuproof.simulated())


def missing(name: str) -> str:
    return ", ".join(qemuproof.lacks(boards.load(name)))


def parameters(names: tuple[str, ...] = BOARDS) -> list[ParameterSet]:
    """The boards as a test's parameters, skipped where they cannot be simulated."""
    return [
        pytest.param(
            name,
            marks=pytest.mark.skipif(bool(missing(name)), reason=f"needs {missing(name)}"),
        )
        for name in names
    ]


@functools.cache
def example(name: str) -> Path:
    """A firmware that PlatformIO has built for the board."""
    return build(make("linear", "int8"), boards.load(name)).elf


def compiled(model: DeviceModel, name: str, *, streaming: bool = False) -> Path:
    """The firmware of a model."""
    root = toolchain.project()
    folder = Path(tempfile.mkdtemp(dir=_workshop().name))
    for file, text in c_files(model).items():
        (folder / file).write_text(text, encoding="utf8")
    sources = [path for part in ("src", "lib/kernels") for path in (root / part).glob("*.c")]
    return linked(sources, name, f"-I{folder}", f"-DSTREAMING={int(streaming)}")


def linked(sources: Sequence[Path], name: str, *options: str) -> Path:
    """A program with a main of its own, on the board's HAL."""
    board = boards.load(name)
    library = toolchain.project() / "lib"
    hal = [library / "hal" / part for part in (*SHARED[board.family], board.family)]
    includes = [*(library / part for part in ("link", "kernels", "hal")), *hal]
    ours = [*(library / "link").glob("*.c"), *(path for part in hal for path in part.glob("*.[cS]"))]
    elf = Path(tempfile.mkdtemp(dir=_workshop().name)) / "firmware.elf"
    compiler = toolchain.TOOLCHAINS[board.family].program
    command = [compiler, *_flags(board), *options, *(f"-I{path}" for path in includes)]
    subprocess.run([*command, *map(str, [*sources, *ours]), "-o", str(elf)], check=True)
    return elf


@functools.cache
def _workshop() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="kilobench-tests-")


@functools.cache
def _flags(board: Board) -> tuple[str, ...]:
    path = toolchain.project() / "platform" / "boards" / f"{board.environment}.json"
    told = json.loads(path.read_text(encoding="utf8"))["build"]
    chip = {"stm32f100rb": ["-DSTM32F1"], "stm32f405rg": ["-DSTM32F4"]}.get(board.mcu, [])
    return (
        *build(make("linear", "int8"), board).flags.split(),
        *chip,
        *(f"-DF_CPU={told['f_cpu']}", f'-DHAL_BOARD="{board.name}"', f"-DHAL_BAUD={told['baud']}"),
        f"-DHAL_TRIGGER_BIT={told['trigger'].lstrip('ABC')}",
        f"-DHAL_VECTOR_BYTES={told['vector_bytes']}",
        *("-nostartfiles", "-Wl,--gc-sections", "-T", str(toolchain.project() / "lib/hal/flat.ld")),
        f"-Wl,--defsym=FLASH_ORIGIN={told['flash_origin']}",
        f"-Wl,--defsym=RAM_ORIGIN={told['ram_origin']}",
        f"-Wl,--defsym=RAM_LENGTH={board.ram_bytes}",
    )
