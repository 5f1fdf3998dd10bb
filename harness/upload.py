"""Firmware onto a real board, through PlatformIO: avrdude for a port, a copy for one that shows a drive."""

from __future__ import annotations

import contextlib
import math
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness import connected, drives, toolchain
from harness.bench import Place
from harness.boards import Board
from harness.bridge import local_end
from harness.build import Firmware
from harness.errors import BuildError, PortError, SetupError
from harness.lifeline import LOOK, Tell
from harness.targets.serialport import SerialTarget, present

HINTS = {
    "nano": "A Nano with the old bootloader needs upload_speed = 57600 in firmware/platformio.ini.",
    "leonardo": "Press its reset button and try again: the bootloader listens for eight seconds.",
}
"""What most often stands in the way, by board."""
SHOWN_LINES = 3
TIMEOUT_S = 180
"""Seconds for an upload; a full Mega 2560 takes one minute, and avrdude waits for ever for a lost board."""
PRESS_PATIENCE = 30.0
"""Seconds for somebody to press a reset button."""


def upload(firmware: Firmware, place: Place, *, wait: bool = False, tell: Tell | None = None) -> None:
    """Write a built firmware to a board, and verify it. PortError or SetupError.

    wait: for a board that is not there, as long as it takes; `tell` hears of that, and of buttons to press.
    """
    tell = tell or (lambda _: None)
    about = toolchain.manifest(firmware.board.environment)["upload"]
    if "protocol" not in about:
        raise SetupError(
            f"How the {firmware.board.title} is programmed is not known.",
            "Use a simulated one: --sim.",
        )
    if about["protocol"] != "drive" and shutil.which("avrdude") is None:
        raise SetupError("The program avrdude is not on PATH.", "Install it: sudo apt install avrdude")
    port = _reachable(place, wait, tell)
    if about["protocol"] == "drive":
        folder = Path(place.upload) if place.upload else drives.find(about["drive"], firmware.board.title)
        with drives.until_back(folder):
            _write(firmware, str(folder))
    elif about.get("use_1200bps_touch", False) or place.upload:
        _write(firmware, place.upload or _own_usb(firmware.board, port, tell))
    else:
        with _as_file(port, about) as path:
            _write(firmware, path)


def _write(firmware: Firmware, port: str) -> None:
    board = firmware.board
    if not Path(port).exists():  # avrdude would wait for it, for ever with some bootloaders
        raise _missing(port)
    with tempfile.TemporaryDirectory(prefix="kilobench-upload-") as folder:
        # nobuild: the very image that was built, not another from what the sources are by now.
        try:
            done = toolchain.platformio(
                *("--environment", board.environment, "--target", "nobuild", "--target", "upload"),
                *("--upload-port", port),
                workspace=Path(folder),
                extra={"KILOBENCH_IMAGE": str(firmware.hex)} | toolchain.own_facts(board),
                timeout=TIMEOUT_S,
            )
        except BuildError as error:
            raise PortError(
                f"The upload to the {board.title} on {port} did not end within {TIMEOUT_S} s.",
                "Was it unplugged? Try again.",
            ) from error
    if done.returncode != 0:
        raise PortError(
            f"The upload to the {board.title} on {port} failed: {_reason(done.stdout + done.stderr)}.",
            HINTS.get(board.name, "Is it this board, and is no other program using the port?"),
        )


def _reachable(place: Place, wait: bool, tell: Tell) -> str:
    """The port the board has now."""
    told = False
    while True:
        try:
            port = present(place.sound_port, place.serial)
            if "://" in port or Path(port).exists():
                return port
            raise _missing(port)
        except PortError as error:
            if not wait:
                raise
            if not told:
                tell(f"waiting: {error.problem}")
                told = True
        time.sleep(LOOK)


@contextmanager
def _as_file(port: str, about: dict[str, Any]) -> Iterator[str]:
    """avrdude knows no URL: it gets a pseudo-terminal whose other end is the port."""
    if "://" not in port:
        yield port
        return
    with local_end(port, int(about["speed"])) as path:
        yield path


def _own_usb(board: Board, link: str, tell: Tell) -> str:
    """The port of a chip that is its own USB device. The measured firmware leaves USB alone: the chip shows
    only its bootloader, after a reset."""
    deadline = -math.inf
    while True:
        found = [plug.port for plug in connected.plugged() if board.name in plug.types]
        if len(found) == 1:
            return found[0]
        if found:
            raise PortError(
                f"{len(found)} ports look like a {board.title}: {', '.join(found)}.",
                "Say in bench.toml which of them is its `upload` port.",
            )
        if deadline == -math.inf:
            deadline = time.monotonic() + PRESS_PATIENCE
            tell(f"press the reset button of the {board.title}")
            # Where the adapter's DTR is wired to the reset pin, nobody has to.
            with contextlib.suppress(PortError), SerialTarget(board, link) as target:
                target.open()
        if time.monotonic() > deadline:
            raise PortError(
                f"No {board.title} shows itself on USB.",
                "Press its reset button when asked, or wire the adapter's DTR over 100 nF to its reset pin.",
            )
        time.sleep(LOOK)


def _missing(port: str) -> PortError:
    return PortError(
        f"There is no port {port} to upload to.",
        "Is the board plugged in? `kilobench boards` lists those that are.",
    )


def _reason(output: str) -> str:
    """What avrdude or PlatformIO called an error; their last words if neither did."""
    said = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in said if line.startswith(("avrdude error", "Error"))]
    return "; ".join(errors[:SHOWN_LINES] or said[-SHOWN_LINES:])
