"""Firmware onto a real board, through PlatformIO and avrdude."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from harness import toolchain
from harness.build import Firmware
from harness.errors import PortError, SetupError

HINTS = {
    "nano": "A Nano with the old bootloader needs upload_speed = 57600 in firmware/platformio.ini.",
    "leonardo": "The measured firmware has no USB: press reset twice, and name the port that appears then.",
}
"""What most often stands in the way, by board."""
SHOWN_LINES = 3


def upload(firmware: Firmware, port: str) -> None:
    """Write a built firmware to the board on `port`, and verify it. PortError or SetupError."""
    if not Path(port).exists():  # avrdude would wait for it, for ever with some bootloaders
        raise PortError(
            f"There is no port {port} to upload to.",
            "Is the board plugged in? `kilobench boards` lists the ports; an upload needs a local one.",
        )
    if shutil.which("avrdude") is None:
        raise SetupError("The program avrdude is not on PATH.", "Install it: sudo apt install avrdude")
    board = firmware.board
    with tempfile.TemporaryDirectory(prefix="kilobench-upload-") as folder:
        workspace = Path(folder)
        made = workspace / "build" / board.environment
        made.mkdir(parents=True)
        shutil.copy(firmware.hex, made / "firmware.hex")
        # nobuild: the very image that was measured for its size, not another from the project's sources.
        done = toolchain.platformio(
            *("--environment", board.environment, "--target", "nobuild", "--target", "upload"),
            *("--upload-port", port, "--silent"),
            workspace=workspace,
        )
    if done.returncode != 0:
        said = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        told = [line for line in said if line.startswith(("avrdude", "Error"))] or said
        raise PortError(
            f"The upload to the {board.title} on {port} failed: {'; '.join(told[-SHOWN_LINES:])}.",
            HINTS.get(board.name, "Is it this board, and is no other program using the port?"),
        )
