"""The socket to the simulator when its other end misbehaves."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.errors import SimulatorError
from harness.targets import simwire


@pytest.fixture
def silent(tmp_path: Path) -> Iterator[str]:
    """A socket that accepts and never answers."""
    path = str(tmp_path / "port")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(path)
        listener.listen()
        yield path


def test_a_simulator_that_never_answers_is_given_up(silent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simwire, "_PATIENCE", 1)
    with pytest.raises(SimulatorError, match="has not answered for 1 seconds"):
        simwire.Connection(silent).counters()


def test_a_board_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SimulatorError, match="No simulated board listens at"):
        simwire.Connection(str(tmp_path / "port"))
