"""From training to rows on boards that are programmed by the real tools, with simavr behind their ports."""

from __future__ import annotations

import csv
import io
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from serial.tools import list_ports

from harness import boards, locks, runner, suites
from harness.bench import Place
from harness.build import Firmware, build
from harness.errors import PortError
from harness.events import Event, Kind
from harness.jobs import Job
from harness.link.frames import Decoder
from harness.link.identity import Hello
from harness.link.messages import Kind as Message
from harness.session import Checks, Session
from harness.spool import SampleLog, Spool
from harness.targets.checks import check_target
from harness.targets.serialport import SerialTarget
from harness.upload import upload
from tests.harness import virtualboard
from tests.harness.avrboards import needs_simulator
from tests.harness.virtualboard import VirtualBoard
from tests.models.device_models import make

pytestmark = [
    needs_simulator,
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("avrdude") is None, reason="avrdude is not on PATH"),
]

SUITE = replace(
    suites.load("quick"),
    datasets=("cancer",),
    models=("linear",),
    numbers=("int8",),
    budgets=(512,),
    effort="fast",
    samples=40,
)
ELSEWHERE = (
    "target",
    "timing",
    "stack_peak",
    "energy_uJ",
    "energy_low_uJ",
    "energy_high_uJ",
    "energy_net_uJ",
)
"""Columns in which a real board and a simulated one differ: nobody sees a real one's pin and stack."""


@pytest.fixture(autouse=True)
def own_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(locks.VARIABLE, str(tmp_path / "locks"))


def rows(folder: Path) -> list[dict[str, str]]:
    found = list(csv.DictReader(io.StringIO((folder / "rows.csv").read_text())))
    return [{key: value for key, value in row.items() if key not in ELSEWHERE} for row in found]


def image_of(firmware: Firmware, folder: Path) -> bytes:
    binary = folder / "firmware.bin"
    command = ["avr-objcopy", "-I", "ihex", "-O", "binary", str(firmware.hex), str(binary)]
    subprocess.run(command, check=True)
    return binary.read_bytes()


@pytest.mark.parametrize("name", ["uno", "mega2560"])
def test_what_is_uploaded_is_what_is_measured(tmp_path: Path, name: str) -> None:
    runner.run(SUITE, board=name, out=tmp_path / "simulated", jobs=1)
    with VirtualBoard(boards.load(name), tmp_path) as board:
        done = runner.run(SUITE, places=[Place(name, port=board.port)], out=tmp_path / "real")
        assert (done.ok, done.failed) == (1, 0), rows(tmp_path / "real")
        assert board.chip.uploads == 1
    assert rows(tmp_path / "real") == rows(tmp_path / "simulated")
    assert (tmp_path / "real" / "samples.csv").read_bytes() == (
        tmp_path / "simulated" / "samples.csv"
    ).read_bytes()


