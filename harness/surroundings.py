"""What a result depends on beside the code that was measured: versions, the source's state, the host."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from harness import paths

PACKAGES = ("kilobench", "numpy", "scipy", "scikit-learn", "pyserial", "platformio")


def describe() -> dict[str, Any]:
    """For run.json."""
    return {"versions": versions(), "git": git_state(), "host": host()}


def versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def git_state() -> dict[str, Any] | None:
    """The checkout's commit and whether it was changed; None outside of one."""
    commit = _git("rev-parse", "HEAD")
    if commit is None:
        return None
    return {"commit": commit, "dirty": bool(_git("status", "--porcelain"))}


def host() -> dict[str, Any]:
    """The machine's kind, not its name: results are published."""
    return {"system": platform.platform(), "machine": platform.machine(), "cpus": os.cpu_count()}


def _git(*words: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", *words], cwd=paths.project(), capture_output=True, text=True, check=True, timeout=10
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
