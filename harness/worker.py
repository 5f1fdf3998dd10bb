"""Does the jobs that share one training: train, build, measure; whatever happens, each has a result."""

from __future__ import annotations

import os
import threading
import time
import traceback
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from harness import boards, explain, jobs, trained
from harness.bench import Place
from harness.boards import Board
from harness.build import Firmware
from harness.errors import KilobenchError, RunFolderError
from harness.events import Event, EventFile, Kind, Listener, SampleTicker
from harness.faulty import Faults, FaultyTarget
from harness.jobs import Figures, Job, Result
from harness.lifeline import Tell
from harness.power import jobs as energy
from harness.power.jobs import JobEnergy
from harness.session import Checks, Measurement, Session
from harness.spool import SampleLog, Spool
from harness.targets.base import Target
from models.datasets import Dataset
from models.device import DeviceModel

PARENT_CHECK = 0.2
"""Seconds between two looks at whether the process that started this one is still there."""


@dataclass(frozen=True)
class Bench:
    """Where the jobs of a run are done."""

    folder: Path
    """Of the run."""
    place: Place
    samples: int | None
    check_scores: str
    meter: str = energy.DEFAULT
    """As `harness.power.open_meter` takes it."""
    wait: bool = False
    """For a board that was unplugged, as long as it takes."""
    faults: Faults | None = None
    """Damage the line on purpose."""

    @property
    def board(self) -> str:
        return self.place.type

    @property
    def spool(self) -> Spool:
        return Spool(self.folder / "parts")

    @property
    def models(self) -> Path:
        return self.folder / "models"

    @property
    def traces(self) -> Path:
        return self.folder / "traces"

    @property
    def target(self) -> str:
        """As rows.csv names it, before there is a target to ask."""
        return self.place.port or boards.load(self.board).simulator.kind


@dataclass(frozen=True)
class Batch:
    """Jobs with the same training, each with its place in the suite."""

    jobs: tuple[tuple[int, Job], ...]

    @property
    def board(self) -> str:
        return self.jobs[0][1].board


def perform_elsewhere(bench: Bench, batch: Batch, parent: int) -> None:
    """`perform` in another process than the one that listens."""
    _end_with(parent)
    first = batch.jobs[0][1]
    events = EventFile(bench.spool.folder / f"{first.name}.events")
    try:
        perform(bench, batch, events.tell)
    finally:
        events.close()


@cache
def _end_with(parent: int) -> None:
    """Have this process end when the one that started it is killed, or it would train and measure for nobody,
    and write to the files of a run that is being continued. What it has started ends with it."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_CHECK)
        os._exit(1)

    threading.Thread(target=watch, name="kilobench-orphan-watch", daemon=True).start()


def perform(bench: Bench, batch: Batch, tell: Listener) -> None:
    """Every job of the batch ends with a result in the spool, be it only why there are no figures."""
    todo = [(place, job) for place, job in batch.jobs if bench.spool.result(job) is None]
    if not todo:
        return
    tell(Event(Kind.STARTED, todo[0][0], todo[0][1].name))
    try:
        data, models = _obtain(bench, todo, tell)
    except RunFolderError:
        raise
    except Exception as error:
        for _, job in todo:
            bench.spool.finish(job, _failed(bench, job, error))
        return
    for place, job in todo:
        tell(Event(Kind.TRAINED, place, job.name, note="trained" if models.trained else "trained before"))
        try:
            model = models.get(job.numbers)
            result = _measure(bench, place, job, data=data, model=model, tell=tell)
        except RunFolderError:
            raise  # nothing can be stored, so nothing more can be measured
        except Exception as error:
            result = _failed(bench, job, error)
        bench.spool.finish(job, result)


def _obtain(bench: Bench, todo: list[tuple[int, Job]], tell: Listener) -> tuple[Dataset, trained.Models]:
    from models import datasets

    place, first = todo[0]

    def progress(text: str) -> None:
        tell(Event(Kind.TRAINING, place, first.name, note=text))

    data = datasets.load(first.dataset)
    numbers = [job.numbers for _, job in todo]
    return data, trained.obtain(first.recipe, data, numbers, bench.models, progress)


def _measure(
    bench: Bench, number: int, job: Job, *, data: Dataset, model: DeviceModel, tell: Listener
) -> Result:
    from harness import timing

    board = boards.load(bench.board)
    plan = timing.plan_of(job)
    model = plan.laid_out(model, board)
    firmware = plan.build(model, board)
    tell(Event(Kind.BUILT, number, job.name, note=f"{firmware.flash_total} bytes"))

    def note(text: str) -> None:
        tell(Event(Kind.WAITING, number, job.name, note=text))

    X, y = data.X_test[: bench.samples], data.y_test[: bench.samples]
    checks = Checks.named(bench.check_scores, len(X))
    target = make_target(board, firmware, bench, note)
    try:
        with SampleLog(bench.spool, job) as log:
            ticker = SampleTicker(tell, number, job.name, len(X), log)
            session = Session(target, model, log, wait=bench.wait, tell=note)
            measurement = session.run(X, y, checks, ticker)
            used = session.after(
                lambda link: energy.of_job(
                    bench.meter,
                    job,
                    measurement.tally,
                    link=link,
                    target=target,
                    model=model,
                    X=X,
                    folder=bench.traces,
                )
            )
    finally:
        target.close()
    return _result(job, board, firmware, model, measurement, used=used, clipped=model.clipped(X))


def make_target(board: Board, firmware: Firmware, bench: Bench, tell: Tell) -> Target:
    """A board that runs the firmware: simulated, or a real one, to which it is uploaded first."""
    target: Target
    if bench.place.real:
        from harness.targets.serialport import SerialTarget
        from harness.upload import upload

        upload(firmware, bench.place, wait=bench.wait, tell=tell)
        target = SerialTarget(board, bench.place.port, serial=bench.place.serial)
    else:
        from harness.targets import registry

        target = registry.simulated(board, firmware.elf)
    return FaultyTarget(target, bench.faults) if bench.faults else target


def _result(
    job: Job,
    board: Board,
    firmware: Firmware,
    model: DeviceModel,
    measurement: Measurement,
    *,
    used: JobEnergy,
    clipped: int,
) -> Result:
    facts = measurement.facts
    figures = Figures(
        target=facts.target,
        flash_model=firmware.flash_model,
        flash_total=firmware.flash_total,
        ram_static=firmware.ram_static,
        paper_bytes=model.paper_bytes,
    )
    row = jobs.measured(
        job,
        board,
        figures,
        measurement.tally,
        timing=facts.timing,
        stack_peak=facts.stack_peak,
        clipped=clipped,
        energy=used.cells,
        problems=[*measurement.problems, *filter(None, [used.problem])],
    )
    about = {
        "compiler": firmware.compiler,
        "flags": firmware.flags,
        "streaming": firmware.streaming,
        "model_hash": model.digest.hex(),
        "timing": facts.timing,
        "stages": [asdict(stage) for stage in explain.stages(model, firmware)],
        "simulator": facts.version,
        "overruns": facts.overruns,
        "energy": used.about,
        "resent": measurement.resent,
        "restarts": measurement.restarts,
        "training": {key: model.info[key] for key in sorted(model.info)},
    }
    return Result(row, about)


def _failed(bench: Bench, job: Job, error: Exception) -> Result:
    row = jobs.unmeasured(job, bench.target, error)
    if isinstance(error, KilobenchError):
        return Result(row)
    # A defect of ours must not end a night's run; what is needed to find it is kept.
    return Result(row, {"traceback": traceback.format_exception(error)})
