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
        # nobuild: the very image that was built, not another from what the sources are by now.
        done = toolchain.platformio(
            *("--environment", board.environment, "--target", "nobuild", "--target", "upload"),
            *("--upload-port", port),
            workspace=Path(folder),
            extra={"KILOBENCH_IMAGE": str(firmware.hex)},
        )
    if done.returncode != 0:
        raise PortError(
            f"The upload to the {board.title} on {port} failed: {_reason(done.stdout + done.stderr)}.",
            HINTS.get(board.name, "Is it this board, and is no other program using the port?"),
        )


def _reason(output: str) -> str:
    """What avrdude or PlatformIO called an error; their last words if neither did."""
    said = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in said if line.startswith(("avrdude error", "Error"))]
    return "; ".join(errors[:SHOWN_LINES] or said[-SHOWN_LINES:])
