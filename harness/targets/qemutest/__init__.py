"""The images `kilobench doctor` runs on QEMU's machines: instructions and what they take, and their build."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from harness import toolchain
from harness.boards import Board
from harness.targets import windowed

_FOLDER = Path(__file__).resolve().parent
REPEATS = windowed.REPEATS


@dataclass(frozen=True)
class Form:
    """One instruction, or a group, and how many it executes."""

    code: str
    cycles: int
    """On a Cortex-M0, as its manual says; on the others nothing is known."""
    instructions: int = 1
    setup: str = ""


_RAM = "ldr r4, =bss_end"
THUMB = (
    Form("nop", 1),
    Form("movs r0, #1", 1),
    Form("adds r0, r0, r1", 1),
    Form("muls r0, r1, r0", 1),
    Form("lsls r0, r0, #3", 1),
    Form("cmp r0, r1", 1),
    Form("mov r8, r0", 1),
    Form("add r0, r8", 1),
    Form("sxtb r0, r1", 1),
    Form("rev r0, r1", 1),
    Form("add sp, #0", 1),
    Form("ldr r0, [r4, #4]", 2, setup=_RAM),
    Form("ldrsb r0, [r4, r1]", 2, setup=f"{_RAM}\nmovs r1, #1"),
    Form("ldr r0, =0x12345678", 2),
    Form("ldr r0, [sp, #0]", 2, setup="sub sp, #16"),
    Form("str r0, [r4, #4]", 2, setup=_RAM),
    Form("strb r0, [r4, #1]", 2, setup=_RAM),
    Form("ldm r3!, {r0-r2}\nmov r3, r4", 5, 2, setup=f"{_RAM}\nmov r3, r4"),
    Form("stm r3!, {r0-r2}\nmov r3, r4", 5, 2, setup=f"{_RAM}\nmov r3, r4"),
    Form("push {r0-r3}\npop {r0-r3}", 10, 2),
    Form("b 1f\nnop\n1:", 3),
    Form("beq 1f\nnop\n1:", 3, setup="cmp r0, r0"),
    Form("bne 1f\n1:", 1, setup="cmp r0, r0"),
    Form("bl returns", 7, 2),
    Form("bl pushes", 13, 3),
    Form("blx r0", 6, 2, setup="ldr r0, =returns + 1"),
    Form("adr r0, 1f\nmov pc, r0\n.balign 4\n1:", 4, 2),
    Form("mrs r0, primask", 4),
    Form("dsb", 4),
)
"""Cortex-M0 technical reference manual DDI 0432C, table 3-1. All of these every Cortex-M can execute."""
RISCV = (
    Form("nop", 0),
    Form("addi t0, t0, 1000", 0),
    Form("mul t0, t1, t2", 0),
    Form("div t0, t1, t2", 0),
    Form("lw t0, 0(sp)", 0, setup="addi sp, sp, -16"),
    Form("sw t0, 4(sp)", 0, setup="addi sp, sp, -16"),
    Form("amoadd.w t0, t1, (sp)", 0, setup="addi sp, sp, -16"),
    Form("beq zero, zero, 1f\nnop\n1:", 0),
    Form("bne zero, zero, 1f\n1:", 0),
    Form("jal ra, returns", 0, 2),
    Form("csrr t0, mcycle", 0),
)
CLOSING_CYCLES, CLOSING_INSTRUCTIONS = 2, 1
"""The store that ends a window belongs to it."""


def forms(board: Board) -> tuple[Form, ...]:
    return RISCV if board.family == "fe310" else THUMB


def image(board: Board) -> Path:
    """The linked self-test of a board, from the cache where it has been built before."""
    program = toolchain.TOOLCHAINS[board.family].program
    toolchain.compiler(board.family)  # says what is missing
    source = _FOLDER / ("riscv.S" if board.family == "fe310" else "thumb.S")
    command = [shutil.which(program) or program, *_flags(board)]
    return windowed.image(source, forms(board), command, f"Reinstall {program}.")


def _flags(board: Board) -> list[str]:
    """As the firmware's own, but without anything of a library."""
    path = toolchain.project() / "platform" / "boards" / f"{board.environment}.json"
    build = json.loads(path.read_text(encoding="utf8"))["build"]
    rises, *falls = board.simulator.trigger.split()
    memory = {
        "FLASH_ORIGIN": build["flash_origin"],
        "RAM_ORIGIN": build["ram_origin"],
        "RAM_LENGTH": board.ram_bytes,
    }
    return [
        *build["cpu"].split(),
        *(f"-DSET={rises}", f"-DCLEAR={falls[0] if falls else rises}", "-nostdlib"),
        *("-T", str(toolchain.project() / "lib" / "hal" / "flat.ld")),
        *(f"-Wl,--defsym={name}={value}" for name, value in memory.items()),
    ]
