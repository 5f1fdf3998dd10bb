from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness import boards, runner, trained, worker
from harness import build as build_module
from harness.bench import Place
from harness.boards import Board
from harness.build import Firmware
from harness.errors import (
    DoesNotFit,
    InputError,
    KilobenchError,
    PortError,
    RunFolderError,
    UnknownName,
)
from harness.events import Event, Kind
from harness.faulty import Faults, FaultyTarget
from harness.jobs import Recipe
from harness.session import BATCH
from harness.spool import SampleLog
from harness.suites import Suite
from harness.targets.base import Target
from models import datasets
from models.datasets import Dataset
from models.device import DeviceModel
from models.errors import DatasetError
from tests.harness.fakes import FakeTarget, device_for, sum_model

SUITE = Suite("mine", "", ("digits", "cancer"), ("linear",), ("int8", "float32"), (2048,))
N = 2 * BATCH + 6


class Shop:
    """Stands for training, building and the board; counts what is asked of it."""

    def __init__(self) -> None:
        self.trained: list[Recipe] = []
        self.targets: list[FakeTarget] = []
        self.on_target: Callable[[FakeTarget], None] = lambda _: None
        self.refused: dict[str, Exception] = {}

    def load(self, name: str) -> Dataset:
        if name in self.refused:
            raise self.refused[name]
        X = np.random.default_rng(len(name)).integers(-100, 100, (N, 8)).astype(float)
        return Dataset(name, X, np.zeros(N, int), X, sum_model().predict(X), "invented")

    def obtain(self, recipe: Recipe, data: Dataset, numbers: list[str], *_: Any) -> trained.Models:
        self.trained.append(recipe)
        made: dict[str, DeviceModel | KilobenchError] = {
            name: sum_model(numbers=name, name=f"sum-{recipe.dataset}") for name in numbers
        }
        return trained.Models(made, trained=True)

    def build(self, model: DeviceModel, board: Board, *, streaming: bool | None) -> Firmware:
        if model.numbers in self.refused:
            raise self.refused[model.numbers]
        self.model = model
        return Firmware(board, Path("x.elf"), Path("x.hex"), 5000, 2000, 400, "gcc 9", "-O2", False, True)

    def target(self, board: Board, firmware: Firmware, *_: object) -> Target:
        target = FakeTarget(device_for(self.model, board.name), board=board)
        self.targets.append(target)
        self.on_target(target)
        return target


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch) -> Shop:
    shop = Shop()
    monkeypatch.setattr(datasets, "load", shop.load)
    monkeypatch.setattr(trained, "obtain", shop.obtain)
    monkeypatch.setattr(build_module, "build", shop.build)
    monkeypatch.setattr(worker, "make_target", shop.target)
    return shop


def rows(folder: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO((folder / "rows.csv").read_text())))


def run(out: Path, suite: Suite = SUITE, **options: Any) -> runner.RunSummary:
    return runner.run(suite, board="uno", out=out, jobs=1, **options)


def files(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in ("rows.csv", "samples.csv")}


@pytest.mark.usefixtures("shop")
def test_every_job_is_a_row(tmp_path: Path) -> None:
    summary = run(tmp_path / "run")
    assert (summary.rows, summary.ok, summary.skipped, summary.failed) == (4, 4, 0, 0)
    assert [(r["dataset"], r["numbers"], r["status"]) for r in rows(tmp_path / "run")] == [
        ("digits", "int8", "ok"),
        ("digits", "float32", "ok"),
        ("cancer", "int8", "ok"),
        ("cancer", "float32", "ok"),
    ]
    assert {r["agreement"] for r in rows(tmp_path / "run")} == {"1.000000"}


def test_one_training_serves_all_number_formats(tmp_path: Path, shop: Shop) -> None:
    run(tmp_path / "run")
    assert [recipe.dataset for recipe in shop.trained] == ["digits", "cancer"]
    assert all(target.closed for target in shop.targets)


@pytest.mark.usefixtures("shop")
def test_two_runs_are_the_same_to_the_byte(tmp_path: Path) -> None:
    run(tmp_path / "one")
    run(tmp_path / "two")
    assert files(tmp_path / "one") == files(tmp_path / "two")


