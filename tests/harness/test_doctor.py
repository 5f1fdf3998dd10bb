"""doctor: what is there, what is not, and the exact words that help."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from serial.tools import list_ports

from harness import cli, doctor, selftest
from harness.doctor import Check
from harness.errors import SetupError


def only(checks: Iterator[Check]) -> Check:
    (check,) = checks
    return check


def test_this_python_is_good_enough() -> None:
    assert only(doctor.python()).status == "ok"


def test_packages_are_those_the_project_declares() -> None:
    check = only(doctor.packages())
    assert check.status == "ok"
    for name in ("numpy", "pyserial", "platformio", "typer"):
        assert f"{name} " in check.detail
    assert "pytest" not in check.detail, "an extra is not needed"


def test_missing_and_old_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        metadata,
        "requires",
        lambda _: ["no-such-thing>=1", "numpy>=999.1", 'pytest>=8; extra == "dev"'],
    )
    check = only(doctor.packages())
    assert check.status == "missing"
    assert "no-such-thing (missing)" in check.detail
    assert "(needs 999.1)" in check.detail
    assert check.hurts
    assert check.remedy.startswith("Run: pip install")


def test_a_missing_compiler_has_its_apt_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    check = only(doctor.compiler())
    assert (check.name, check.status) == ("avr-gcc", "missing")
    assert check.remedy == "Run: sudo apt install gcc-avr avr-libc binutils-avr"


def test_a_compiler_without_its_library_is_found_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake = tmp_path / "avr-gcc"
    fake.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "avr-gcc 5.4.0" && exit 0\nexit 1\n')
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    first, second = doctor.compiler()
    assert (first.status, first.detail) == ("ok", "avr-gcc 5.4.0")
    assert (second.name, second.status) == ("avr-libc", "missing")
    assert second.hurts


def test_the_build_tools_of_this_environment_are_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert [check.status for check in doctor.build_tools()] == ["ok", "ok"]
    monkeypatch.setattr("harness.doctor.sys.executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert [check.remedy for check in doctor.build_tools()] == [
        "Run: pip install platformio",
        "Run: pip install scons",
    ]


def test_a_simulator_that_counts_wrongly_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    proofs = [
        selftest.Check("atmega328p interrupts", True, "8 cycles for entry and return"),
        selftest.Check("atmega328p sleep", False, "9 cycles awake", "Install another version."),
    ]
    monkeypatch.setattr(selftest, "checks", lambda: proofs)
    good, bad = doctor.simulator()
    assert (good.status, good.hurts) == ("ok", False)
    assert (bad.status, bad.hurts, bad.remedy) == ("broken", True, "Install another version.")


def test_a_simulator_that_cannot_start_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> list[selftest.Check]:
        raise SetupError("libsimavr is missing.")

    monkeypatch.setattr(selftest, "checks", missing)
    check = only(doctor.simulator())
    assert check.detail == "libsimavr is missing."
    assert "sudo apt install" in check.remedy
    assert "libsimavr-dev" in check.remedy


def test_absent_datasets_are_a_note(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("KILOBENCH_DATA", raising=False)
    monkeypatch.setenv("KILOBENCH_CACHE", str(tmp_path))
    check = only(doctor.dataset_folder())
    assert check.status == "note"
    assert "digits" in check.detail.partition(";")[0]
    assert "usps-2" in check.detail.partition(";")[2]
    assert not check.hurts


def test_a_dataset_folder_that_is_none_is_broken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KILOBENCH_DATA", str(tmp_path / "gone"))
    check = only(doctor.dataset_folder())
    assert check.hurts
    assert "gone" in check.detail


def test_a_port_without_permission_names_the_group(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen: Any = SimpleNamespace(device=str(tmp_path / "ttyACM0"), description="Arduino Uno")
    monkeypatch.setattr(list_ports, "comports", lambda: [seen])
    check = only(doctor.serial_ports())  # the file is not there, so that it can't be opened by root either
    assert check.status == "broken"
    assert "usermod -aG dialout" in check.remedy
    assert not check.hurts, "--sim works all the same"
    Path(seen.device).touch()
    assert only(doctor.serial_ports()).status == "ok"


def test_no_port_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_ports, "comports", list)
    assert only(doctor.serial_ports()).status == "note"


@pytest.mark.parametrize(("needed", "code"), [(True, 2), (False, 0)])
def test_only_what_is_needed_decides_the_exit_code(
    needed: bool, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    checks = [
        Check("one", "ok", "works"),
        Check("two", "missing", "[gone]", "Run: sudo apt install two", needed=needed),
    ]
    monkeypatch.setattr(doctor, "examine", lambda: iter(checks))
    assert cli.run_line(["doctor", "--json"]) == code
    facts = json.loads(capsys.readouterr().out)
    assert facts["ok"] is (code == 0)
    assert [check["name"] for check in facts["checks"]] == ["one", "two"]
    assert cli.run_line(["doctor"]) == code
    text = capsys.readouterr().out
    assert "[gone]" in text
    assert "Run: sudo apt install two" in text
    assert ("not working: two" in text) is needed
