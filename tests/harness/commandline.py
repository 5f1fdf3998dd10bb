"""What tests of several commands share: a suite of seconds, and what a refusal looks like."""

from __future__ import annotations

import shutil
from types import SimpleNamespace

import pytest

from harness import cli

SMALL = """
title = "Seconds, not minutes"
datasets = ["cancer"]
models = ["linear"]
numbers = ["int8", "float32"]
budgets = ["512B"]
effort = "fast"
"""
SUITE = f"{SMALL}samples = 12\n"

needs_avr = pytest.mark.skipif(shutil.which("avr-gcc") is None, reason="avr-gcc is not installed")


def refused(capsys: pytest.CaptureFixture[str], *line: str) -> str:
    """What stderr says of a command that must fail with code 2: two lines, nothing on stdout."""
    capsys.readouterr()
    assert cli.run_line(line) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("kilobench: ")
    assert said.err.count("\n") == 2, said.err
    assert "Traceback" not in said.err
    return said.err


def usb_port(device: str, vid: int = 0x2341, pid: int = 0x0043) -> SimpleNamespace:
    """As pyserial lists it; an Uno's, if nothing else is said."""
    return SimpleNamespace(device=device, vid=vid, pid=pid, description="Arduino Uno")