@pytest.mark.usefixtures("shop")
def test_run_json_says_what_the_result_depends_on(tmp_path: Path) -> None:
    run(tmp_path / "run")
    about = json.loads((tmp_path / "run" / "run.json").read_text())
    assert about["schema"] == 2
    assert (about["suite"], about["board"], about["target"], about["seeds"]) == ("mine", "uno", "simavr", [0])
    assert (about["compiler"], about["flags"]) == ("gcc 9", "-O2")
    assert {"python", "numpy", "scikit-learn", "kilobench"} <= set(about["versions"])
    assert about["definition"]["budgets"] == [2048]
    assert set(about["jobs"]) == {job.name for job in SUITE.jobs("uno")}
    assert about["jobs"]["uno-digits-linear-int8-2048"]["model_hash"] == sum_model().digest.hex()


def test_features_beyond_the_models_range_are_counted(
    tmp_path: Path, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(name: str) -> Dataset:
        data = shop.load(name)
        data.X_test[3, :2] = (1000, -1000)
        return data

    monkeypatch.setattr("models.datasets.load", load)
    run(tmp_path / "run")
    assert [row["clipped"] for row in rows(tmp_path / "run")] == ["2", "0", "2", "0"]


@pytest.mark.usefixtures("shop")
def test_progress_is_told_in_order(tmp_path: Path) -> None:
    events: list[Event] = []
    run(tmp_path / "run", on_event=events.append)
    first = [event.kind for event in events if event.job == 0]
    assert list(dict.fromkeys(first)) == [
        Kind.STARTED,
        Kind.TRAINED,
        Kind.BUILT,
        Kind.SAMPLE,
        Kind.ROW,
    ]
    last = [event for event in events if event.kind is Kind.SAMPLE and event.job == 3][-1]
    assert (last.done, last.of) == (N, N)
    told = [event for event in events if event.kind is Kind.ROW]
    assert [event.job for event in told] == [0, 1, 2, 3]
    assert all(event.row is not None and event.row["status"] == "ok" for event in told)


def test_a_job_that_cannot_run_says_why_and_the_suite_goes_on(tmp_path: Path, shop: Shop) -> None:
    shop.refused["digits"] = DatasetError("It is not here.", "Fetch it.")
    shop.refused["float32"] = DoesNotFit("41 kB of 32 kB.", "Shrink it.")
    summary = run(tmp_path / "run")
    assert (summary.ok, summary.skipped, summary.failed) == (1, 3, 0)
    assert [(r["status"], r["reason"]) for r in rows(tmp_path / "run")] == [
        ("skipped", "It is not here. Fetch it."),
        ("skipped", "It is not here. Fetch it."),
        ("ok", ""),
        ("skipped", "41 kB of 32 kB. Shrink it."),
    ]


def test_a_defect_costs_one_row_and_leaves_a_trace(tmp_path: Path, shop: Shop) -> None:
    shop.refused["int8"] = ZeroDivisionError("by zero")
    assert run(tmp_path / "run").failed == 2
    about = json.loads((tmp_path / "run" / "run.json").read_text())
    assert "ZeroDivisionError" in "".join(about["jobs"]["uno-digits-linear-int8-2048"]["traceback"])


def test_a_board_that_dies_costs_its_row(tmp_path: Path, shop: Shop) -> None:
    def die(target: FakeTarget) -> None:
        if len(shop.targets) == 2:
            target.to_host = lambda n, frame: [(0.0, frame)] if n < 20 else []

    shop.on_target = die
    assert run(tmp_path / "run").failed == 1
    assert [r["status"] for r in rows(tmp_path / "run")] == ["ok", "failed", "ok", "ok"]
    assert "No PREDICT_REPLY" in rows(tmp_path / "run")[1]["reason"]


def test_a_pin_that_disagrees_is_a_failed_row_with_its_figures(tmp_path: Path, shop: Shop) -> None:
    shop.on_target = lambda target: setattr(target, "drift", 2)
    assert run(tmp_path / "run").failed == 4
    row = rows(tmp_path / "run")[0]
    assert "1000 cycles by its timer and 1002 by the trigger pin" in row["reason"]
    assert row["cycles_median"] == "1000"


@pytest.mark.parametrize("when", [1, BATCH - 1, BATCH, BATCH + 5, N - 1, N, N + 1, 3 * N + 7])
def test_an_interrupted_run_is_continued_to_the_same_files(
    tmp_path: Path, shop: Shop, monkeypatch: pytest.MonkeyPatch, when: int
) -> None:
    run(tmp_path / "whole")
    honest = SampleLog.append
    seen = 0

    def interrupt(log: SampleLog, sample: Any) -> None:
        nonlocal seen
        seen += 1
        honest(log, sample)
        if seen == when:
            raise KeyboardInterrupt

    monkeypatch.setattr(SampleLog, "append", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "cut")
    assert all(target.closed for target in shop.targets)
    assert len(rows(tmp_path / "cut")) <= when // N
    monkeypatch.setattr(SampleLog, "append", honest)
    finished = len(rows(tmp_path / "cut"))
    measured_before = len(shop.targets)
    run(tmp_path / "cut", resume=True)
    assert files(tmp_path / "cut") == files(tmp_path / "whole")
    assert len(shop.targets) - measured_before == 4 - finished


@pytest.mark.usefixtures("shop")
def test_another_run_is_refused_and_left_alone(tmp_path: Path) -> None:
    run(tmp_path / "run")
    before = files(tmp_path / "run")
    with pytest.raises(RunFolderError, match="holds another run"):
        run(tmp_path / "run")
    with pytest.raises(RunFolderError, match="definition"):
        run(tmp_path / "run", replace(SUITE, seed=1), resume=True)
    assert files(tmp_path / "run") == before


def test_a_finished_run_is_not_repeated(tmp_path: Path, shop: Shop) -> None:
    run(tmp_path / "run")
    count = len(shop.targets)
    assert run(tmp_path / "run", resume=True).ok == 4
    assert len(shop.targets) == count


@pytest.mark.usefixtures("shop")
def test_only_the_first_samples(tmp_path: Path) -> None:
    run(tmp_path / "run", replace(SUITE, samples=3))
    assert {row["n_samples"] for row in rows(tmp_path / "run")} == {"3"}
    assert len((tmp_path / "run" / "samples.csv").read_text().splitlines()) == 1 + 4 * 3


@pytest.mark.parametrize(
    ("suite", "says"),
    [
        (replace(SUITE, datasets=("digit",)), "no dataset named 'digit'. Did you mean 'digits'"),
        (replace(SUITE, models=("linea",)), "no model named 'linea'. Did you mean 'linear'"),
        (replace(SUITE, effort="huge"), "no effort 'huge'"),
    ],
)
def test_a_wrong_name_ends_the_run_before_it_begins(tmp_path: Path, suite: Suite, says: str) -> None:
    with pytest.raises(InputError, match=says):
        run(tmp_path / "run", suite)
    assert not (tmp_path / "run").exists()


def test_unknown_suite_and_board(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="quick"):
        runner.run("quik", board="uno", out=tmp_path / "run")
    with pytest.raises(UnknownName, match="uno"):
        runner.run(SUITE, board="unno", out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_real_board_needs_a_port(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No port"):
        run(tmp_path / "run", simulate=False)


def test_a_port_that_is_not_there_ends_the_run_before_it_begins(tmp_path: Path) -> None:
    with pytest.raises(PortError, match="There is no port"):
        run(tmp_path / "run", port=str(tmp_path / "ttyACM0"), simulate=False)
    assert not (tmp_path / "run").exists()


def test_a_full_disk_ends_the_run(tmp_path: Path, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(log: SampleLog, sample: Any) -> None:
        raise RunFolderError("No space left on device.")

    monkeypatch.setattr(SampleLog, "append", full)
    with pytest.raises(RunFolderError, match="No space"):
        run(tmp_path / "run")
    assert rows(tmp_path / "run") == []
    assert all(target.closed for target in shop.targets)


def test_real_targets_by_board(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from harness import upload
    from harness.targets.serialport import SerialTarget
    from harness.targets.simavr import SimavrTarget

    uploaded: list[str] = []
    monkeypatch.setattr(upload, "upload", lambda firmware, place, **_: uploaded.append(place.port))
    uno = boards.load("uno")
    firmware = Firmware(uno, tmp_path / "x", tmp_path / "y", 1, 1, 1, "", "", False, False)

    def make(board: Board, place: Place, faults: Faults | None = None) -> Target:
        bench = worker.Bench(tmp_path, place, None, "none", faults=faults)
        return worker.make_target(board, firmware, bench, lambda _: None)

    assert isinstance(make(uno, Place("uno")), SimavrTarget)
    assert isinstance(make(uno, Place("uno"), Faults(flip=0.1)), FaultyTarget)
    assert uploaded == []
    assert isinstance(make(uno, Place("uno", port="/dev/ttyACM0")), SerialTarget)
    assert uploaded == ["/dev/ttyACM0"]
    strange = replace(uno, simulator=replace(uno.simulator, kind="wishful"))
    with pytest.raises(KilobenchError, match="no simulator 'wishful'"):
        make(strange, Place("uno"))
