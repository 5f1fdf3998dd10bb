"""Hands the jobs of a run to boards that are free, each in a process of its own, and follows them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager

from harness.worker import Batch, Bench, perform_elsewhere

POLL = 0.1
"""Seconds between two looks at what the workers have left."""


def side_by_side(
    benches: list[Bench], batches: list[Batch], look: Callable[[], None], *, workers: int
) -> None:
    """Do all batches, each on the next free bench with its board type, so many at a time.

    `look` is called again and again. What it raises, or a worker, ends all of it.
    """
    from joblib.externals.loky import get_reusable_executor

    executor = get_reusable_executor(max_workers=workers)
    try:
        with _looking(look) as failures:
            waiting, free = list(batches), list(benches)
            running: dict[Future[None], Bench] = {}
            while waiting or running:
                for batch in list(waiting):
                    bench = next((bench for bench in free if bench.board == batch.board), None)
                    if bench is not None and len(running) < workers:
                        waiting.remove(batch)
                        free.remove(bench)
                        running[executor.submit(perform_elsewhere, bench, batch, os.getpid())] = bench
                for done in wait(running, timeout=POLL, return_when=FIRST_COMPLETED).done:
                    free.append(running.pop(done))
                    done.result()
                if failures:
                    raise failures[0]
    except BaseException:
        executor.shutdown(wait=True, kill_workers=True)
        raise


@contextmanager
def _looking(look: Callable[[], None]) -> Iterator[list[Exception]]:
    """Look from a thread until the block ends, and once more then; what goes wrong is in the list."""
    failures: list[Exception] = []
    stop = threading.Event()

    def follow() -> None:
        try:
            while not stop.wait(POLL):
                look()
        except Exception as error:
            failures.append(error)

    follower = threading.Thread(target=follow, name="kilobench-writer", daemon=True)
    follower.start()
    try:
        yield failures
    finally:
        stop.set()
        follower.join()
    if failures:
        raise failures[0]
