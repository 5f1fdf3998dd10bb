"""Trials: the computations that figures are drawn from, each done once and kept by content.

A trial is a function of harness.figures.work by name, a dataset, a seed and options. Its result is kept in
the user's cache under everything it depends on (the data, our source that computes it, the libraries), so
that a picture that is drawn again costs no computing, and a stopped command goes on where it was.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from harness.errors import KilobenchError
from harness.measure import kept
from models.datasets import Dataset

Result = Mapping[str, Any]
"""Plain numbers and lists of them; `missing` is why there is nothing else."""


@dataclass(frozen=True)
class Trial:
    work: str
    """A function of harness.figures.work."""
    dataset: str
    seed: int
    options: str = "{}"
    """JSON, so that a trial can be a key."""

    @classmethod
    def of(cls, work: str, dataset: str, seed: int = 0, **options: Any) -> Trial:
        return cls(work, dataset, seed, json.dumps(options, sort_keys=True))

    def __str__(self) -> str:
        return f"{self.work} {self.dataset} {self.options} seed {self.seed}"


def perform(
    trials: Iterable[Trial], *, jobs: int | None = None, tell: Callable[[str], None] | None = None
) -> dict[Trial, Result]:
    """Every trial's result; those that are kept at once, the others on all cores."""
    from joblib import Parallel, delayed

    listed = list(dict.fromkeys(trials))
    gone = _missing({trial.dataset for trial in listed})
    found: dict[Trial, Result] = {t: {"missing": gone[t.dataset]} for t in listed if t.dataset in gone}
    todo = _longest_first([trial for trial in listed if trial not in found])
    tasks = (delayed(_done)(trial) for trial in todo)
    workers = min(jobs or os.cpu_count() or 1, max(1, len(todo)))
    for trial, result in Parallel(n_jobs=workers, batch_size=1, return_as="generator_unordered")(tasks):
        found[trial] = result
        if tell:
            tell(f"{len(found)}/{len(listed)} {trial}")
    return found


def load(name: str) -> Dataset:
    """One of the datasets, or a paper's toy."""
    from harness.figures import toys
    from models import datasets

    return toys.load(name) if name in toys.names() else datasets.load(name)


def _missing(names: Iterable[str]) -> dict[str, str]:
    """Datasets that cannot be had here, with the reason; each is asked for once."""
    gone = {}
    for name in sorted(names):
        try:
            load(name)
        except KilobenchError as error:
            gone[name] = str(error)
    return gone


def _longest_first(trials: list[Trial]) -> list[Trial]:
    """Large data first, so that no core is left with one long trial at the end."""
    order = {"mnist-10": 0, "mnist-2": 0, "adult": 1, "delicious": 1, "mediamill": 1, "letter-26": 2}
    return sorted(trials, key=lambda trial: order.get(trial.dataset, 3))


def _done(trial: Trial) -> tuple[Trial, Result]:
    from threadpoolctl import threadpool_limits

    from harness.figures import work

    data = load(trial.dataset)

    def compute() -> dict[str, Any]:
        # One thread a trial: the trials themselves fill the cores, and sums stay in one order.
        with threadpool_limits(limits=1):
            found: dict[str, Any] = getattr(work, trial.work)(data, trial.seed, **json.loads(trial.options))
        return found

    what = f"{trial.work} {trial.options}"
    try:
        return trial, kept.numbers(what, data, trial.seed, compute, modules=_modules(trial))
    except KilobenchError as error:
        return trial, {"missing": str(error)}


def _modules(trial: Trial) -> list[str]:
    """Of ours that the trial computes with: its function's, and those that its options name."""
    from harness.figures import work
    from models import registry

    options = json.loads(trial.options)
    named = [options["estimator"].partition(":")[0]] if "estimator" in options else []
    if "model" in options:
        named += registry.modules(options["model"])
    return [getattr(work, trial.work).__module__, *named]
