"""Runs a suite: every job is trained, built, measured and stored, side by side where nothing forbids it."""

from __future__ import annotations

import os
import threading
from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from harness import boards, suites, surroundings
from harness.errors import InputError, UnknownName
from harness.events import Event, EventReader, Kind, Listener
from harness.jobs import Job, Status
from harness.power import open_meter
from harness.power.jobs import DEFAULT
from harness.store import RunStore
from harness.suites import Suite
from harness.targets.serialport import open_port
from harness.worker import Batch, Bench, perform, perform_elsewhere

POLL = 0.1
"""Seconds between two looks at what the workers have left."""


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
    out: Path,
    resume: bool = False,
    jobs: int | None = None,
    meter: str | None = None,
    on_event: Listener | None = None,
) -> RunSummary:
    """Run a suite on a board and store the run in `out`.

    jobs: how many run side by side; None is one a core on the simulator. A real board does one at a time.
    meter: as `harness.power.open_meter` takes it; None is the modelled one.
    """
    chosen = suites.load(suite) if isinstance(suite, str) else suite
    listed = chosen.jobs(boards.load(board).name)
    if not listed:
        raise InputError(
            f"The suite {chosen.name} has no row for the {board}.", "Choose another board, or add a row."
        )
    _check_names(listed)
    if port is None and not simulate:
        raise InputError(
            f"No port is named for the {board}.", "Give it with --port, or simulate the board with --sim."
        )
    if port is not None:
        # A port that is not there is one mistake, not a failed row for every job.
        open_port(port, boards.load(board).baud).close()
    if meter is not None:
        open_meter(meter).close()
    bench = Bench(out, board, port, chosen.samples, chosen.check_scores, meter or DEFAULT)
    about = {
        "suite": chosen.name,
        "title": chosen.title,
        "definition": chosen.definition(),
        "board": board,
        "target": bench.target,
        "meter": bench.meter,
        "seeds": sorted({job.seed for job in listed}),
        "efforts": list(dict.fromkeys(job.effort for job in listed)),
        **surroundings.describe(),
    }
    store = RunStore(out, listed, about, resume=resume)
    try:
        writer = _Writer(store, on_event)
        writer.collect()
        batches = _batches(store.pending)
        alone = port is not None or meter is not None
        workers = 1 if alone else min(jobs or os.cpu_count() or 1, len(batches))
        if workers > 1:
            _side_by_side(bench, batches, writer, workers)
        else:
            for batch in batches:
                perform(bench, batch, writer.hear)
        writer.collect()
        store.complete()
    finally:
        store.close()
    return _summary(store)


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

    def follow(self, reader: EventReader, stop: threading.Event) -> None:
        """What workers leave in the spool, until they have ended."""
        while not stop.wait(POLL):
            for event in reader.new():
                self._tell(event)
            self.collect()

    def _tell(self, event: Event) -> None:
        if self._listener is not None:
            self._listener(event)


def _side_by_side(bench: Bench, batches: list[Batch], writer: _Writer, workers: int) -> None:
    from joblib import Parallel, delayed

    failures: list[BaseException] = []
    stop = threading.Event()

    def follow() -> None:
        try:
            writer.follow(EventReader(bench.spool.folder), stop)
        except Exception as error:
            failures.append(error)

    follower = threading.Thread(target=follow, name="kilobench-writer", daemon=True)
    follower.start()
    try:
        tasks = (delayed(perform_elsewhere)(bench, batch, os.getpid()) for batch in batches)
        for _ in Parallel(n_jobs=workers, batch_size=1, return_as="generator_unordered")(tasks):
            if failures:
                raise failures[0]
    finally:
        stop.set()
        follower.join()
    if failures:
        raise failures[0]


def _batches(pending: list[tuple[int, Job]]) -> list[Batch]:
    """Jobs that share a training stand together in a suite."""
    return [Batch(tuple(group)) for _, group in groupby(pending, key=lambda item: item[1].recipe)]


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
