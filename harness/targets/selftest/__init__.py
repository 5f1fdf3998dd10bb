"""The image `kilobench doctor` runs on a simulated board: instructions with their cycles, and its build."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from harness.errors import SetupError
from harness.targets import windowed

_FOLDER = Path(__file__).resolve().parent
REPEATS = windowed.REPEATS
PIN = "B0"
CYCLES_PER_BIT = 16


@dataclass(frozen=True)
class Form:
    """One instruction, or a group, and how long the data sheets say it takes ("Instruction Set Summary")."""

    code: str
    cycles: int
    longer: int = 0
    """Cycles more on chips whose program counter has three bytes."""
    setup: str = ""


_X = "ldi r26, 0\nldi r27, 3"
_Y = "ldi r28, 0x40\nldi r29, 3"
_Z = "ldi r30, 0\nldi r31, 3"
_SAME = "ldi r20, 1\nldi r21, 1"
_OTHER = "ldi r20, 1\nldi r21, 2"
FORMS = (
    Form("nop", 1),
    Form("add r20, r21", 1),
    Form("movw r20, r22", 1),
    Form("adiw r26, 1", 2),
    Form("sbiw r26, 1", 2),
    Form("mul r20, r21", 2),
    Form("muls r20, r21", 2),
    Form("mulsu r20, r21", 2),
    Form("fmuls r20, r21", 2),
    Form("lpm r20, Z", 3, setup=_Z),
    Form("lpm r20, Z+", 3, setup=_Z),
    Form("ld r20, X", 2, setup=_X),
    Form("ld r20, X+", 2, setup=_X),
    Form("ldd r20, Y+5", 2, setup=_Y),
    Form("st X+, r20", 2, setup=_X),
    Form("st -Y, r20", 2, setup=_Y),
    Form("std Z+5, r20", 2, setup=_Z),
    Form("lds r20, 0x300", 2),
    Form("sts 0x300, r20", 2),
    Form("push r20", 2),
    Form("pop r20", 2),
    Form("in r20, SREG", 1),
    Form("out GPIOR0, r20", 1),
    Form("sbi GPIOR0, 0", 2),
    Form("cbi GPIOR0, 0", 2),
    Form("rjmp .+0", 2),
    Form("jmp 1f\n1:", 3),
    Form("rcall returns", 7, longer=2),
    Form("call returns", 8, longer=2),
    Form("icall", 7, longer=2, setup="ldi r30, pm_lo8(returns)\nldi r31, pm_hi8(returns)"),
    Form("breq .+0", 2, setup="sez"),
    Form("breq .+0", 1, setup="clz"),
    Form("cpse r20, r21\nnop", 2, setup=_SAME),
    Form("cpse r20, r21", 1, setup=_OTHER),
    Form("cpse r20, r21\nlds r22, 0x300", 3, setup=_SAME),
    Form("sbrc r20, 0\nnop", 2, setup="ldi r20, 0"),
    Form("sbrs r20, 0\nnop", 2, setup="ldi r20, 0"),
    Form("sbic GPIOR0, 0\nnop", 2, setup="cbi GPIOR0, 0"),
    Form("sbis GPIOR0, 0\nnop", 2, setup="cbi GPIOR0, 0"),
)


def image(mcu: str, uart: str) -> Path:
    """The linked self-test for a chip, from the cache where it has been built before."""
    compiler = shutil.which("avr-gcc")
    if compiler is None:
        remedy = "Install it: apt-get install gcc-avr avr-libc binutils-avr"
        raise SetupError("There is no avr-gcc to build the self-test with.", remedy)
    command = [compiler, f"-mmcu={mcu}", f"-DUART={uart}", "-nostartfiles"]
    return windowed.image(_FOLDER / "selftest.S", FORMS, command, "Reinstall gcc-avr and avr-libc.")
