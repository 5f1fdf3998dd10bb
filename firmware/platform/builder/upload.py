"""How an image gets onto a board: avrdude through a bootloader, or a copy to the drive that it shows."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import serial
from SCons.Script import Import
from serial.tools import list_ports

Import("env", "image")
env = globals()["env"]
image = globals()["image"]
board = env.BoardConfig()

VANISHES = 2.0
"""Seconds for a chip that was touched to leave the bus. One that stays is in its bootloader already."""
APPEARS = 8.0
LOOK = 0.05


def refuse(message: str) -> None:
    sys.stderr.write(f"Error: {message}\n")
    env.Exit(1)


def reach_bootloader(target: Any, source: Any, env: Any) -> None:
    """A named port that exists, and a board that listens: avrdude checks neither.

    avrdude 7.1 with `-c wiring` spins for ever on a missing port, and PlatformIO, given none, picks the first
    it finds. Boards with USB in the chip start their bootloader when the port is opened at 1200 baud.
    """
    port = env.subst("$UPLOAD_PORT")
    if not port:
        refuse("no upload port was named. Add --upload-port, for example --upload-port /dev/ttyACM0.")
    if os.name == "posix" and "://" not in port and not Path(port).exists():
        refuse(f"there is no port {port}. `pio device list` shows those that are connected.")
    if board.get("upload.use_1200bps_touch", False):
        env.Replace(UPLOAD_PORT=touched(port))


def touched(port: str) -> str:
    """The port of the bootloader, which is a USB device of its own and may get another name."""
    before = ports()
    try:
        with serial.Serial(port, 1200) as line, contextlib.suppress(OSError):
            line.dtr = False  # closing does the same, where a driver refuses
    except (OSError, serial.SerialException) as error:
        refuse(f"{port} cannot be opened at 1200 baud, which starts the bootloader: {error}.")
    deadline = time.monotonic() + VANISHES
    while Path(port).exists():
        if time.monotonic() > deadline:
            return port
        time.sleep(LOOK)
    deadline = time.monotonic() + APPEARS
    while time.monotonic() < deadline:
        new = sorted(ports() - before)
        if new or Path(port).exists():
            return new[0] if new else port
        time.sleep(LOOK)
    refuse(f"the board left {port} and did not come back with its bootloader. Press its reset button twice.")
    return port


def ports() -> set[str]:
    return {port.device for port in list_ports.comports()}


def copy(target: Any, source: Any, env: Any) -> None:
    """To the disk itself, not only to its cache: the board reads what arrives, as it arrives."""
    name = Path(env.subst("$UPLOAD_PORT"), "firmware.hex")
    with Path(str(source[0])).open("rb") as read, name.open("wb") as write:
        shutil.copyfileobj(read, write)
        write.flush()
        os.fsync(write.fileno())


env.Replace(
    UPLOADER="avrdude",
    UPLOADERFLAGS=[
        *("-p", "$BOARD_MCU", "-c", "$UPLOAD_PROTOCOL", "-b", "$UPLOAD_SPEED", "-P", '"$UPLOAD_PORT"'),
        "-D",  # bootloaders erase page by page; a chip erase is not theirs to do
    ],
    UPLOADCMD='$UPLOADER $UPLOADERFLAGS -U flash:w:"$SOURCE":i',
)
registry_avrdude = env.PioPlatform().get_package_dir("tool-avrdude")
if registry_avrdude:  # built to look for its configuration in another place than it is unpacked to
    env.Append(UPLOADERFLAGS=["-C", f'"{registry_avrdude}/avrdude.conf"'])

to_drive = board.get("upload.protocol", "") == "drive"
env.AddPlatformTarget(
    "upload",
    image,
    [
        env.VerboseAction(reach_bootloader, "Looking for the board..."),
        env.VerboseAction(copy if to_drive else "$UPLOADCMD", "Uploading $SOURCE"),
    ],
    "Upload",
)
