"""What tests of the command line pretend about this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from serial.tools import list_ports

from models import datasets, datasets_index, datasets_sources


@pytest.fixture
def ports(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The serial ports this machine seems to have: none, until a test adds one."""
    found: list[Any] = []
    monkeypatch.setattr(list_ports, "comports", lambda: found)
    return found


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No dataset but those of scikit-learn, and no way to get one."""
    monkeypatch.delenv(datasets.FOLDER_VARIABLE, raising=False)
    monkeypatch.setattr(datasets, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setenv(datasets_index.OFFLINE_VARIABLE, "1")
    monkeypatch.setattr(datasets_sources, "OPENML", {})
