"""Figures of the firmware: time, memory, exactness, and how near the loops are to what the chip can do.

One run of the suite `uno` gives most of them; its models are then run on the other boards too.
"""

from __future__ import annotations

import csv
import json
import statistics
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from harness import boards, image, runner, suites, timing, trained
from harness.boards import Board
from harness.build import Firmware, build
from harness.jobs import KEY_COLUMNS, Job
from harness.measure.figures import Figure
from harness.session import Checks, Measurement, Session
from harness.spool import SampleLog, Spool
from harness.targets.simavr import SimavrTarget
from models import datasets, modelfile, training
from models.datasets import Dataset
from models.device import DeviceModel

BOARD = "uno"
OTHERS = ("mega2560", "leonardo")
RAM = 1024
BEYOND_LINK = 128
LINK_BUFFERS = ("hal_rx", "sample", "reply", "session", "result")
"""Variables of the firmware that every model needs: what was received, what is answered."""
CODE = {"linear": 3072, "protonn": 4096, "bonsai": 4096}
ABOVE_FLOOR = 1.3
PREDICTED_WITHIN = 5.0
LOST_BY_ROUNDING = 0.2


@dataclass(frozen=True)
class Promise:
    """What a row of the suite must reach."""

    dataset: str
    model: str | None
    """None: whichever family the suite has."""
    ms: float
    published: str
    accuracy: float | None = None
    flash_total: int | None = None


PROMISES = (
    Promise("usps-2", "protonn", 0.9, "ProtoNN's authors: 4.89 ms, 8.10 ms in floats"),
    Promise("usps-2", "bonsai", 0.45, "Bonsai's authors: 2.93 ms, 5.57 ms in floats"),
    Promise("mnist-2", "protonn", 1.2, "ProtoNN's authors: 5.79 ms"),
    Promise("mnist-2", "bonsai", 0.6, "Bonsai's authors: 5.17 ms"),
    Promise("usps-10", None, 3.0, "SeeDot and Shiftry: 9.2 to 14 ms at 91.6 to 92.1 %", 93.5),
    Promise("mnist-10", None, 12.0, "Shiftry: 18.4 ms at 92.9 %", 97.0),
    Promise("letter-26", None, 8.0, "Shiftry: 30.6 ms at 81.8 %", 96.0),
    Promise("digits", "forest", 3844 / 16_000, "emlearn 0.23.2 on simavr: 3 844 cycles", flash_total=31_700),
)


@dataclass(frozen=True)
class Measured:
    """A job of the suite that was run."""

    job: Job
    row: dict[str, str]
    cycles: float
    """Mean over the test set."""
    about: dict[str, Any]
    model: DeviceModel
    """As it was built."""
    data: Dataset

    @property
    def name(self) -> str:
        return f"{self.job.model} {self.job.numbers} on {self.job.dataset}"

    @property
    def integer(self) -> bool:
        return self.job.numbers != "float32"

    @property
    def accuracy(self) -> float:
        return 100 * float(self.row["accuracy"])


def speed() -> Iterator[Figure]:
    """The rows that were promised, beside what is published."""
    for promise in PROMISES:
        found = [
            one
            for one in _uno()
            if one.integer and one.job.dataset == promise.dataset and promise.model in (None, one.job.model)
        ]
        if not found:
            yield from _not_run(promise)
        for one in found:
            detail = (
                f"{one.accuracy:.2f} % in {one.row['flash_model']} bytes; {promise.published}; "
                f"{one.about['compiler']} {one.about['flags']}"
            )
            yield Figure(f"{one.name}, time", float(one.row["ms"]), promise.ms, " ms", True, detail)
            used = int(one.row["flash_model"])
            if not one.job.speed:
                yield Figure(f"{one.name}, model", used, one.job.budget, " B", True)
            if promise.accuracy:
                yield Figure(f"{one.name}, test accuracy", one.accuracy, promise.accuracy, " %")
            if promise.flash_total:
                total = int(one.row["flash_total"])
                yield Figure(f"{one.name}, whole firmware", total, promise.flash_total, " B", True)


