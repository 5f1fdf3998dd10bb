"""Compiles avrboard, the simulator's process, when it is first needed."""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from harness import paths
from harness.errors import SetupError

SOURCES = Path(__file__).resolve().parent / "avrboard"
PACKAGES = "gcc libc6-dev libsimavr-dev libelf-dev"
_FLAGS = ("-std=c11", "-O2", "-Wall", "-Wextra")
"""Warnings are errors in the tests only: a compiler to come may have new ones."""
_LIBRARIES = ("-lsimavr", "-ldl")
_HEADER = Path("simavr/sim_avr.h")
_INCLUDES = (Path("/usr/include"), Path("/usr/local/include"))
_LIBRARY_FILES = ("lib/*/libsimavr.so*", "lib/libsimavr.so*", "local/lib/libsimavr.so*")
_WRONG_PATTERN = 3


def runner() -> Path:
    """The compiled runner of these sources and the installed simavr, from the cache where there is one."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    folder = next((folder for folder in _INCLUDES if (folder / _HEADER).exists()), None)
    if compiler is None:
        raise SetupError("There is no C compiler to build the simulator with.", _remedy())
    if folder is None:
        raise SetupError("simavr's header files are not installed.", _remedy())
    program = paths.cache() / "avrboard" / _key(compiler, folder) / "avrboard"
    if not program.exists():
        _compile(compiler, program)
    return program


@functools.cache
def skips_correctly(program: Path) -> bool:
    """Whether this runner's simavr proves that it skips over ADIW and SBIW as the chip does; 1.6 does not.

    The program's path holds the identity of the simavr library, so an answer is good for as long as the path.
    """
    status = subprocess.run([program, "prove"], stdin=subprocess.DEVNULL, check=False).returncode
    if status not in (0, _WRONG_PATTERN):
        raise SetupError(f"The simulator does not start (exit code {status}).", _remedy())
    return status == 0


def _key(compiler: str, includes: Path) -> str:
    """Changes with the sources, the compiler and the installed library, whose headers are compiled in."""
    digest = hashlib.sha256(" ".join((*_FLAGS, *_LIBRARIES)).encode())
    for source in sorted(SOURCES.glob("*.[ch]")):
        digest.update(source.name.encode() + b"\0" + source.read_bytes())
    libraries = (file for pattern in _LIBRARY_FILES for file in sorted(Path("/usr").glob(pattern)))
    for file in (Path(compiler), includes / _HEADER, *libraries):
        status = file.stat()
        digest.update(f"{file} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]


def _compile(compiler: str, program: Path) -> None:
    """Builds beside the final place and moves it there, so that parallel builds never see half a program."""
    program.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=program.parent, prefix=".avrboard-")
    os.close(handle)
    draft = Path(name)
    command = [compiler, *_FLAGS, "-o", name, *map(str, sorted(SOURCES.glob("*.c"))), *_LIBRARIES]
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode:
            last = result.stderr.strip().splitlines()[-1:] or ["no message"]
            raise SetupError(f"The simulator cannot be compiled: {last[0]}.", _remedy())
        draft.chmod(0o755)
        draft.replace(program)
    finally:
        draft.unlink(missing_ok=True)


def _remedy() -> str:
    return f"Install it: apt-get install {PACKAGES}"
