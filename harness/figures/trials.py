"""Trials: the computations that figures are drawn from, each done once and kept by content.

A trial is a function of harness.figures.work by name, a dataset, a seed and options. Its result is kept in
the user's cache under everything it depends on (the data, our source that computes it, the libraries), so
that a picture that is drawn again costs no computing, and a stopped command goes on where it was.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from harness.errors import KilobenchError
from harness.measure import kept
from models.datasets import CATALOGUE, Dataset
from models.device import Array
from models.errors import BudgetError, InputError

Result = Mapping[str, Any]
"""Plain numbers and lists of them; `missing` is why there is nothing else."""

SECONDS = {"searches": 60.0, "label_sets": 30.0, "joint": 15.0}
"""Roughly what a trial of some kinds takes, on whatever data."""
SLOW = {
    "gbdt": 2.5, "gbdt-pruned": 2.5, "linear": 1.5, "gbdt-full": 1.3, "jungle": 1.0, "budget-rf": 1.0,
    "budget-prune": 1.0, "snc": 0.7, "knn": 0.7, "svm-rbf": 0.7, "forest": 0.6, "tree": 0.6,
}  # fmt: skip
"""Seconds a million numbers in the training data, of what takes longer than the usual."""
USUAL = 0.2


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


def duration(trial: Trial) -> float:
    """Seconds, roughly, as they were measured: that is enough to do the longest first."""
    entry = CATALOGUE.get(trial.dataset)
    kind = json.loads(trial.options).get("model", trial.work)
    millions = entry.train * entry.features / 1e6 if entry else 0.0
    return SECONDS.get(kind, millions * SLOW.get(kind, USUAL))


def perform(
    trials: Iterable[Trial], *, jobs: int | None = None, tell: Callable[[str], None] | None = None
) -> dict[Trial, Result]:
    """Every trial's result; those that are kept at once, the others on all cores, the longest first."""
    from joblib import Parallel, delayed

    listed = list(dict.fromkeys(trials))
    gone = _missing({trial.dataset for trial in listed})
    found: dict[Trial, Result] = {t: {"missing": gone[t.dataset]} for t in listed if t.dataset in gone}
    todo = []
    for trial in listed:
        if trial not in found:
            try:
                found[trial] = _kept(trial, _not_kept)
            except _NotKept:
                todo.append(trial)
    todo.sort(key=duration, reverse=True)
    tasks = (delayed(_done)(trial) for trial in todo)
    workers = min(jobs or os.cpu_count() or 1, max(1, len(todo)))
    with warnings.catch_warnings():
        # A worker that has grown is replaced by a new one, and its trial is not lost: no news for anybody.
        warnings.filterwarnings("ignore", "A worker stopped while some jobs")
        for trial, result in Parallel(n_jobs=workers, batch_size=1, return_as="generator_unordered")(tasks):
            found[trial] = result
            if tell:
                tell(f"{len(found)}/{len(listed)} {trial}")
    return found


@cache
def load(name: str) -> Dataset:
    """One of the datasets, or a paper's toy; a process loads each once."""
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


class _NotKept(Exception):
    """Nobody did this trial before."""


def _not_kept() -> dict[str, Any]:
    raise _NotKept


def _kept(trial: Trial, compute: Callable[[], dict[str, Any]]) -> Result:
    what = f"{trial.work} {trial.options}"
    return kept.numbers(what, _digests(trial.dataset), trial.seed, compute, modules=_modules(trial))


def digest(name: str) -> str:
    """Of a dataset's content."""
    data = _digests(name)
    return b"".join(part.tobytes() for part in (data.X_train, data.y_train, data.X_test, data.y_test)).hex()


@cache
def _digests(name: str) -> Dataset:
    """Data that stand for a dataset in a key: hashing the largest anew for every trial takes a minute."""
    data = load(name)
    return dataclasses.replace(
        data,
        X_train=_digest(data.X_train),
        y_train=_digest(data.y_train),
        X_test=_digest(data.X_test),
        y_test=_digest(data.y_test),
    )


def _digest(part: Array) -> Array:
    about = f"{part.dtype.str}{part.shape}".encode()
    return np.frombuffer(hashlib.sha256(about + part.tobytes()).digest(), dtype=np.uint8)


def _done(trial: Trial) -> tuple[Trial, Result]:
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    from harness.figures import work

    def compute() -> dict[str, Any]:
        # One thread a trial: the trials themselves fill the cores, and sums stay in one order.
        with threadpool_limits(limits=1), warnings.catch_warnings():
            # Epochs are given: that more of them would change a network is no news.
            warnings.simplefilter("ignore", ConvergenceWarning)
            try:
                found: dict[str, Any] = getattr(work, trial.work)(
                    load(trial.dataset), trial.seed, **json.loads(trial.options)
                )
            except (BudgetError, InputError) as error:
                # What cannot be will not be the next time either.
                return {"missing": str(error)}
        return found

    try:
        return trial, _kept(trial, compute)
    except KilobenchError as error:
        return trial, {"missing": str(error)}


def _modules(trial: Trial) -> list[str]:
    """Of ours that the trial computes with: its function's, and those that its options name."""
    from harness.figures import work
    from models import registry

    options = json.loads(trial.options)
    named = [options["estimator"].partition(":")[0]] if "estimator" in options else []
    if "model" in options:
        named += ["models.training", *registry.modules(options["model"])]
    # A training within a budget is kept as trained models are: as long as its learner is the same.
    own = [] if trial.work == "train" else [getattr(work, trial.work).__module__]
    return [*own, *named]