def rounding() -> Iterator[Figure]:
    """What integers lose against the float model that they came from."""
    lost = {}
    for one in _uno():
        if not one.integer:
            continue
        twin = _float_twin(one)
        if twin is not None:
            n = int(one.row["n_samples"])
            floats = 100 * float((twin.predict(one.data.X_test[:n]) == one.data.y_test[:n]).mean())
            lost[one.name] = floats - one.accuracy
    detail = ", ".join(f"{name} {points:+.2f}" for name, points in lost.items())
    mean = statistics.mean(lost.values())
    yield Figure("accuracy lost to integers, mean", mean, LOST_BY_ROUNDING, " %", True, detail)


def memory() -> Iterator[Figure]:
    """RAM of every row, what binary models need beyond the link when streaming, and the code's size."""
    for one in _uno():
        whole = int(one.row["ram_static"]) + int(one.row["stack_peak"])
        if one.integer:
            yield Figure(f"{one.name}, RAM with the deepest stack", whole, RAM, " B", True)
    for one in _uno():
        if one.integer and one.model.n_classes == 2:
            plan = timing.Plan(streaming=True, within=one.job.budget)
            model = plan.laid_out(one.model, boards.load(BOARD))
            beyond = _ram_beyond_link(plan.build(model, boards.load(BOARD)))
            yield Figure(f"{one.name} streamed, RAM beyond the link's", beyond, BEYOND_LINK, " B", True)
    for family, most in CODE.items():
        sizes = [_code(model, streaming) for model in _models_of(family) for streaming in (True, False)]
        yield Figure(f"code of {family} without the model, largest", max(sizes), most, " B", True)


def predictions() -> Iterator[Figure]:
    """Predicted against measured cycles, and projections and distances against their floor."""
    for one in _uno():
        if not one.integer:
            continue
        encoded = one.model.encode(one.data.X_test)
        streaming = bool(one.about["streaming"])
        plan = timing.Plan(streaming)
        predicted = timing.predicted_ms(one.model, boards.load(BOARD), encoded, plan=plan)
        if predicted is None:
            yield Figure(f"{one.name}, predicted stages", 0, 1)
            continue
        measured = boards.load(BOARD).milliseconds(one.cycles)
        off = 100 * abs(predicted / measured - 1)
        yield Figure(f"{one.name}, prediction off by", off, PREDICTED_WITHIN, " %", True)
        for stage in one.model.stages(streaming=streaming, encoded=encoded):
            if stage.name in {"projection", "distances"} and stage.floor:
                ratio = stage.cycles / stage.floor
                what = f"{one.name}, {stage.name} / floor"
                detail = f"{stage.what}: {stage.cycles} cycles for {stage.floor}"
                yield Figure(what, ratio, ABOVE_FLOOR, at_most=True, detail=detail)


def exactness() -> Iterator[Figure]:
    """Classes and scores of every test sample, on every board."""
    for one in _uno():
        yield _agreement(
            one, BOARD, one.row["status"] == "ok", float(one.row["agreement"]), one.row["reason"]
        )
    for name, one in product(OTHERS, _uno()):
        if one.integer:
            found = _elsewhere(one, boards.load(name))
            problems = found.problems
            yield _agreement(one, name, not problems, found.tally.agreement, " ".join(problems))


def _agreement(one: Measured, board: str, clean: bool, share: float, why: str) -> Figure:
    """A score that differs is a sample that does not agree, even where the class is right."""
    detail = f"{one.row['n_samples']} samples, scores included" if clean else why
    agreed = 100 * share if clean or share < 1 else 0.0
    return Figure(f"{one.name}, agreement on {board}", agreed, 100, " %", detail=detail)


