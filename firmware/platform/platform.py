"""The PlatformIO platform of this firmware: builds with what the machine already has.

PlatformIO downloads compilers and even its own build tool, SCons, from its registry. Here a package is asked
for only when the program it would bring is not on PATH, and SCons comes from the Python environment that
PlatformIO itself runs in, so a build works with the network off.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from platformio.dependencies import get_core_dependencies
from platformio.platform.base import PlatformBase

PROGRAMS = {"toolchain-atmelavr": "avr-gcc", "tool-avrdude": "avrdude"}
"""Which program on PATH makes which registry package unnecessary. The 32-bit compilers are not asked for: the
registry's differ from these in their C library."""


class KilobenchPlatform(PlatformBase):  # type: ignore[misc]
    """PlatformIO finds it by its name: the platform's, capitalised."""

    def configure_default_packages(self, options: dict[str, Any], targets: list[str]) -> None:
        provide_scons(Path(self.config.get("platformio", "packages_dir")))
        board = self.board_config(options["board"])
        needed = ["toolchain-atmelavr"] if board.get("build.toolchain", "avr") == "avr" else []
        if needed and "upload" in targets:
            needed.append("tool-avrdude")
        for package in needed:
            self.packages[package]["optional"] = shutil.which(PROGRAMS[package]) is not None


def provide_scons(packages: Path) -> None:
    """Make the installed SCons the `tool-scons` package that PlatformIO would download.

    PlatformIO accepts a package by the owner and version in its .piopm, and leaves one that has a `uri` alone
    instead of asking the registry for a newer release. It runs scons.py with its own Python, which has SCons.
    """
    scons = importlib.util.find_spec("SCons")
    if scons is None or scons.origin is None:
        return
    version = get_core_dependencies()["tool-scons"].lstrip("~^=")
    package = packages / "tool-scons"
    marker = package / ".from-python"
    if package.exists():
        ours = marker.is_file()
        if not ours or marker.read_text(encoding="utf8") == version:
            return
        shutil.rmtree(package)  # made for another release of PlatformIO

    about = {"type": "tool", "name": "tool-scons", "version": version}
    origin = {"owner": "platformio", "name": "tool-scons", "id": None, "requirements": None}
    files = {
        "package.json": json.dumps({**about, "description": "The Python environment's own SCons"}),
        ".piopm": json.dumps({**about, "spec": {**origin, "uri": Path(scons.origin).parent.as_uri()}}),
        "scons.py": "from SCons.Script import main\n\nmain()\n",
        marker.name: version,
    }
    packages.mkdir(parents=True, exist_ok=True)
    # Beside packages/, not in it: PlatformIO takes every folder in there for a package.
    draft = Path(tempfile.mkdtemp(prefix="tool-scons-", dir=packages.parent))
    for name, text in files.items():
        (draft / name).write_text(text, encoding="utf8")
    try:
        draft.rename(package)
    except OSError:  # another build, started at the same moment, was first
        shutil.rmtree(draft)
