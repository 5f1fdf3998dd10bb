"""Runs a suite: every job is trained, built, measured and stored, side by side where nothing forbids it."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from harness import boards, crew, locks, suites, surroundings, trained
from harness.bench import Place
from harness.connected import serial_of
from harness.errors import InputError, UnknownName
from harness.events import Event, EventReader, Kind, Listener
from harness.faulty import Faults
from harness.jobs import Job, Status
from harness.power import open_meter
from harness.power.jobs import DEFAULT
from harness.store import RunStore
from harness.suites import Suite
from harness.targets.serialport import open_port, present
from harness.worker import Batch, Bench, perform


@dataclass(frozen=True)
class RunSummary:
    folder: Path
    rows: int
    ok: int
    skipped: int
    failed: int


def run(
    suite: str | Suite,
    *,
    board: str = "uno",
    port: str | None = None,
    simulate: bool = True,
    places: Sequence[Place] = (),
    out: Path,
    resume: bool = False,
    jobs: int | None = None,
    meter: str | None = None,
    wait: bool = False,
    faults: Faults | None = None,
    models: Path | None = None,
    on_event: Listener | None = None,
) -> RunSummary:
    """Run a suite on a board and store the run in `out`.

    places: boards to use instead of the one that `board` and `port` tell; those of one type share its jobs.
    jobs: how many run side by side; None is one a core on the simulator. A real board does one at a time.
    meter: as `harness.power.open_meter` takes it; None is the modelled one.
    wait: for a board that was unplugged, as long as it takes.
    faults: damage the line on purpose.
    models: a run whose trained models are taken over, so that only what runs them differs.
    """
    chosen = suites.load(suite) if isinstance(suite, str) else suite
    used = list(places) or [_told(board, port, simulate)]
    types = list(dict.fromkeys(place.type for place in used))
    listed = [job for name in types for job in chosen.jobs(boards.load(name).name)]
    if not listed:
        raise InputError(
            f"The suite {chosen.name} has no row for the {', '.join(types)}.",
            "Choose another board, or add a row.",
        )
    _check_names(listed)
    earlier = trained.of_run(models) if models is not None else {}
    if meter is not None:
        open_meter(meter).close()
    benches = [
        Bench(out, place, chosen.samples, chosen.check_scores, meter or place.meter or DEFAULT, wait, faults)
        for place in used
    ]
    about = {
        "suite": chosen.name,
        "title": chosen.title,
        "definition": chosen.definition(),
        "board": "+".join(types),
        "target": "+".join(dict.fromkeys(bench.target for bench in benches)),
        "meter": "+".join(dict.fromkeys(bench.meter for bench in benches)),
        "seeds": sorted({job.seed for job in listed}),
        "efforts": list(dict.fromkeys(job.effort for job in listed)),
        **surroundings.describe(),
    }
    with locks.held(place for place in used if place.real):
        if not wait:
            _check_ports(used)
        store = RunStore(out, listed, about, resume=resume)
        try:
            trained.bring(earlier, out / "models")
            _perform(store, benches, jobs, on_event)
            store.complete()
        finally:
            store.close()
    return _summary(store)


def _told(board: str, port: str | None, simulate: bool) -> Place:
    if port is None and not simulate:
        raise InputError(
            f"No port is named for the {board}.", "Give it with --port, or simulate the board with --sim."
        )
    return Place(boards.load(board).name, port=port or "", serial=serial_of(port) if port else "")


def _check_ports(places: list[Place]) -> None:
    """A port that is not there is one mistake, not a failed row for every job."""
    for place in places:
        if place.real:
            open_port(present(place.port, place.serial), boards.load(place.type).baud).close()


def _perform(store: RunStore, benches: list[Bench], jobs: int | None, on_event: Listener | None) -> None:
    writer = _Writer(store, on_event)
    writer.collect()
    batches = _batches(store.pending)
    workers = len(benches)
    if not any(bench.place.real or bench.meter != DEFAULT for bench in benches):
        workers = jobs or os.cpu_count() or 1
        benches = benches * workers
    workers = min(workers, len(batches))
    if workers > 1:
        reader = EventReader(store.spool.folder)
        crew.side_by_side(benches, batches, lambda: writer.follow(reader), workers=workers)
    else:
        for batch in batches:
            perform(next(bench for bench in benches if bench.board == batch.board), batch, writer.hear)
    writer.collect()


class _Writer:
    """The one who writes the run's files, and passes on what happens."""

    def __init__(self, store: RunStore, listener: Listener | None) -> None:
        self._store = store
        self._listener = listener
        self._lock = threading.Lock()

    def hear(self, event: Event) -> None:
        self.collect()
        self._tell(event)

    def collect(self) -> None:
        with self._lock:
            first = len(self._store.rows)
            for place, row in enumerate(self._store.collect(), start=first):
                self._tell(Event(Kind.ROW, place, self._store.jobs[place].name, row=row))

    def follow(self, reader: EventReader) -> None:
        """What workers have left in the spool since the last time."""
        for event in reader.new():
            self._tell(event)
        self.collect()

    def _tell(self, event: Event) -> None:
        if self._listener is not None:
            self._listener(event)


def _batches(pending: list[tuple[int, Job]]) -> list[Batch]:
    """Jobs that share a training stand together in a suite, board by board."""
    alike = groupby(pending, key=lambda item: (item[1].board, item[1].recipe))
    return [Batch(tuple(group)) for _, group in alike]


def _check_names(jobs: list[Job]) -> None:
    """A wrong name ends a run before it begins; a known dataset that is not here only costs its rows."""
    from models import datasets, registry, search, training

    for job in jobs:
        if job.dataset not in datasets.names() and not datasets.is_own(job.dataset):
            raise UnknownName("dataset", job.dataset, datasets.names())
        if job.model not in registry.names():
            raise UnknownName("model", job.model, registry.names())
        search.effort_named(job.effort)
        if job.params:
            training.check_params(job.model, dict(job.params))


def _summary(store: RunStore) -> RunSummary:
    counts = Counter(row["status"] for row in store.rows)
    return RunSummary(
        store.folder, len(store.rows), counts[Status.OK], counts[Status.SKIPPED], counts[Status.FAILED]
    )
