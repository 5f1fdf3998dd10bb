"""The programs that make firmware: which compiler, and how PlatformIO is started so that it stays offline."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

from harness import paths
from harness.boards import Board
from harness.errors import BuildError, SetupError

TIMEOUT_S = 300
"""A build takes a second or two; only a download on a slow line comes near this."""


@dataclass(frozen=True)
class Toolchain:
    """The compiler of an MCU family, and the Debian packages that bring it."""

    program: str
    packages: str


ARM = Toolchain("arm-none-eabi-gcc", "gcc-arm-none-eabi libnewlib-arm-none-eabi")
RISCV = Toolchain("riscv64-unknown-elf-gcc", "gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf")
TOOLCHAINS = {
    "avr": Toolchain("avr-gcc", "gcc-avr avr-libc"),
    "nrf51": ARM,
    "stm32": ARM,
    "fe310": RISCV,
}


def compiler(family: str) -> str:
    """Name and version of the family's compiler, such as `avr-gcc 5.4.0`; SetupError if it is missing."""
    toolchain = TOOLCHAINS.get(family)
    if toolchain is None:
        raise SetupError(
            f"There is no compiler for the MCU family {family!r}.",
            f"Known families: {', '.join(TOOLCHAINS)}.",
        )
    found = shutil.which(toolchain.program)
    if found is None:
        raise SetupError(
            f"The compiler {toolchain.program} is not on PATH.",
            f"Install it: sudo apt install {toolchain.packages}",
        )
    return f"{toolchain.program} {_version(found, Path(found).stat().st_mtime_ns)}"


@lru_cache
def _version(program: str, changed: int) -> str:
    """Asked once a program, and again when it was replaced (`changed` is its time of modification)."""
    try:
        answer = subprocess.run(
            [program, "-dumpfullversion", "-dumpversion"],
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise SetupError(
            f"{program} does not run: {error}.", "Install it again, or take it off PATH."
        ) from error
    return answer.stdout.strip()


def platformio_version() -> str:
    try:
        return metadata.version("platformio")
    except metadata.PackageNotFoundError:
        raise SetupError("PlatformIO is not installed.", "Install it: pip install platformio scons") from None


def project() -> Path:
    """The PlatformIO project."""
    return paths.project() / "firmware"


def platformio(
    *arguments: str, workspace: Path, extra: dict[str, str] | None = None, timeout: float = TIMEOUT_S
) -> subprocess.CompletedProcess[str]:
    """Run `pio run` on the firmware project, writing nowhere but into `workspace` and the cache."""
    command = [sys.executable, "-m", "platformio", "run", "--project-dir", str(project()), *arguments]
    environment = {
        **os.environ,
        "PLATFORMIO_CORE_DIR": str(_core()),
        "PLATFORMIO_WORKSPACE_DIR": str(workspace),
        # Both would open connections; without a network each waits for its time-out.
        "PLATFORMIO_SETTING_ENABLE_TELEMETRY": "no",
        "PLATFORMIO_DISABLE_UPGRADE_CHECK": "true",
        "PLATFORMIO_SETTING_CHECK_PLATFORMIO_INTERVAL": "36500",
        "PLATFORMIO_NO_ANSI": "true",
        **(extra or {}),
    }
    # Options that a user's shell may set for other projects, and that would end up in every measurement.
    for name in ("PLATFORMIO_BUILD_FLAGS", "PLATFORMIO_SRC_BUILD_FLAGS", "PLATFORMIO_BUILD_DIR"):
        environment.pop(name, None)
    # A session of its own: whatever PlatformIO has started ends with it, and avrdude may never end by itself.
    with subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired as error:
            raise BuildError(
                f"PlatformIO did not finish within {timeout:g} s.",
                "It may be downloading what is missing here; kilobench doctor shows what that is.",
            ) from error
        finally:
            with contextlib.suppress(ProcessLookupError):  # all of it has ended
                os.killpg(process.pid, signal.SIGKILL)
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def manifest(environment: str) -> dict[str, Any]:
    """What PlatformIO is told of a board."""
    path = project() / "platform" / "boards" / f"{environment}.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf8"))
    return found


def own_facts(board: Board) -> dict[str, str]:
    """What PlatformIO is told of a board of the user's own, built like the one of its environment."""
    if board.name == board.environment:
        return {}
    ours = manifest(board.environment)["build"]
    facts = {
        "build.board": board.name,
        "build.mcu": board.mcu,
        "build.f_cpu": f"{board.clock_hz}UL",
        "build.baud": f"{board.baud}UL",
        "build.vector_bytes": str(min(int(ours["vector_bytes"]), board.ram_bytes // 2)),
        "upload.maximum_size": board.flash_bytes,
        "upload.maximum_ram_size": board.ram_bytes,
    }
    if board.family == "avr":
        facts |= {"build.uart": board.simulator.uart, "build.trigger": board.simulator.trigger}
    return {"KILOBENCH_BOARD": json.dumps(facts)}


def _core() -> Path:
    """PlatformIO's own folder: one a PlatformIO release and a checkout.

    PlatformIO knows a platform by its name, so two checkouts that shared this folder would share the first
    one's; and when it meets the folder of an earlier release it asks its registry for newer packages.
    """
    who = hashlib.sha256(f"{platformio_version()} {project()}".encode()).hexdigest()[:12]
    return paths.cache() / "platformio" / who
