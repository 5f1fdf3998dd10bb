"""One of QEMU's machines with our plugin, in its own process: QEMU is GPL, and nothing of it is linked here.

The serial line and the counts are handed to the process as open files: no port, path or name that two boards
could share, and nothing that a killed harness would leave behind.
"""

from __future__ import annotations

import contextlib
import functools
import math
import os
import shutil
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from harness.boards import Board
from harness.errors import SetupError, SimulatorError
from harness.targets.compiled import Program
from harness.targets.qemucounts import Counts

PLUGIN = Program(
    name="qemuboard",
    what="QEMU's plugin",
    sources=Path(__file__).resolve().parent / "qemuboard",
    flags=("-std=gnu11", "-O2", "-Wall", "-Wextra", "-fPIC", "-shared", "-fvisibility=hidden"),
    libraries=("-lpthread",),
    packages="gcc libc6-dev",
)
_PATIENCE = 5.0
"""Seconds for a process that has closed its line to end and say why."""


@dataclass(frozen=True)
class Emulator:
    """A program of QEMU's, the Debian package that brings it, and the kind of image it runs."""

    program: str
    package: str
    machine: str
    """As an ELF file says it."""


ARM = Emulator("qemu-system-arm", "qemu-system-arm", "EM_ARM")
RISCV = Emulator("qemu-system-riscv32", "qemu-system-misc", "EM_RISCV")
EMULATORS = {"nrf51": ARM, "stm32": ARM, "fe310": RISCV}
"""By the family of the board."""


@dataclass(frozen=True)
class Image:
    """What of an ELF file the plugin must know."""

    entry: int
    stack_low: int
    stack_end: int
    """Both 0 where the image does not say where its stack lies."""


def emulator(board: Board) -> str:
    """The path of QEMU's program for the board; SetupError names the package that brings it."""
    wanted = EMULATORS.get(board.family)
    if wanted is None:
        raise SimulatorError(
            f"QEMU has no processor for boards of the family {board.family!r}.",
            f"Known families: {', '.join(EMULATORS)}.",
        )
    found = shutil.which(wanted.program)
    if found is None:
        raise SetupError(
            f"The simulator {wanted.program} of the {board.title} is not on PATH.",
            f"Install it: sudo apt install {wanted.package}",
        )
    return found


@functools.lru_cache
def version(program: str) -> str:
    """Such as `QEMU 7.2.22`."""
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise SetupError(f"{program} does not run: {error}.", "Install it again.") from error
    words = done.stdout.split()
    return f"QEMU {words[words.index('version') + 1]}" if "version" in words else "QEMU"


def read(path: Path, board: Board) -> Image:
    """SimulatorError if it is no image for this board's processor."""
    try:
        with path.open("rb") as file:
            elf = ELFFile(file)
            if elf["e_machine"] != EMULATORS[board.family].machine:
                raise SimulatorError(
                    f"{path} was not built for the {board.title}.", "Build it for this board."
                )
            table: Any = elf.get_section_by_name(".symtab")
            symbols = {s.name: int(s["st_value"]) for s in table.iter_symbols()} if table else {}
            entry = int(elf["e_entry"]) & ~1  # Thumb functions have odd addresses
            return Image(entry, symbols.get("bss_end", 0), symbols.get("stack_top", 0))
    except (OSError, ELFError) as error:
        raise SimulatorError(f"{path} is no ELF file ({error}).", "Build the firmware again.") from error


class Machine:
    """A board that can be switched on, and on again; every time it starts as from the factory."""

    def __init__(self, board: Board, elf: Path) -> None:
        self.board = board
        self.program = emulator(board)
        self.image = read(elf, board)
        self._elf = elf.resolve()
        self._plugin = PLUGIN.obtain()
        self._process: subprocess.Popen[bytes] | None = None
        self._used = 0.0
        self.counts = Counts()

    @property
    def pid(self) -> int | None:
        """None while it is off."""
        return None if self._process is None else self._process.pid

    def switch_on(self) -> socket.socket:
        """Start the firmware, anew if it runs; the host's end of the serial line."""
        self.switch_off()
        ours, theirs = socket.socketpair()
        watched, held = os.pipe()
        try:
            self._process = subprocess.Popen(
                self._command(theirs.fileno(), watched),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                pass_fds=(theirs.fileno(), watched, self.counts.descriptor),
            )
        except OSError as error:
            ours.close()
            os.close(held)
            raise SimulatorError(f"QEMU cannot start: {error}.", "`kilobench doctor` tests it.") from error
        finally:
            theirs.close()
            os.close(watched)
        self._held = held
        return ours

    def switch_off(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        self._used += _cpu_seconds(process.pid)
        process.kill()
        process.wait()
        os.close(self._held)
        if process.stderr is not None:
            process.stderr.close()

    def close(self) -> None:
        self.switch_off()
        self.counts.close()

    def cpu_seconds(self) -> float:
        return self._used + (0.0 if self._process is None else _cpu_seconds(self._process.pid))

    def complaint(self) -> str:
        """What a process that ended by itself had to say."""
        process = self._process
        if process is None or process.stderr is None:
            return "it was switched off"
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_PATIENCE)
            said = process.stderr.read().decode(errors="replace").strip().splitlines()
            return said[0].rstrip(".") if said else f"it ended with exit code {process.returncode}"
        return "it closed the line"

    def _command(self, line: int, watched: int) -> list[str]:
        simulator = self.board.simulator
        rises, *falls = simulator.trigger.split()
        facts = {
            "counts": self.counts.descriptor,
            "watch": watched,
            "owner": os.getpid(),
            "entry": hex(self.image.entry),
            "set": rises,
            "clear": falls[0] if falls else rises,
            "stack": hex(self.image.stack_low),
            "stack_end": hex(self.image.stack_end),
            **({"core": simulator.timings} if simulator.timings else {}),
        }
        arguments = "".join(f",{key}={value}" for key, value in facts.items())
        # Time is told by instructions, near the chip's own rate: then what the firmware reads from its timers
        # is the same in every run. It also makes QEMU look for new bytes whenever the firmware falls asleep;
        # without, those that come while the receiver is still off would lie there unseen.
        nanoseconds = round(math.log2(1e9 / self.board.clock_hz))
        unused = ["-serial", "null"] * int(simulator.uart)
        return [
            *(self.program, "-machine", simulator.mcu, "-nodefaults", "-display", "none", "-monitor", "none"),
            *("-icount", f"shift={nanoseconds}"),
            *("-chardev", f"socket,id=link,fd={line}", *unused, "-serial", "chardev:link"),
            *("-plugin", f"{self._plugin}{arguments}", "-kernel", str(self._elf)),
        ]


def _cpu_seconds(pid: int) -> float:
    """User and system time, fields 14 and 15 of what the kernel tells of a process."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf8").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
