"""bench.toml: every key checked; and which board is meant by a name, a type or a port."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from serial.tools import list_ports

from harness import bench, boards, connected, desk
from harness.bench import Place
from harness.errors import BenchError, InputError, PortError, UnknownName

DESK = """
[boards.left]
type = "uno"
serial = "L1"
meter = "ina219:/dev/ttyUSB3"

[boards.lab]
type = "mega2560"
port = "rfc2217://lab:4000"
"""


@pytest.fixture
def ports(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The serial ports this machine seems to have."""
    found: list[Any] = []
    monkeypatch.setattr(list_ports, "comports", lambda: list(found))
    return found


def usb(device: str, serial: str | None, pid: int = 0x0043, vid: int = 0x2341) -> SimpleNamespace:
    return SimpleNamespace(device=device, vid=vid, pid=pid, serial_number=serial)


def written(folder: Path, text: str = DESK) -> Path:
    path = folder / "bench.toml"
    path.write_text(text, encoding="utf8")
    return path


def test_boards_of_the_desk_by_name(tmp_path: Path) -> None:
    found = bench.load(written(tmp_path))
    assert found == {
        "left": Place("uno", "left", serial="L1", meter="ina219:/dev/ttyUSB3"),
        "lab": Place("mega2560", "lab", port="rfc2217://lab:4000"),
    }
    assert all(place.real for place in found.values())


def test_the_users_file_is_found_and_may_be_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KILOBENCH_CONFIG", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert bench.load() == {}
    (tmp_path / "kilobench").mkdir()
    written(tmp_path / "kilobench")
    assert set(bench.load()) == {"left", "lab"}
    with pytest.raises(BenchError, match="cannot be read"):
        bench.load(tmp_path / "elsewhere.toml")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('type = "uno"', "", "key 'boards.left.type' is missing"),
        ('type = "uno"', 'type = "unno"', "key 'boards.left.type' is 'unno'"),
        ('serial = "L1"', "serial = 7", "key 'boards.left.serial' is 7"),
        ('serial = "L1"', "", "'boards.left' has neither serial nor port"),
        ('serial = "L1"', 'colour = "red"', "unknown key 'boards.left.colour'"),
        ("[boards.left]", "[boards.uno]", "'boards.uno' has the name of a board type"),
        ("[boards.left]", "[meters.left]", "unknown table 'meters'"),
        ('port = "rfc', 'serial = "L1"\nport = "rfc', "'boards.left' and 'boards.lab' have the same serial"),
        ("[boards.left]", "[boards.left", "line 2"),
    ],
)
def test_a_mistake_is_named_with_its_file_and_key(tmp_path: Path, old: str, new: str, says: str) -> None:
    assert old in DESK
    path = written(tmp_path, DESK.replace(old, new, 1))
    with pytest.raises(BenchError) as caught:
        bench.load(path)
    assert says in str(caught.value) and str(path) in str(caught.value)
    assert caught.value.remedy


def test_a_board_is_found_by_its_serial_number_whatever_its_port(tmp_path: Path, ports: list[Any]) -> None:
    named = bench.load(written(tmp_path))
    with pytest.raises(PortError, match=r"left .*L1.* is not connected"):
        connected.find("left", named)
    ports += [usb("/dev/ttyACM0", "X9"), usb("/dev/ttyACM5", "L1")]
    place = connected.find("left", named)
    assert (place.port, place.serial, place.meter) == ("/dev/ttyACM5", "L1", "ina219:/dev/ttyUSB3")
    assert connected.find("lab", named).port == "rfc2217://lab:4000"


def test_a_type_means_the_only_board_of_it(tmp_path: Path, ports: list[Any]) -> None:
    ports.append(usb("/dev/ttyACM5", "X9"))
    assert connected.find("uno", {}).port == "/dev/ttyACM5"
    assert connected.find("uno", {}).serial == "X9"
    assert connected.find("mega2560", bench.load(written(tmp_path))).port == "rfc2217://lab:4000"
    with pytest.raises(UnknownName, match="unno"):
        connected.find("unno", {})