@pytest.mark.parametrize("name", ["uno", "mega2560", "leonardo"])
def test_the_flash_holds_the_image_and_boots_it(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = boards.load(name)
    model = make("linear", "int8")
    firmware = build(model, board)
    expected = image_of(firmware, tmp_path)
    with VirtualBoard(board, tmp_path, touch=name == "leonardo") as virtual:
        usb = SimpleNamespace(device=virtual.port, vid=0x2341, pid=0x8036, serial_number=None)
        monkeypatch.setattr(list_ports, "comports", lambda: [usb] if Path(virtual.port).exists() else [])
        upload(firmware, Place(name, port=virtual.port))
        flash = virtual.chip.flash
        assert virtual.touched is (name == "leonardo")
    assert flash[: len(expected)] == expected
    assert set(flash[len(expected) + 256 :]) == {0xFF}
    running = virtualboard.Firmware(board, flash, tmp_path)
    (ready,) = Decoder().feed(running.said())
    running.close()
    assert ready.kind == Message.READY
    hello = Hello.parse(ready.payload)
    assert (hello.board, hello.model_hash) == (name, model.digest)


def test_a_leonardo_that_shows_no_usb_needs_its_button_pressed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.upload.PRESS_PATIENCE", 0.5)
    monkeypatch.setattr(list_ports, "comports", list)
    firmware = build(make("linear", "int8"), boards.load("leonardo"))
    said: list[str] = []
    with (
        VirtualBoard(boards.load("leonardo"), tmp_path) as adapter,
        pytest.raises(PortError, match="No Arduino Leonardo shows itself on USB"),
    ):
        upload(firmware, Place("leonardo", port=adapter.port), tell=said.append)
    assert said == ["press the reset button of the Arduino Leonardo"]


@contextmanager
def server(board: str, folder: Path) -> Iterator[str]:
    """The URL of a virtual board that another process serves."""
    command = [sys.executable, "-m", "tests.harness.rfc2217_server", board, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"rfc2217://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.kill()


def test_a_board_on_another_machine_is_programmed_and_measured(tmp_path: Path) -> None:
    runner.run(SUITE, board="uno", out=tmp_path / "simulated", jobs=1)
    with server("uno", tmp_path) as url:
        done = runner.run(SUITE, places=[Place("uno", port=url)], out=tmp_path / "remote")
        assert (done.ok, done.failed) == (1, 0), rows(tmp_path / "remote")
        check_target(lambda: SerialTarget(boards.load("uno"), url))
    assert rows(tmp_path / "remote") == rows(tmp_path / "simulated")


def test_two_boards_do_their_jobs_side_by_side(tmp_path: Path) -> None:
    suite = replace(SUITE, samples=12)
    (tmp_path / "right").mkdir()
    with (
        VirtualBoard(boards.load("uno"), tmp_path) as left,
        VirtualBoard(boards.load("mega2560"), tmp_path / "right") as right,
    ):
        places = [Place("uno", port=left.port), Place("mega2560", port=right.port)]
        done = runner.run(suite, places=places, out=tmp_path / "run")
        assert (left.chip.uploads, right.chip.uploads) == (1, 1)
    assert done.ok == 2
    assert [row["board"] for row in rows(tmp_path / "run")] == ["uno", "mega2560"]


def test_a_board_that_is_unplugged_is_waited_for_by_its_serial_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    board, model = boards.load("uno"), make("linear", "int8")
    X = np.random.default_rng(0).normal(size=(200, model.n_features)) * 50
    here: list[SimpleNamespace] = []
    monkeypatch.setattr(list_ports, "comports", lambda: list(here))
    spool = Spool(tmp_path / "parts")
    spool.prepare()
    said: list[str] = []
    job = Job("uno", "noise", "linear", "int8", 512)
    with VirtualBoard(board, tmp_path) as virtual:

        def show() -> None:
            here.append(
                SimpleNamespace(device=virtual.port, vid=0x2341, pid=0x43, serial_number="7563031353")
            )

        def come_back() -> None:
            virtual.plug("ttyACM1")
            show()

        def pull(done: int) -> None:
            if done == 100:
                here.clear()
                virtual.unplug()
                threading.Timer(1.0, come_back).start()

        show()
        upload(build(model, board), Place("uno", port=virtual.port))
        with (
            SerialTarget(board, virtual.port, serial="7563031353") as target,
            SampleLog(spool, job) as log,
        ):
            session = Session(target, model, log, wait=True, tell=said.append)
            session.run(X, model.predict(X), Checks(0), pull)
            stored = list(log.read())
    assert virtual.port.endswith("ttyACM1")
    assert [sample.number for sample in stored] == list(range(200))
    assert all(sample.device_class == sample.host_class for sample in stored)
    assert said == [
        "waiting: The board with the USB serial number 7563031353 is not connected.",
        "it is back",
    ]


def test_a_run_without_the_board_says_so_and_with_wait_goes_on(tmp_path: Path) -> None:
    board = VirtualBoard(boards.load("uno"), tmp_path)
    suite = replace(SUITE, samples=12)
    with pytest.raises(PortError, match="There is no port"):
        runner.run(suite, places=[Place("uno", port=board.port)], out=tmp_path / "run")
    told: list[Event] = []

    def hear(event: Event) -> None:
        told.append(event)
        if event.kind is Kind.WAITING:
            board.__enter__()

    try:
        done = runner.run(
            suite, places=[Place("uno", port=board.port)], out=tmp_path / "run", wait=True, on_event=hear
        )
    finally:
        board.__exit__(None, None, None)
    assert done.ok == 1
    assert [event.note for event in told if event.kind is Kind.WAITING] == [
        f"waiting: There is no port {board.port} to upload to."
    ]
