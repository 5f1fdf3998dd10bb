from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import serial

from harness import boards
from harness.errors import NoAnswer, PortError
from harness.link import requests
from harness.link.client import Link
from harness.targets.serialport import SerialTarget
from tests.harness.fake_device import FakeDevice

UNO = boards.load("uno")


@dataclass
class Pty:
    """A serial line without hardware: the board's end and the name of the computer's."""

    board: int
    name: str


@pytest.fixture
def pty() -> Iterator[Pty]:
    board, computer = os.openpty()
    yield Pty(board, os.ttyname(computer))
    for handle in (board, computer):
        os.close(handle)


@pytest.fixture
def dtr(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """What is done to DTR; a pty has none."""
    states: list[bool] = []

    def record(port: serial.Serial) -> None:
        states.append(bool(port.dtr))

    monkeypatch.setattr(serial.Serial, "_update_dtr_state", record)
    monkeypatch.setattr(serial.Serial, "_update_rts_state", lambda _: None)
    return states


def test_a_missing_port_is_named(tmp_path: Path) -> None:
    with pytest.raises(PortError, match=r"There is no port .*/ttyACM7") as caught:
        SerialTarget(UNO, str(tmp_path / "ttyACM7")).open()
    assert caught.value.remedy


def test_a_file_is_no_port(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PortError, match="cannot be used as a serial port"):
        SerialTarget(UNO, str(tmp_path / "file")).open()


def test_an_unknown_kind_of_url_is_refused() -> None:
    with pytest.raises(PortError, match="nosuch://here cannot be used"):
        SerialTarget(UNO, "nosuch://here").open()


def test_a_host_that_does_not_answer_is_refused() -> None:
    with pytest.raises(PortError, match=r"socket://127\.0\.0\.1:1"):
        SerialTarget(UNO, "socket://127.0.0.1:1").open()


def test_a_busy_port_is_refused(pty: Pty) -> None:
    with SerialTarget(UNO, pty.name) as first:
        first.open()
        with pytest.raises(PortError, match="in use by another program"):
            SerialTarget(UNO, pty.name).open()


@pytest.mark.parametrize(
    ("code", "says", "remedy"),
    [
        (errno.EACCES, "may not open", "group dialout"),
        (errno.EBUSY, "in use", "serial monitor"),
        (errno.EIO, "cannot be used", "cable"),
    ],
)
def test_what_the_system_refuses(
    pty: Pty, monkeypatch: pytest.MonkeyPatch, code: int, says: str, remedy: str
) -> None:
    def refuse(port: serial.Serial) -> None:
        raise serial.SerialException(code, f"could not open port: {os.strerror(code)}")

    monkeypatch.setattr(serial.Serial, "open", refuse)
    with pytest.raises(PortError, match=says) as caught:
        SerialTarget(UNO, pty.name).open()
    assert remedy in caught.value.remedy


def test_a_silent_port_is_reported(pty: Pty, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "SILENT_ATTEMPTS", 2)
    with SerialTarget(UNO, pty.name) as target, pytest.raises(NoAnswer, match=pty.name):
        Link(target.open()).hello()


def test_a_device_behind_a_real_port(pty: Pty) -> None:
    device = FakeDevice(chunk_bytes=3)
    ended = threading.Event()

    def answer() -> None:
        while not ended.is_set():
            data = os.read(pty.board, 1024)
            os.write(pty.board, b"".join(device.receive(data)))

    thread = threading.Thread(target=answer, daemon=True)
    with SerialTarget(UNO, pty.name) as target:
        link = Link(target.open())
        thread.start()
        samples = [bytes([n] * 8) for n in range(20)]
        assert [link.predict(s).class_index for s in samples] == [device.class_of(s) for s in samples]
        assert link.resent == 0
        ended.set()
        link_port = target.open()
        link_port.write(b"\\0")
        thread.join(5)


def test_reset_is_a_pulse_of_dtr(pty: Pty, dtr: list[bool]) -> None:
    with SerialTarget(UNO, pty.name) as target:
        port = target.open()
        dtr.clear()
        os.write(pty.board, b"old words")
        target.reset()
        assert dtr == [False, True]
        port.timeout = 0.05
        assert port.read(9) == b""


def test_the_port_of_another_machine_by_url(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    honest = serial.serial_for_url

    def record(url: str, **options: Any) -> Any:
        seen.append((url, options["baudrate"]))
        return honest("loop://", **options)

    monkeypatch.setattr(serial, "serial_for_url", record)
    with SerialTarget(UNO, "rfc2217://desk:4000") as target:
        target.open()
    assert seen == [("rfc2217://desk:4000", UNO.baud)]


def test_what_a_real_board_can_and_cannot_tell(pty: Pty) -> None:
    with SerialTarget(UNO, pty.name) as target:
        target.open()
        facts = target.facts()
        assert (facts.target, facts.timing) == (pty.name, "device timer")
        assert (facts.cycles, facts.slept, facts.overruns, facts.stack_peak) == (None, None, None, None)
        assert target.windows() == []
    target.close()  # a second time does no harm


def test_a_reset_needs_an_open_port(pty: Pty) -> None:
    with pytest.raises(PortError, match="not open"):
        SerialTarget(UNO, pty.name).reset()
