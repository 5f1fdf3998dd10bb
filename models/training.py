"""From a model's name, a dataset and a byte budget to a trained model: what `kilobench train` does.

The test part is used for one number, the accuracy of the finished model.
"""

from __future__ import annotations

import dataclasses
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

import numpy as np

from models import registry, search
from models.datasets import Dataset
from models.device import Array, DeviceModel
from models.errors import BudgetError, DatasetError, InputError
from models.timelimit import TimeLimit, promising

SAMPLES = 64
"""Of the training data, that are looked at for what is typical of a model's samples."""


@dataclass(frozen=True)
class Trained:
    """A fitted estimator and the facts about it."""

    estimator: Any
    report: dict[str, Any]
    samples: Array | None = None
    """Some of the training data, by which a model's time can be told later."""

    def device(self, numbers: str = "int8") -> DeviceModel:
        """The model for firmware, named after model and data, with its origin in `info`."""
        if not hasattr(self.estimator, "to_device"):
            raise InputError(
                f"{self.report['model']} runs on the host only.", "Choose a model with firmware."
            )
        model: DeviceModel = self.estimator.to_device(numbers)
        origin = {key: value for key, value in self.report.items() if key != "fit_seconds"}
        return dataclasses.replace(
            model,
            name=f"{self.report['model']}-{self.report['dataset']}",
            info={
                **model.info,
                **origin,
                **({} if self.samples is None else model.typical(model.encode(self.samples))),
            },
        )


def train(
    model: str,
    data: Dataset,
    *,
    budget: int,
    seed: int = 0,
    effort: str = "normal",
    params: Mapping[str, Any] | None = None,
    limit: TimeLimit | None = None,
    progress: Callable[[str], None] | None = None,
) -> Trained:
    """Search the family's shape within `budget` bytes on validation data, then train on all training data.

    params: parameters of the estimator that are given instead of searched.
    limit: how long a prediction of the integer model may take.
    """
    fixed = dict(params or {})
    check_params(model, fixed)
    work = search.effort_named(effort)
    if data.multilabel:
        raise DatasetError(
            f"{data.name} has label sets, not classes.", "Train a classifier on another dataset."
        )
    began = time.perf_counter()
    kind = registry.estimator(model)
    task = search.Task(len(data.X_train), data.n_features, data.n_classes, data.image)

    def propose(size: int) -> list[dict[str, Any]]:
        return _with_fixed(registry.candidates(model)(task, size, effort), fixed)

    def fit(params: Mapping[str, Any], X: Array, y: Array) -> Any:
        estimator = kind(**params)
        if "random_state" in estimator.get_params():
            estimator.set_params(random_state=seed)
        with interruptible():
            return estimator.fit(X, y)

    if limit is None:
        proposals: Sequence[Mapping[str, Any]] = propose(budget)
    elif not hasattr(kind, "to_device"):
        raise InputError(f"{model} runs on the host only.", "Train it without a time limit.")
    else:
        proposals = promising(
            limit, propose, fit, data.X_train, data.y_train, budget=budget, wanted=work.candidates
        )
    if not proposals:
        raise BudgetError(f"No {model} for {data.name} fits into {budget} bytes.", "Allow more bytes.")
    chosen = search.best_candidate(
        fit,
        proposals,
        data.X_train,
        data.y_train,
        bounds=search.Bounds(budget, limit),
        effort=work,
        seed=seed,
        progress=progress,
    )
    if progress:
        progress("training on all training data")
    estimator = fit(chosen.params, data.X_train, data.y_train)
    seconds = time.perf_counter() - began
    device = search.device_of(estimator)
    if device is not None and device.flash_bytes > budget:
        raise BudgetError(
            f"{model} takes {device.flash_bytes} bytes after the last training, more than {budget}.",
            "Allow more bytes.",
        )
    timing = {}
    if device is not None and limit is not None:
        timing = {"max_ms": limit.ms, "predicted_ms": limit.check(device, data.X_train)}
    report = {
        "model": model,
        "dataset": data.name,
        "seed": seed,
        "budget": budget,
        "effort": effort,
        "val_accuracy": chosen.accuracy,
        "test_accuracy": search.accuracy(estimator, data.X_test, data.y_test),
        "flash_bytes": device.flash_bytes if device is not None else None,
        "paper_kB": device.paper_bytes / 1024 if device is not None else None,
        "fit_seconds": seconds,
        "params": {key: _plain(value) for key, value in chosen.params.items()},
        **timing,
    }
    return Trained(estimator, report, data.X_train[:: max(1, len(data.X_train) // SAMPLES)][:SAMPLES])


def check_params(model: str, params: Mapping[str, Any]) -> None:
    """Raise InputError for a parameter that the model's estimator does not have."""
    known = registry.estimator(model)().get_params() if params else {}
    for name in params:
        if name not in known:
            raise InputError(f"{model} has no parameter {name!r}.", f"Known: {', '.join(sorted(known))}.")


def _with_fixed(proposals: list[dict[str, Any]], fixed: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The proposals with these parameters set, each once; what is given stands even if none is proposed."""
    if not fixed:
        return proposals
    found: list[dict[str, Any]] = []
    for proposal in proposals or [{}]:
        changed = {**proposal, **fixed}
        if changed not in found:
            found.append(changed)
    return found


@contextmanager
def interruptible() -> Iterator[None]:
    """Ctrl-C inside still raises KeyboardInterrupt afterwards, even if a fit took it as its sign to finish.

    An estimator's own fit ends early on Ctrl-C and keeps what it has; a search would go on to the next one.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came = False
    before = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal came
        came = True
        if callable(before):
            before(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt


def _plain(value: Any) -> Any:
    """numpy's numbers as Python's own, for JSON."""
    return value.item() if isinstance(value, np.generic) else value
