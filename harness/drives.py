"""Boards that show a drive on USB and write to their flash what is copied there, such as a micro:bit."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.errors import PortError

MOUNTS = Path("/proc/mounts")
LOOK = 0.2
PATIENCE = 30.0
"""Seconds for the drive to go and to come back, which it does when the image is written."""
FAILURE = "FAIL.TXT"
"""The interface chip explains itself in this file."""


def find(label: str, title: str) -> Path:
    """Where the drive with that label is mounted."""
    try:
        lines = MOUNTS.read_text(encoding="utf8", errors="replace").splitlines()
    except OSError:
        lines = []
    found = [Path(line.split()[1].replace("\\040", " ")) for line in lines if len(line.split()) > 1]
    found = [path for path in found if path.name.upper() == label.upper()]
    if len(found) != 1:
        what = f"{len(found)} drives named {label} are" if found else f"No drive named {label} is"
        raise PortError(
            f"{what} mounted for the {title}.",
            "Mount the board's drive, or say with `upload` in bench.toml where it is.",
        )
    return found[0]


@contextmanager
def until_back(folder: Path) -> Iterator[None]:
    """Copy within the block; at its end the board has taken the image or PortError says why not."""
    before = _mark(folder)
    yield
    deadline = time.monotonic() + PATIENCE
    while folder.is_dir() and _mark(folder) == before and time.monotonic() < deadline:
        time.sleep(LOOK)
    while not folder.is_dir() and time.monotonic() < deadline:
        time.sleep(LOOK)
    failure = folder / FAILURE
    if failure.exists():
        raise PortError(
            f"The board refused the image: {' '.join(failure.read_text(errors='replace').split())}.",
            "Is it an image for this board?",
        )


def _mark(folder: Path) -> tuple[int, int] | None:
    """Changes when the drive is mounted anew."""
    try:
        about = folder.stat()
    except OSError:
        return None
    return about.st_dev, about.st_ino
