"""Compiles avrboard, the simulator's process, when it is first needed."""

from __future__ import annotations

import functools
import subprocess
from pathlib import Path

from harness.errors import SetupError
from harness.targets.compiled import Program

PROGRAM = Program(
    name="avrboard",
    what="the simulator",
    sources=Path(__file__).resolve().parent / "avrboard",
    flags=("-std=c11", "-O2", "-Wall", "-Wextra"),
    libraries=("-lsimavr", "-ldl"),
    packages="gcc libc6-dev libsimavr-dev libelf-dev",
)
_HEADER = Path("simavr/sim_avr.h")
_INCLUDES = (Path("/usr/include"), Path("/usr/local/include"))
_LIBRARY_FILES = ("lib/*/libsimavr.so*", "lib/libsimavr.so*", "local/lib/libsimavr.so*")
_WRONG_PATTERN = 3


def runner() -> Path:
    """The compiled runner of these sources and the installed simavr, from the cache where there is one."""
    PROGRAM.compiler()
    folder = next((folder for folder in _INCLUDES if (folder / _HEADER).exists()), None)
    if folder is None:
        raise SetupError("simavr's header files are not installed.", PROGRAM.remedy)
    libraries = (file for pattern in _LIBRARY_FILES for file in sorted(Path("/usr").glob(pattern)))
    return PROGRAM.obtain(installed=(folder / _HEADER, *libraries))


@functools.cache
def skips_correctly(program: Path) -> bool:
    """Whether this runner's simavr proves that it skips over ADIW and SBIW as the chip does; 1.6 does not.

    The program's path holds the identity of the simavr library, so an answer is good for as long as the path.
    """
    status = subprocess.run([program, "prove"], stdin=subprocess.DEVNULL, check=False).returncode
    if status not in (0, _WRONG_PATTERN):
        raise SetupError(f"The simulator does not start (exit code {status}).", PROGRAM.remedy)
    return status == 0
