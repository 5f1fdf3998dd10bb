"""What the firmware takes of an Uno beside the model: RAM beyond the link's buffers."""

from __future__ import annotations

import shutil

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from harness import boards
from harness.build import Firmware, build, faster
from models.device import DeviceModel
from tests.models.device_models import make

pytestmark = pytest.mark.skipif(shutil.which("avr-gcc") is None, reason="needs avr-gcc")

LINK = ("hal_rx", "reply", "sample", "session", "result")
"""The received frame, the kept reply, and what has come and is answered, whatever the model."""


def beyond_the_link(firmware: Firmware) -> int:
    with firmware.elf.open("rb") as file:
        table = next(s for s in ELFFile(file).iter_sections() if isinstance(s, SymbolTableSection))
        found = {
            symbol.name: int(symbol["st_size"]) for symbol in table.iter_symbols() if symbol.name in LINK
        }
    assert set(found) == set(LINK)
    return firmware.ram_static - sum(found.values())


@pytest.mark.parametrize(
    "model",
    [
        make("linear", "int8", 784, 2, density=0.3),
        make("protonn", "int8", 256, 2, 16, 47, 0.15, exp_shift=6),
        make("protonn", "int8", 784, 2, 16, 47, 0.05, exp_shift=7),
    ],
    ids=lambda model: f"{model.family} {model.n_features}",
)
def test_streaming_binary_models_leave_ram_to_others(model: DeviceModel) -> None:
    board = boards.load("uno")
    fast = faster(model, board, streaming=True)
    assert beyond_the_link(build(fast, board, streaming=True)) <= 128


def test_many_prototypes_need_no_ram_for_each() -> None:
    model = make("protonn", "int8", 16, 26, 20, 348, exp_shift=5)
    assert build(model, boards.load("uno"), streaming=False).ram_static < 900