def _not_run(promise: Promise) -> Iterator[Figure]:
    """A row without figures is a promise that is not kept, unless the data are not here."""
    name = f"{promise.model or 'any family'} on {promise.dataset}"
    status = datasets.status(promise.dataset)
    if not status.available:
        print(f"skipped  {name}: the dataset is not here; {status.source}", flush=True)
        return
    reasons = [
        row["reason"]
        for row in _run().rows
        if row["dataset"] == promise.dataset and promise.model in (None, row["model"])
    ]
    yield Figure(f"{name}, rows that could be run", 0, 1, detail=" ".join(reasons[:1]))


@dataclass(frozen=True)
class Run:
    rows: tuple[dict[str, str], ...]
    measured: tuple[Measured, ...]


def _uno() -> tuple[Measured, ...]:
    """The jobs of the suite that could be run."""
    return _run().measured


@cache
def _run() -> Run:
    suite = suites.load("uno")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "run")
        runner.run(suite, board=BOARD, out=folder)
        with (folder / "rows.csv").open(newline="", encoding="utf8") as file:
            rows = list(csv.DictReader(file))
        cycles = _mean_cycles(folder / "samples.csv")
        about = json.loads((folder / "run.json").read_text(encoding="utf8"))["jobs"]
        measured = tuple(
            Measured(
                job, row, cycles[job.key], about[job.name], _built(job, folder), datasets.load(job.dataset)
            )
            for job, row in zip(suite.jobs(BOARD), rows, strict=True)
            if row["accuracy"]
        )
        return Run(tuple(rows), measured)


def _mean_cycles(path: Path) -> dict[tuple[str, ...], float]:
    found: dict[tuple[str, ...], list[int]] = {}
    with path.open(newline="", encoding="utf8") as file:
        for line in csv.DictReader(file):
            key = tuple(line[column] for column in KEY_COLUMNS)
            found.setdefault(key, []).append(int(line["cycles"]))
    return {key: statistics.mean(values) for key, values in found.items()}


def _built(job: Job, folder: Path) -> DeviceModel:
    """The model of a finished job, in the layout that its firmware has."""
    model = modelfile.load(trained.path_of(folder / "models", job.recipe, job.numbers))
    board = boards.load(job.board)
    return timing.plan_of(job).laid_out(model, board)


def _float_twin(one: Measured) -> DeviceModel | None:
    """The float model of the same training; None for families that have none."""
    with tempfile.TemporaryDirectory() as place:
        made = trained.obtain(one.job.recipe, one.data, ["float32"], Path(place))
    found = made.by_numbers["float32"]
    return found if isinstance(found, DeviceModel) else None


def _elsewhere(one: Measured, board: Board) -> Measurement:
    """The same model on another board."""
    firmware = build(one.model, board, streaming=bool(one.about["streaming"]))
    with tempfile.TemporaryDirectory() as place, SimavrTarget(board, firmware.elf) as target:
        spool = Spool(Path(place))
        spool.prepare()
        with SampleLog(spool, replace(one.job, board=board.name)) as log:
            X, y = one.data.X_test, one.data.y_test
            return Session(target, one.model, log).run(X, y, Checks.named("all", len(X)))


def _ram_beyond_link(firmware: Firmware) -> int:
    variables = image.variables(firmware.elf)
    return firmware.ram_static - sum(variables[name] for name in LINK_BUFFERS)


def _models_of(family: str) -> list[DeviceModel]:
    """Those of the suite, and one of two classes where it has none."""
    found = [one.model for one in _uno() if one.integer and one.model.family == family]
    return found or [training.train(family, datasets.load("digits"), budget=2048, effort="fast").device()]


def _code(model: DeviceModel, streaming: bool) -> int:
    """Flash of everything but the model."""
    firmware = build(model, boards.load(BOARD), streaming=streaming)
    return firmware.flash_total - firmware.flash_model


SOURCES = (speed, rounding, memory, predictions, exactness)
