"""What SCons does for one environment: compile, link, make the hex file, and upload it when asked."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

from SCons.Script import COMMAND_LINE_TARGETS, AlwaysBuild, Builder, Default, DefaultEnvironment

env = DefaultEnvironment()
board = env.BoardConfig()
PREFIXES = {"avr": "avr-", "arm": "arm-none-eabi-", "riscv": "riscv64-unknown-elf-"}
PACKAGES = {
    "avr": "gcc-avr avr-libc",
    "arm": "gcc-arm-none-eabi libnewlib-arm-none-eabi",
    "riscv": "gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf",
}
# A board file of the user's own names one of ours that it is built like, and these facts that differ.
for fact, value in json.loads(os.environ.get("KILOBENCH_BOARD") or "{}").items():
    board.update(fact, value)
env.Replace(BOARD_MCU=board.get("build.mcu"))
toolchain = board.get("build.toolchain", "avr")
TOOL = PREFIXES[toolchain]


def refuse(message: str) -> None:
    sys.stderr.write(f"Error: {message}\n")
    env.Exit(1)


if shutil.which(f"{TOOL}gcc", path=env["ENV"]["PATH"]) is None:
    refuse(f"{TOOL}gcc is not on PATH. On Debian: apt install {PACKAGES[toolchain]}")

model = Path(os.environ.get("KILOBENCH_MODEL") or env.subst("$PROJECT_DIR/model"))
if not (model / "model.h").is_file():
    refuse(f"{model} holds no model.h. Set KILOBENCH_MODEL to a folder with model.h and model_data.h.")

# The one way in which a board's facts reach the C code.
trigger = board.get("build.trigger")
port, bit = trigger.rstrip("0123456789"), trigger.lstrip("ABCDEFGHIJKL")
defines = [
    ("F_CPU", board.get("build.f_cpu")),
    ("HAL_BOARD", env.StringifyMacro(board.get("build.board", env.subst("$PIOENV")))),
    ("HAL_BAUD", board.get("build.baud")),
    ("HAL_UART", board.get("build.uart")),
    ("HAL_TRIGGER_BIT", bit),
    ("HAL_VECTOR_BYTES", board.get("build.vector_bytes")),
]
if toolchain == "avr":
    defines += [("HAL_TRIGGER_PORT", f"PORT{port}"), ("HAL_TRIGGER_DDR", f"DDR{port}")]
    cpu = ["-mmcu=$BOARD_MCU"]
    # The linker would stop at the first byte too many; PlatformIO's check of the sizes says how many.
    link = ["-Wl,--defsym=__TEXT_REGION_LENGTH__=0x80000", "-Wl,--defsym=__DATA_REGION_LENGTH__=0x10000"]
else:
    cpu = board.get("build.cpu").split()
    memory = {
        "FLASH_ORIGIN": board.get("build.flash_origin"),
        "RAM_ORIGIN": board.get("build.ram_origin"),
        "RAM_LENGTH": board.get("upload.maximum_ram_size"),
    }
    link = ["-nostartfiles", "-T", env.subst("$PROJECT_DIR/lib/hal/flat.ld")]
    link += [f"-Wl,--defsym={name}={value}" for name, value in memory.items()]
if os.environ.get("KILOBENCH_STREAMING"):
    defines.append(("STREAMING", os.environ["KILOBENCH_STREAMING"]))

env.Replace(
    AR=f"{TOOL}gcc-ar",
    AS=f"{TOOL}gcc",
    CC=f"{TOOL}gcc",
    CXX=f"{TOOL}g++",
    LINK=f"{TOOL}gcc",
    OBJCOPY=f"{TOOL}objcopy",
    RANLIB=f"{TOOL}gcc-ranlib",
    SIZETOOL=f"{TOOL}size",
    PROGNAME="firmware",
    PROGSUFFIX=".elf",
    SIZECHECKCMD="$SIZETOOL -A -d $SOURCES",
    SIZEPROGREGEXP=r"^(?:\.text|\.data)\s+(\d+)",
    SIZEDATAREGEXP=r"^(?:\.data|\.bss|\.noinit)\s+(\d+)",
)
env.Append(
    ASFLAGS=["-x", "assembler-with-cpp", *cpu],
    CCFLAGS=cpu,
    LINKFLAGS=[*cpu, *link],
    CPPDEFINES=defines,
    CPPPATH=[str(model)],
    BUILDERS={
        "Hex": Builder(
            action=env.VerboseAction("$OBJCOPY -O ihex -R .eeprom $SOURCE $TARGET", "Building $TARGET"),
            suffix=".hex",
        )
    },
)

if "nobuild" in COMMAND_LINE_TARGETS:
    # An image can't be put into $BUILD_DIR from outside: PlatformIO empties a folder that it does not know.
    image = env.File(os.environ.get("KILOBENCH_IMAGE") or "$BUILD_DIR/${PROGNAME}.hex")
else:
    image = env.Hex("$BUILD_DIR/${PROGNAME}", env.BuildProgram())
    # What the compiler was really told; every measurement names it.
    Path(env.subst("$BUILD_DIR")).mkdir(parents=True, exist_ok=True)
    Path(env.subst("$BUILD_DIR/flags.txt")).write_text(env.subst("$CFLAGS $CCFLAGS"), encoding="utf8")

env.SConscript(
    str(Path(env.PioPlatform().get_dir(), "builder", "upload.py")), exports={"env": env, "image": image}
)
AlwaysBuild(env.Alias("nobuild", image))
Default([image])