def test_two_of_a_type_are_both_named_or_asked_for(tmp_path: Path, ports: list[Any]) -> None:
    ports += [usb("/dev/ttyACM0", "X9"), usb("/dev/ttyACM5", "L1")]
    named = bench.load(written(tmp_path))
    with pytest.raises(PortError, match=r"2 ports .*: left \(/dev/ttyACM5, L1\), /dev/ttyACM0 \(X9\)"):
        connected.find("uno", named)
    chosen = connected.find("uno", named, ask=lambda board, found: found[1])
    assert chosen.port == "/dev/ttyACM0"
    assert connected.find("uno", named, port="/dev/ttyACM5").serial == "L1"


def test_a_bridge_that_may_be_several_types_is_what_the_desk_says(tmp_path: Path, ports: list[Any]) -> None:
    ports.append(usb("/dev/ttyUSB0", "L1", pid=0x7523, vid=0x1A86))
    (plug,) = connected.plugged()
    assert {"uno", "nano", "mega2560"} <= set(plug.types)
    assert [place.port for place in connected.candidates(boards.load("nano"), [])] == ["/dev/ttyUSB0"]
    named = bench.load(written(tmp_path)).values()
    assert connected.candidates(boards.load("nano"), named) == []
    assert [place.name for place in connected.candidates(boards.load("uno"), named)] == ["left"]


def test_a_serial_number_that_two_ports_share_tells_nothing(ports: list[Any]) -> None:
    ports += [usb("/dev/ttyACM0", "0001"), usb("/dev/ttyACM1", "0001")]
    assert connected.port_of("0001") is None
    assert connected.serial_of("/dev/ttyACM1") == ""


def test_one_lock_for_every_name_of_a_board(tmp_path: Path) -> None:
    (tmp_path / "tty").touch()
    (tmp_path / "link").symlink_to(tmp_path / "tty")
    assert (
        Place("uno", port=str(tmp_path / "link")).identity
        == Place("uno", port=str(tmp_path / "tty")).identity
    )
    faulty = Place("uno", port=f"faulty://{tmp_path / 'tty'}?flip=0.1")
    assert faulty.identity == str(tmp_path / "tty")
    assert (
        Place("uno", port="/dev/a", serial="S").identity == Place("nano", port="/dev/b", serial="S").identity
    )


def test_places_of_a_command_line(tmp_path: Path, ports: list[Any]) -> None:
    ports.append(usb("/dev/ttyACM5", "L1"))
    file = written(tmp_path)

    def places(*names: str, port: str | None = None, simulate: bool = False) -> list[Place]:
        return desk.places(list(names), file, port=port, simulate=simulate, wait=False)

    assert [place.port for place in places("left", "lab")] == ["/dev/ttyACM5", "rfc2217://lab:4000"]
    assert places("left", "nano", simulate=True) == [Place("uno"), Place("nano")]
    with pytest.raises(InputError, match="named twice"):
        places("left", "uno")
    with pytest.raises(InputError, match="--port names one board"):
        places("left", "lab", port="/dev/ttyACM5")
    with pytest.raises(UnknownName, match="rigth"):
        places("rigth", simulate=True)


def test_a_person_is_asked_which_of_two(
    ports: list[Any], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ports += [usb("/dev/ttyACM0", "X9"), usb("/dev/ttyACM5", "L1")]
    monkeypatch.setattr(desk, "_somebody_there", lambda: True)
    for answer, port in ((1, "/dev/ttyACM0"), (2, "/dev/ttyACM5")):
        monkeypatch.setattr("typer.prompt", lambda *_, answer=answer, **__: answer)
        (place,) = desk.places(["uno"], None, port=None, simulate=False, wait=False)
        assert place.port == port
    assert "  2  /dev/ttyACM5 (L1)" in capsys.readouterr().err
    monkeypatch.setattr("typer.prompt", lambda *_, **__: 3)
    with pytest.raises(InputError, match="no number 3"):
        desk.places(["uno"], None, port=None, simulate=False, wait=False)
