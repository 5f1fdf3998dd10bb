"""No simulator outlives its owner, however that ends; and one that dies is an error, not a hang."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.errors import SetupError, SimulatorError
from harness.targets import runner_build
from harness.targets.simavr import SimavrTarget
from tests.harness.avrboards import UNO, build, needs_simulator, runner_pid, running

pytestmark = needs_simulator

OWNER = """
import sys
from pathlib import Path
from harness.targets.simavr import SimavrTarget
from tests.harness.avrboards import UNO, runner_pid
target = SimavrTarget(UNO, Path(sys.argv[1]))
port = target.open()
print(runner_pid(target), str(port.port).removeprefix("simavr://"), flush=True)
exec(sys.argv[2])
"""
WAIT = "port.timeout = None; port.read(2)"


@contextmanager
def owner(elf: Path, act: str) -> Iterator[tuple[subprocess.Popen[str], int, Path]]:
    """A Python process that opens a target and does something with it; also the runner and its socket."""
    root = Path(__file__).resolve().parents[2]
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(elf), act],
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        pid, path = process.stdout.readline().split()
        yield process, int(pid), Path(path)
    finally:
        process.kill()
        process.communicate()


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def assert_gone(pid: int, path: Path) -> None:
    deadline = time.monotonic() + 5.0
    while (alive(pid) or path.parent.exists()) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not alive(pid), "the simulator still runs"
    assert not path.parent.exists(), "its folder is still there"


@pytest.mark.parametrize("busy", [False, True])
def test_kill_of_the_owner_ends_the_simulator(busy: bool) -> None:
    act = WAIT if busy else "import time; time.sleep(60)"
    with owner(build("endless.c"), act) as (process, pid, path):
        assert alive(pid)
        time.sleep(0.05)
        process.kill()
        process.wait()
        assert_gone(pid, path)


def test_ctrl_c_interrupts_a_long_read_and_leaves_nothing() -> None:
    with owner(build("endless.c"), WAIT) as (process, pid, path):
        time.sleep(0.1)
        os.killpg(process.pid, signal.SIGINT)
        _, complaint = process.communicate(timeout=5)
        assert "KeyboardInterrupt" in complaint
        assert_gone(pid, path)


@pytest.mark.parametrize("act", ["raise RuntimeError", "pass", "import os; os._exit(3)", "del target, port"])
def test_an_owner_that_forgets_to_close_leaves_nothing(act: str) -> None:
    with owner(build("endless.c"), act) as (process, pid, path):
        process.wait(5)
        assert_gone(pid, path)


def test_close_ends_the_simulator_even_in_a_long_run() -> None:
    target = SimavrTarget(UNO, build("endless.c"))
    port = target.open()
    pid, path = runner_pid(target), Path(str(port.port).removeprefix("simavr://"))
    port._start(2, 10**11)  # type: ignore[attr-defined]
    target._port = None
    begin = time.monotonic()
    target.close()
    assert time.monotonic() - begin < 2.0
    assert_gone(pid, path)


def test_an_exception_inside_with_ends_the_simulator() -> None:
    with pytest.raises(ZeroDivisionError), running(build("sleepy.c")) as (target, port):
        pid, path = runner_pid(target), Path(str(port.port).removeprefix("simavr://"))
        raise ZeroDivisionError
    assert_gone(pid, path)


def test_the_thread_that_opened_may_end() -> None:
    target = SimavrTarget(UNO, build("sleepy.c"))
    thread = threading.Thread(target=target.open)
    thread.start()
    thread.join()
    time.sleep(0.05)
    try:
        assert target.open().read(1) == b"S"
    finally:
        target.close()


def test_a_simulator_that_dies_is_an_error() -> None:
    with running(build("sleepy.c")) as (target, port):
        os.kill(runner_pid(target), signal.SIGKILL)
        with pytest.raises(SimulatorError, match="has ended"):
            port.read(1)


def test_the_runner_is_compiled_once_and_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KILOBENCH_CACHE", str(tmp_path))
    paths: list[Path] = []
    threads = [threading.Thread(target=lambda: paths.append(runner_build.runner())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(paths)) == 1
    stamp = paths[0].stat().st_mtime_ns
    assert runner_build.runner() == paths[0]
    assert paths[0].stat().st_mtime_ns == stamp
    assert [file.name for file in paths[0].parent.iterdir()] == ["avrboard"]


def test_the_runner_compiles_without_a_warning(tmp_path: Path) -> None:
    command = runner_build.PROGRAM.command("gcc", tmp_path / "avrboard")
    subprocess.run([*command, "-Werror", "-Wshadow", "-Wstrict-prototypes"], check=True)


def test_a_peer_that_speaks_something_else_is_dropped_and_the_board_lives() -> None:
    with running(build("sleepy.c")) as (_, port):
        path = str(port.port).removeprefix("simavr://")
        for nonsense in (b"GET / HTTP/1.0\r\n\r\n", b"z\0\0\0\0", b"r\1\0\0\0x", b"l\0\0\0\0"):
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
                peer.connect(path)
                peer.sendall(nonsense)
                assert peer.recv(1) == b""
        assert port.read(1) == b"S"


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KILOBENCH_CACHE", str(tmp_path))
    monkeypatch.setattr(runner_build, "_INCLUDES", (tmp_path,))
    with pytest.raises(SetupError, match=r"apt-get install .*libsimavr-dev libelf-dev"):
        runner_build.runner()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SetupError, match=r"no C compiler .*apt-get install gcc"):
        runner_build.runner()
