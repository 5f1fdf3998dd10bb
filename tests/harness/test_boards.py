"""Board descriptions: every key checked, and the same facts as the firmware is built with."""

from __future__ import annotations

import configparser
import json
from pathlib import Path
from typing import Any

import pytest

from harness import boards, paths
from harness.errors import BoardFileError, UnknownName

ALL = boards.names()


def platform_board(board: boards.Board) -> dict[str, Any]:
    """What PlatformIO, and so the C code, is told of a board."""
    folder = paths.project() / "firmware" / "platform" / "boards"
    found: dict[str, Any] = json.loads((folder / f"{board.environment}.json").read_text(encoding="utf8"))
    return found


def number(text: str) -> int:
    """The value of a C constant."""
    return int(text.removesuffix("UL"))


def test_the_boards_of_the_first_hour_are_there() -> None:
    assert {"uno", "nano", "mega2560", "leonardo"} <= set(ALL)


@pytest.mark.parametrize("name", ALL)
def test_every_board_file_reads(name: str) -> None:
    board = boards.load(name)
    assert board.name == name
    if board.power is not None:
        assert board.power.source and board.power.active_mA > board.power.sleep_mA > 0
    assert all(len(usb) == 9 and usb[4] == ":" and int(usb.replace(":", ""), 16) >= 0 for usb in board.usb)


@pytest.mark.parametrize("name", ALL)
def test_firmware_is_built_with_the_same_facts(name: str) -> None:
    board = boards.load(name)
    told = platform_board(board)
    assert told["name"] == board.title
    assert told["build"]["mcu"] == board.mcu
    assert number(told["build"]["f_cpu"]) == board.clock_hz
    assert number(told["build"]["baud"]) == board.baud
    assert told["build"]["uart"] == board.simulator.uart
    if board.simulator.kind == "simavr":
        assert (board.mcu, told["build"]["trigger"]) == (board.simulator.mcu, board.simulator.trigger)
    assert told["upload"]["maximum_size"] == board.flash_bytes
    assert told["upload"]["maximum_ram_size"] == board.ram_bytes
    assert int(told["build"]["vector_bytes"]) <= board.ram_bytes // 2


@pytest.mark.parametrize("name", ALL)
def test_environment_exists_and_has_the_boards_name(name: str) -> None:
    """The device calls itself by its environment; a session compares that with the board's name."""
    board = boards.load(name)
    ini = configparser.ConfigParser(interpolation=None)
    ini.read(paths.project() / "firmware" / "platformio.ini", encoding="utf8")
    assert ini[f"env:{board.environment}"]["board"] == board.environment == name


@pytest.mark.parametrize("name", ALL)
def test_baud_rate_divides_the_clock(name: str) -> None:
    """On an AVR; the others divide so finely that every usual rate is near enough."""
    board = boards.load(name)
    assert board.family != "avr" or board.clock_hz % (8 * board.baud) == 0


def test_milliseconds() -> None:
    assert boards.load("uno").milliseconds(16_000) == pytest.approx(1.0)


def test_unknown_board_suggests_the_nearest() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'uno'"):
        boards.load("unoo")


def changed(folder: Path, old: str, new: str) -> Path:
    text = (boards.folder() / "uno.toml").read_text(encoding="utf8")
    assert old in text
    path = folder / "mine.toml"
    path.write_text(text.replace(old, new, 1), encoding="utf8")
    return path


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('family = "avr"', "", "key 'family' is missing"),
        ('family = "avr"', 'family = "avr"\nwheels = 4', "unknown key 'wheels'"),
        ("volts = 5.0", "", "key 'power.volts' is missing"),
        ("volts = 5.0", 'volts = "5"', "key 'power.volts' is '5'"),
        ("ram_bytes = 2_048", "ram_bytes = 2048.5", "key 'ram_bytes' is 2048.5"),
        ("ram_bytes = 2_048", "ram_bytes = true", "key 'ram_bytes' is True"),
        ('usb = ["2341:0043"', "usb = [1", "key 'usb' is"),
        ('family = "avr"', 'family = "avr', "line 2"),
    ],
)
def test_wrong_file_is_named_with_its_key(tmp_path: Path, old: str, new: str, says: str) -> None:
    path = changed(tmp_path, old, new)
    with pytest.raises(BoardFileError) as caught:
        boards.read(path)
    assert says in str(caught.value) and str(path) in str(caught.value)
    assert caught.value.remedy


def test_whole_number_is_taken_for_a_float(tmp_path: Path) -> None:
    power = boards.read(changed(tmp_path, "volts = 5.0", "volts = 5")).power
    assert power is not None and power.volts == 5.0
