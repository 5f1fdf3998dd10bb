"""Where the project keeps its data files, and where this user keeps caches and settings."""

from __future__ import annotations

import os
from pathlib import Path


def project() -> Path:
    """The folder that holds boards/, firmware/ and results/: the checkout, or the copy inside a wheel."""
    checkout = Path(__file__).resolve().parent.parent
    if (checkout / "boards").is_dir():
        return checkout
    return Path(__file__).resolve().parent / "_project"


def cache() -> Path:
    """Built firmware, the simulator runner and PlatformIO's state; safe to delete at any time."""
    chosen = os.environ.get("KILOBENCH_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "kilobench"


def config() -> Path:
    """bench.toml and board files of this user's own."""
    chosen = os.environ.get("KILOBENCH_CONFIG")
    if chosen:
        return Path(chosen).expanduser()
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "kilobench"
