"""No QEMU outlives its owner, however that ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.firmware.boardfirmware import example, missing
from tests.harness.test_simavr_process import alive

pytestmark = pytest.mark.skipif(bool(missing("microbit")), reason=f"needs {missing('microbit')}")

OWNER = """
import sys
from pathlib import Path
from harness import boards
from harness.targets.qemu import QemuTarget
target = QemuTarget(boards.load("microbit"), Path(sys.argv[1]))
port = target.open()
port.timeout = 5.0
assert port.read(1) == b"~"
print(target._machine.pid, flush=True)
exec(sys.argv[2])
"""
BUSY = "port.timeout = None; port.read(100_000)"


@contextmanager
def owner(act: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A Python process that opens a target and does something with it, and the simulator it has started."""
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(example("microbit")), act],
        cwd=Path(__file__).resolve().parents[2],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        yield process, int(process.stdout.readline())
    finally:
        process.kill()
        process.communicate()


def assert_gone(pid: int) -> None:
    deadline = time.monotonic() + 10.0
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not alive(pid), "the simulator still runs"


def test_kill_of_the_owner_ends_the_simulator() -> None:
    with owner(BUSY) as (process, pid):
        assert alive(pid)
        process.kill()
        process.wait()
        assert_gone(pid)


def test_a_forked_child_that_lives_on_does_not_keep_it() -> None:
    """The child has copies of all that the owner had open."""
    act = "import os, time; child = os.fork() or time.sleep(30); print(child, flush=True); time.sleep(30)"
    with owner(act) as (process, pid):
        assert process.stdout is not None
        child = int(process.stdout.readline())
        process.kill()
        process.wait()
        try:
            assert alive(child)
            assert_gone(pid)
        finally:
            os.kill(child, signal.SIGKILL)


@pytest.mark.parametrize("act", ["raise RuntimeError", "import os; os._exit(3)", "del target, port"])
def test_an_owner_that_forgets_to_close_leaves_nothing(act: str) -> None:
    with owner(act) as (process, pid):
        process.wait(10)
        assert_gone(pid)


def test_ctrl_c_interrupts_a_long_read_and_leaves_nothing() -> None:
    with owner(BUSY) as (process, pid):
        time.sleep(0.1)
        os.killpg(process.pid, signal.SIGINT)
        _, complaint = process.communicate(timeout=10)
        assert "KeyboardInterrupt" in complaint
        assert_gone(pid)
