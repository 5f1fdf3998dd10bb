"""A line that damages bytes does so as told, reproducibly; and a run over it ends with a clean run's rows."""

from __future__ import annotations

import os
import tty
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import serial

from harness import boards
from harness.build import build
from harness.errors import InputError, PortError
from harness.faulty import KINDS, Damage, Faults, FaultyPort, FaultyTarget
from harness.jobs import Job
from harness.session import Checks, Measurement, Session
from harness.spool import SampleLog, Spool
from harness.tally import Sample
from harness.targets.checks import check_target
from harness.targets.serialport import open_port
from harness.targets.simavr import SimavrTarget
from models.device import Array, DeviceModel
from tests.harness.avrboards import needs_simulator
from tests.harness.fakes import FakeTarget, device_for, sum_model
from tests.models.device_models import make

BYTES = bytes(range(256)) * 400
JOB = Job("uno", "noise", "protonn", "int8", 512)


def passed(text: str, data: bytes = BYTES, piece: int = 64) -> bytes:
    damage = Damage(Faults.parse(text), "seed")
    return b"".join(damage.on(data[at : at + piece]) for at in range(0, len(data), piece))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("flop=0.1", "no fault 'flop'"),
        ("flip=often", "fault flip is 'often'"),
        ("flip=1", "describes no faulty line"),
        ("drop=-0.1", "describes no faulty line"),
        ("", "describes no faulty line"),
        ("close=2.5", "fault close is '2.5'"),
    ],
)
def test_a_wrong_description_is_refused(text: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        Faults.parse(text)


def test_without_faults_nothing_happens() -> None:
    assert passed("seed=3") == BYTES


@pytest.mark.parametrize(("kind", "growth"), [("drop", -1), ("flip", 0), ("repeat", 1), ("insert", 1)])
def test_faults_are_as_frequent_as_asked_for(kind: str, growth: int) -> None:
    out = passed(f"{kind}=0.01")
    hits = 0.01 * len(BYTES)
    assert len(out) - len(BYTES) == pytest.approx(growth * hits, abs=0.15 * hits)
    if kind == "flip":
        assert sum(a != b for a, b in zip(out, BYTES, strict=True)) == pytest.approx(hits, rel=0.15)


def test_a_cut_loses_the_rest_of_its_piece() -> None:
    out = passed("cut=0.001", piece=1000)
    assert 0.4 * len(BYTES) < len(out) < 0.8 * len(BYTES)


def test_the_same_seed_gives_the_same_damage() -> None:
    text = "&".join(f"{kind}=0.002" for kind in KINDS)
    assert passed(text) == passed(text) != passed(text, BYTES[1:])
    one, other = Damage(Faults.parse(text), "1"), Damage(Faults.parse(text), "2")
    assert one.on(BYTES) != other.on(BYTES)


@pytest.fixture
def pty() -> Iterator[tuple[int, str]]:
    ours, theirs = os.openpty()
    tty.setraw(theirs)
    yield ours, os.ttyname(theirs)
    os.close(theirs)
    os.close(ours)


def test_a_faulty_url_is_a_port(pty: tuple[int, str]) -> None:
    ours, name = pty
    port = open_port(f"faulty://{name}?flip=0.05&seed=1", 115_200)
    assert isinstance(port, FaultyPort)
    port.timeout = 0.2
    os.write(ours, BYTES[:1000])
    heard = port.read(1000)
    assert len(heard) == 1000 and 10 < sum(a != b for a, b in zip(heard, BYTES, strict=False)) < 120
    port.write(BYTES[:1000])
    assert 10 < sum(a != b for a, b in zip(os.read(ours, 1000), BYTES, strict=False)) < 120
    port.close()
    assert not port.is_open


def test_a_line_that_is_cut_off_can_be_opened_again_and_fails_otherwise(pty: tuple[int, str]) -> None:
    ours, name = pty
    url = f"faulty://{name}?flip=0.1&close=200&seed=1"
    heard = []
    for _ in range(2):
        port = open_port(url, 115_200)
        port.timeout = 0.2
        os.write(ours, BYTES[:100])
        heard.append(port.read(100))
        with pytest.raises(serial.SerialException, match="cut off"):
            port.write(BYTES[:100])
        assert not port.is_open
    assert heard[0] != heard[1]


def test_a_faulty_url_without_faults_is_refused() -> None:
    with pytest.raises(PortError, match="describes no faulty line"):
        open_port("faulty:///dev/ttyACM0", 115_200)


def measure(
    target: SimavrTarget | FakeTarget, faults: str, model: DeviceModel, folder: Path
) -> tuple[Measurement, list[Sample]]:
    spool = Spool(folder / "parts")
    spool.prepare()
    X, y = samples(model)
    line = FaultyTarget(target, Faults.parse(faults)) if faults else target
    try:
        with SampleLog(spool, JOB) as log:
            found = Session(line, model, log).run(X, y, Checks(8))
            return found, list(log.read())
    finally:
        line.close()


def samples(model: DeviceModel, count: int = 400) -> tuple[Array, Array]:
    X = np.random.default_rng(0).normal(size=(count, model.n_features)) * 50
    return X, model.predict(X)


@cache
def clean() -> tuple[Measurement, list[Sample]]:
    import tempfile

    model = make("protonn", "int8")
    uno = boards.load("uno")
    with tempfile.TemporaryDirectory() as folder:
        return measure(SimavrTarget(uno, build(model, uno).elf), "", model, Path(folder))


@needs_simulator
@pytest.mark.parametrize(
    "faults",
    [
        "flip=0.01&seed=1",
        "drop=0.01&seed=2",  # of a lost FLAG the repeated request takes the place, and comes in the window
        "cut=0.01&seed=3",
        "drop=0.002&flip=0.002&repeat=0.002&insert=0.002&delay=0.001&cut=0.001&seed=4",
        "close=5000&seed=5",
    ],
)
def test_a_faulty_line_changes_no_row(tmp_path: Path, faults: str) -> None:
    model = make("protonn", "int8")
    uno = boards.load("uno")
    found, stored = measure(SimavrTarget(uno, build(model, uno).elf), faults, model, tmp_path)
    undisturbed, expected = clean()
    assert stored == expected
    assert found.facts.stack_peak == undisturbed.facts.stack_peak
    assert found.problems == ()
    assert found.resent + found.restarts > 0, "the line was not faulty at all"


@needs_simulator
def test_a_target_behind_a_line_is_a_target() -> None:
    uno = boards.load("uno")
    elf = build(make("protonn", "int8"), uno).elf
    check_target(lambda: FaultyTarget(SimavrTarget(uno, elf), Faults.parse("seed=1")))


def test_a_line_that_never_lets_anything_through_ends_with_its_reason(tmp_path: Path) -> None:
    model = sum_model()
    with pytest.raises(PortError, match="cut off"):
        measure(FakeTarget(device_for(model)), "close=3", model, tmp_path)
