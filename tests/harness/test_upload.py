"""Uploads: avrdude writes what was built to a bootloader, and a missing port is refused before it starts."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import pytest

from harness import boards, drives, toolchain
from harness.bench import Place
from harness.build import Firmware, build
from harness.errors import PortError, SetupError
from harness.upload import upload
from tests.harness.bootloaders import Stk500v1
from tests.harness.virtualboard import VirtualBoard
from tests.models.device_models import make

pytestmark = pytest.mark.skipif(shutil.which("avr-gcc") is None, reason="avr-gcc is not on PATH")
needs_avrdude = pytest.mark.skipif(shutil.which("avrdude") is None, reason="avrdude is not on PATH")


@pytest.fixture(scope="module")
def firmware() -> Firmware:
    return build(make("linear", "int8"), boards.load("uno"))


@needs_avrdude
def test_another_chip_is_refused_with_what_avrdude_said(firmware: Firmware, tmp_path: Path) -> None:
    with VirtualBoard(firmware.board, tmp_path) as board:
        board.chip.bootloader = Stk500v1("atmega328p", 32_768, signature=bytes(3))
        with pytest.raises(
            PortError, match=r"The upload to the Arduino Uno R3 on .* failed: avrdude error: .*signature"
        ):
            upload(firmware, Place("uno", port=board.port))
        assert set(board.chip.flash) == {0xFF}


@pytest.mark.parametrize(
    ("port", "says"),
    [("/dev/no-such-port", "There is no port /dev/no-such"), ("socket://127.0.0.1:1", "127.0.0.1:1 cannot")],
)
def test_missing_port_is_refused_before_anything_starts(
    firmware: Firmware, port: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_start(*_: str, **__: object) -> None:
        raise AssertionError("PlatformIO was started")

    monkeypatch.setattr(toolchain, "platformio", no_start)
    for name in ("uno", "nano", "mega2560"):
        with pytest.raises(PortError, match=says):
            upload(dataclasses.replace(firmware, board=boards.load(name)), Place(name, port=port))


def test_missing_avrdude_is_named_with_its_package(
    firmware: Firmware, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SetupError, match="apt install avrdude"):
        upload(firmware, Place("uno", port="/dev/null"))


@pytest.mark.parametrize("arguments", [[], ["--upload-port", "/dev/no-such-port"]])
def test_pio_itself_refuses_to_guess_a_port(arguments: list[str], tmp_path: Path) -> None:
    """Typed by hand, without kilobench: the platform looks at the port before avrdude can hang on it."""
    built = build(make("linear", "int8"), boards.load("mega2560"))
    options = ["--environment", "mega2560", "--target", "nobuild", "--target", "upload", *arguments]
    done = toolchain.platformio(*options, workspace=tmp_path, extra={"KILOBENCH_IMAGE": str(built.hex)})
    assert done.returncode != 0
    assert "port" in done.stderr and "avrdude" not in done.stderr


@pytest.fixture
def drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A board's drive, as the system lists it among the mounted ones."""
    folder = tmp_path / "media" / "MICROBIT"
    folder.mkdir(parents=True)
    (tmp_path / "mounts").write_text(f"/dev/sda1 / ext4 rw 0 0\n/dev/sdb {folder} vfat rw 0 0\n")
    monkeypatch.setattr(drives, "MOUNTS", tmp_path / "mounts")
    monkeypatch.setattr(drives, "PATIENCE", 0.2)
    return folder


@pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="arm-none-eabi-gcc is not on PATH")
def test_a_board_that_shows_a_drive_gets_the_image_copied(
    firmware: Firmware, drive: Path, tmp_path: Path
) -> None:
    (tmp_path / "ttyACM0").touch()
    microbit = dataclasses.replace(firmware, board=boards.load("microbit"))
    upload(microbit, Place("microbit", port=str(tmp_path / "ttyACM0")))
    assert (drive / "firmware.hex").read_bytes() == firmware.hex.read_bytes()
    (drive / "FAIL.TXT").write_text("The hex file\ncannot be decoded.")
    with pytest.raises(PortError, match=r"refused the image: The hex file cannot be decoded\."):
        upload(microbit, Place("microbit", port=str(tmp_path / "ttyACM0"), upload=str(drive)))


def test_a_drive_that_is_not_mounted_is_missed(drive: Path) -> None:
    assert drives.find("microbit", "BBC micro:bit") == drive
    with pytest.raises(PortError, match="No drive named DAPLINK is mounted for the Something"):
        drives.find("DAPLINK", "Something")
