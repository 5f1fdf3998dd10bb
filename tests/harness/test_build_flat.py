"""Firmware of 32-bit boards: its sizes are the linker's, and what does not fit is refused with them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from harness import boards, toolchain
from harness.build import WIDE_STACK_RESERVE, build
from harness.errors import DoesNotFit, SetupError
from models.device import DeviceModel
from models.linear_device import LinearInt8
from tests.firmware.boardfirmware import missing, parameters
from tests.models.device_models import INT8, make

SMALL = "stm32vldiscovery"
needs_small = pytest.mark.skipif(bool(missing(SMALL)), reason=f"needs {missing(SMALL)}")


def linear(classes: int, features: int) -> DeviceModel:
    W = np.random.default_rng(0).integers(1, 128, size=(classes, features))
    return LinearInt8.from_integers(W, np.arange(classes), INT8, range(classes))


@pytest.mark.parametrize("name", parameters())
def test_sizes_are_those_that_the_toolchain_tells(name: str) -> None:
    board = boards.load(name)
    model = make("protonn", "int8")
    firmware = build(model, board)
    tool = toolchain.TOOLCHAINS[board.family].program.removesuffix("gcc") + "size"
    told = subprocess.run([tool, str(firmware.elf)], capture_output=True, text=True, check=True).stdout
    text, data, bss = (int(word) for word in told.splitlines()[1].split()[:3])
    assert (firmware.flash_total, firmware.ram_static) == (text + data, data + bss)
    assert firmware.flash_model == model.flash_bytes
    assert firmware.compiler.startswith(toolchain.TOOLCHAINS[board.family].program)
    assert "-ffp-contract=off" in firmware.flags and "-O2" in firmware.flags
    assert firmware.hex.read_text(encoding="ascii").startswith(":")


@needs_small
def test_a_model_of_one_number_is_counted_too() -> None:
    """The compiler would make it a part of the code."""
    model = make("linear", "int8", features=5, classes=2)
    assert len(model.arrays["bias"]) == 1
    assert build(model, boards.load(SMALL)).flash_model == model.flash_bytes


@needs_small
def test_too_large_for_the_flash() -> None:
    board = boards.load(SMALL)
    with pytest.raises(DoesNotFit, match=r"alone is \d+ bytes, and the STM32 VL Discovery has 131072"):
        build(linear(70, 2000), board)
    with pytest.raises(DoesNotFit, match=r"bytes of flash \(model 130260, code \d+\), and the STM32 VL"):
        build(linear(65, 2000), board)


@needs_small
def test_too_large_for_the_ram() -> None:
    board = boards.load(SMALL)
    with pytest.raises(DoesNotFit, match=rf"at least {WIDE_STACK_RESERVE} for the stack"):
        build(linear(3, 8000), board, streaming=False)
    assert build(linear(3, 8000), board).streaming


def test_a_missing_compiler_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for name, package in (("microbit", "gcc-arm-none-eabi"), ("hifive1b", "gcc-riscv64-unknown-elf")):
        with pytest.raises(SetupError, match=f"sudo apt install {package}"):
            build(make("linear", "int8"), boards.load(name))
