"""What this machine has of what kilobench needs, and what to do about the rest.

Every check is a function that returns one or more Check; none of them raises. The simulator is not believed
because it is installed: it runs a self-test image and must get every cycle right.
"""

from __future__ import annotations

import getpass
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

from harness import selftest
from harness.errors import KilobenchError, SetupError

Status = Literal["ok", "missing", "broken", "note"]
COMPILER_PACKAGES = "gcc-avr avr-libc binutils-avr"
SIMULATOR_PACKAGES = "gcc libsimavr-dev libelf-dev"


@dataclass(frozen=True)
class Check:
    """One line of the report."""

    name: str
    status: Status
    detail: str
    remedy: str = ""
    needed: bool = True
    """Whether `kilobench run --sim` works without it."""

    @property
    def hurts(self) -> bool:
        return self.needed and self.status in ("missing", "broken")


def examine() -> Iterator[Check]:
    """All checks, in the order in which their subjects are needed."""
    checks: tuple[Callable[[], Iterator[Check]], ...] = (
        python,
        packages,
        compiler,
        build_tools,
        simulator,
        qemu,
        uploader,
        dataset_folder,
        serial_ports,
    )
    for check in checks:
        yield from check()


def python() -> Iterator[Check]:
    version = platform.python_version()
    if sys.version_info >= (3, 11):  # noqa: UP036 - a checkout can be started by any Python
        yield Check("Python", "ok", f"{version} ({sys.executable})")
    else:
        yield Check("Python", "broken", version, "Use Python 3.11 or later: sudo apt install python3.11-venv")


def packages() -> Iterator[Check]:
    """The libraries kilobench itself declares, so that this list can't fall behind."""
    try:
        wanted = metadata.requires("kilobench") or []
    except metadata.PackageNotFoundError:
        yield Check("packages", "broken", "kilobench is not installed", "Run: pip install -e .")
        return
    there, wrong = [], []
    for requirement in wanted:
        name, least = _requirement(requirement)
        if "extra ==" in requirement:
            continue
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            wrong.append(f"{name} (missing)")
            continue
        if _numbers(version) < _numbers(least):
            wrong.append(f"{name} {version} (needs {least})")
        else:
            there.append(f"{name} {version}")
    if wrong:
        yield Check("packages", "missing", ", ".join(wrong), "Run: pip install --upgrade kilobench")
    else:
        yield Check("packages", "ok", ", ".join(there))


def compiler() -> Iterator[Check]:
    remedy = f"Run: sudo apt install {COMPILER_PACKAGES}"
    found = _first_line("avr-gcc", "--version")
    if found is None:
        yield Check("avr-gcc", "missing", "not on PATH", remedy)
        return
    yield Check("avr-gcc", "ok", found)
    # The compiler without its C library is a separate package, and fails only in the middle of a build.
    header = _run("avr-gcc", "-mmcu=atmega328p", "-E", "-include", "avr/io.h", "-x", "c", os.devnull)
    if header is None:
        yield Check("avr-libc", "missing", "avr/io.h is not found by avr-gcc", remedy)
    else:
        yield Check("avr-libc", "ok", "headers for atmega328p")


def build_tools() -> Iterator[Check]:
    """PlatformIO and SCons live in the same environment as kilobench, on PATH or not."""
    for name, program in (("PlatformIO", "pio"), ("SCons", "scons")):
        beside = Path(sys.executable).parent / program
        path = str(beside) if beside.exists() else shutil.which(program)
        package = "platformio" if program == "pio" else program
        if path is None:
            yield Check(name, "missing", f"{program} is not installed", f"Run: pip install {package}")
            continue
        try:
            yield Check(name, "ok", f"{metadata.version(package)} ({path})")
        except metadata.PackageNotFoundError:
            yield Check(name, "ok", path)


def simulator() -> Iterator[Check]:
    try:
        for proof in selftest.checks():
            yield Check(proof.name, "ok" if proof.ok else "broken", proof.detail, proof.remedy)
    except KilobenchError as error:
        remedy = error.remedy or f"Run: sudo apt install {SIMULATOR_PACKAGES}"
        yield Check("simulator", "broken", error.problem, remedy)


def qemu() -> Iterator[Check]:
    """The boards beyond AVR: each builds and runs its own proofs, and none is needed by the others."""
    from harness import qemuproof

    for board in qemuproof.simulated():
        try:
            for proof in qemuproof.checks(board):
                status: Status = "ok" if proof.ok else "broken"
                yield Check(proof.name, status, proof.detail, proof.remedy, needed=False)
        except SetupError as error:
            yield Check(board.name, "missing", error.problem, error.remedy, needed=False)
        except KilobenchError as error:
            yield Check(board.name, "broken", error.problem, error.remedy, needed=False)


def uploader() -> Iterator[Check]:
    found = shutil.which("avrdude")
    if found:
        yield Check("avrdude", "ok", found, needed=False)
    else:
        yield Check(
            "avrdude", "missing", "only real boards need it", "Run: sudo apt install avrdude", needed=False
        )


def dataset_folder() -> Iterator[Check]:
    from models import datasets

    try:
        here = [name for name in datasets.names() if datasets.status(name).available]
    except KilobenchError as error:
        yield Check("datasets", "broken", error.problem, error.remedy)
        return
    away = [name for name in datasets.names() if name not in here]
    detail = f"{', '.join(here)} are here" + (f"; {', '.join(away)} are not" if away else "")
    remedy = (
        "They are downloaded on first use; KILOBENCH_DATA can name a folder that has them." if away else ""
    )
    yield Check("datasets", "note" if away else "ok", detail, remedy, needed=False)


def serial_ports() -> Iterator[Check]:
    from serial.tools import list_ports

    ports = sorted(list_ports.comports(), key=lambda port: port.device)
    if not ports:
        yield Check("serial ports", "note", "none; --sim needs none", needed=False)
    for port in ports:
        about = port.description if port.description not in (None, "n/a") else "no USB description"
        if os.access(port.device, os.R_OK | os.W_OK):
            yield Check(port.device, "ok", about, needed=False)
        else:
            yield Check(
                port.device,
                "broken",
                f"{about}; {getpass.getuser()} may not open it",
                f"Run: sudo usermod -aG dialout {getpass.getuser()} (then log in again)",
                needed=False,
            )


def _requirement(text: str) -> tuple[str, str]:
    """Name and least version of a requirement such as `numpy>=2.0`."""
    name = re.match(r"[A-Za-z0-9._-]+", text)
    least = re.search(r">=\s*([0-9.]+)", text)
    return (name.group() if name else text), (least.group(1) if least else "0")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def _run(*line: str) -> str | None:
    """What the program printed, or None where it is missing or fails."""
    try:
        done = subprocess.run(line, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout


def _first_line(*line: str) -> str | None:
    printed = _run(*line)
    return printed.partition("\n")[0] if printed else None
