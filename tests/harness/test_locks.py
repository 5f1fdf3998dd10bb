"""One board, one run: whoever comes second hears who was first, and the dead hold nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness import locks
from harness.bench import Place
from harness.errors import PortError, SetupError

UNO = Place("uno", "left", serial="L1", port="/dev/ttyACM0")
OTHER = Place("uno", port="/dev/ttyACM1")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "locks"
    monkeypatch.setenv(locks.VARIABLE, str(path))
    return path


def test_a_board_in_use_is_refused_with_its_owner() -> None:
    with locks.held([UNO]):
        owner = locks.holder(UNO)
        assert owner is not None and owner.pid == os.getpid()
        again = Place("uno", serial="L1", port="/dev/ttyACM7")  # the same board on another port
        with pytest.raises(PortError, match=rf"in use by .*process {os.getpid()} on .*since 20.*0 s ago"):
            locks.held([again]).__enter__()
        with locks.held([OTHER]):
            assert locks.holder(OTHER) is not None
    assert locks.holder(UNO) is None
    with locks.held([UNO]):
        pass


def test_of_two_boards_both_are_held_or_none() -> None:
    with locks.held([OTHER]):
        with pytest.raises(PortError):
            locks.held([UNO, OTHER]).__enter__()
        assert locks.holder(UNO) is None


def test_the_lock_of_a_dead_owner_is_taken_over() -> None:
    code = (
        "import time; from harness import locks; from harness.bench import Place\n"
        "with locks.held([Place('uno', 'left', serial='L1')]):\n"
        "    print('held', flush=True); time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "held\n"
        with pytest.raises(PortError, match=f"process {process.pid} "):
            locks.held([UNO]).__enter__()
        process.send_signal(signal.SIGKILL)
        process.wait()
    with locks.held([UNO]):
        owner = locks.holder(UNO)
        assert owner is not None and owner.pid == os.getpid()


def test_other_users_can_lock_the_same_board(folder: Path) -> None:
    with locks.held([UNO]):
        (path,) = folder.iterdir()
        assert path.stat().st_mode & 0o777 == 0o666
        assert folder.stat().st_mode & 0o7777 == 0o1777


def test_a_folder_that_cannot_be_written_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(locks.VARIABLE, "/proc/nowhere")
    with pytest.raises(SetupError, match="cannot be made"):
        locks.held([UNO]).__enter__()


@pytest.mark.parametrize(
    ("seconds", "text"), [(3, "3 s ago"), (60, "1 minute ago"), (7300, "2 hours ago"), (90_000, "1 day ago")]
)
def test_ages_are_told_as_people_do(seconds: int, text: str) -> None:
    assert locks.age(time.time() - seconds) == text
