"""Which of many parameter sets is best, judged on parts of the training data only.

Successive halving: all candidates are trained briefly on one split, the better part of them longer and on
every split. How much work that is follows from the effort and the data, never from a clock, so that a seed
gives the same model on every machine.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from models.device import Array, DeviceModel
from models.errors import BudgetError, InputError, TooSlow
from models.timelimit import MARGIN, TimeLimit, fastest


@dataclass(frozen=True)
class Task:
    """What a family may know of the data when it proposes shapes."""

    n_samples: int
    n_features: int
    n_classes: int
    image: tuple[int, int] | None = None

    @property
    def n_scores(self) -> int:
        return 1 if self.n_classes == 2 else self.n_classes


@dataclass(frozen=True)
class Effort:
    """How much work a search may be."""

    candidates: int
    finalists: int
    splits: int
    samples: int
    """Training samples that candidates see; the final model sees all."""
    first_share: float
    """Share of its epochs that a candidate gets in the first round."""


EFFORTS: dict[str, Effort] = {
    "fast": Effort(candidates=3, finalists=1, splits=1, samples=15000, first_share=0.34),
    "normal": Effort(candidates=8, finalists=4, splits=5, samples=30000, first_share=0.4),
    "best": Effort(candidates=24, finalists=6, splits=8, samples=60000, first_share=0.4),
}


@dataclass(frozen=True)
class Judged:
    """A candidate and its validation accuracy."""

    params: Mapping[str, Any]
    accuracy: float


@dataclass(frozen=True)
class Bounds:
    """What candidates must keep to."""

    budget: int
    limit: TimeLimit | None = None
    slow: list[TooSlow] = dataclasses.field(default_factory=list)
    """What was found too slow, for the error that says so."""

    def verdict(self, model: DeviceModel, X: Array) -> str:
        """Why this model is out, or nothing; X are samples to predict its time by."""
        if model.flash_bytes > self.budget:
            return "too large"
        try:
            if self.limit is not None:
                self.limit.check(model, X, margin=MARGIN)
        except TooSlow as error:
            self.slow.append(error)
            return "too slow"
        return ""


SMALL = 5000
"""Fewer training samples than these are split several times, since each part says little."""
TRAIN_SHARE = 0.75
"""Of the training data; the rest judges."""
Split = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
"""Indices to learn from, and to judge by."""
Fit = Callable[[Mapping[str, Any], Array, Array], Any]


def effort_named(name: str) -> Effort:
    if name not in EFFORTS:
        raise InputError(f"There is no effort {name!r}.", f"Choose {', '.join(EFFORTS)}.")
    return EFFORTS[name]


def best_candidate(
    fit: Fit,
    candidates: Sequence[Mapping[str, Any]],
    X: Array,
    y: Array,
    *,
    bounds: Bounds,
    effort: Effort,
    seed: int,
    progress: Callable[[str], None] | None = None,
) -> Judged:
    """The candidate of highest accuracy as an integer model within the bounds.

    Candidates come best guess first; where they are few, all are finalists. Where several splits show how
    uncertain the accuracies are, an earlier candidate is taken unless the best one is better by more than a
    standard error.
    """
    splits = _splits(X, y, effort, seed)
    field = [dict(c) for c in candidates[: effort.candidates]]
    # Candidates that see a part of large data see it more often: as many samples as in the full training.
    again = TRAIN_SHARE * len(X) / len(splits[0][0])
    finalists = field
    if not 1 < len(field) <= effort.finalists:
        # Small data are cheap to learn in full, and how long is good for them is a question of its own.
        share = effort.first_share if len(X) >= SMALL else 1.0
        short = [_with_epochs(p, share * again) for p in field]
        judged = _judge(fit, short, X, y, splits=splits[:1], bounds=bounds, progress=progress)
        ranked = sorted(range(len(field)), key=lambda i: -judged[i][0])
        if judged[ranked[0]][0] < 0:
            raise _nothing(bounds)
        finalists = [field[i] for i in sorted(ranked[: effort.finalists])]
        if len(finalists) == 1:
            return Judged(finalists[0], judged[ranked[0]][0])
    longer = [_with_epochs(p, again) for p in finalists]
    final = _judge(fit, longer, X, y, splits=splits, bounds=bounds, progress=progress)
    chosen = _first_as_good(final)
    if final[chosen][0] < 0:
        raise _nothing(bounds)
    return Judged(finalists[chosen], float(np.mean(final[chosen])))


def _nothing(bounds: Bounds) -> BudgetError:
    if bounds.slow:
        return fastest(bounds.slow)
    return BudgetError(
        f"No model of this family fits into {bounds.budget} bytes for these data.", "Allow more bytes."
    )


def _first_as_good(results: Sequence[Sequence[float]]) -> int:
    """The first whose accuracies on the splits are not clearly below those of the best on average."""
    best = int(np.argmax([np.mean(found) for found in results]))
    for number, found in enumerate(results[:best]):
        if len(found) == len(results[best]) > 1:
            behind = np.subtract(results[best], found)
            if behind.mean() <= behind.std(ddof=1) / len(behind) ** 0.5:
                return number
    return best


def device_of(estimator: Any) -> DeviceModel | None:
    """The integer model that is judged and measured; None for references that only run on the host."""
    if not hasattr(estimator, "to_device"):
        return None
    device: DeviceModel = estimator.to_device("int8")
    return device


def accuracy(estimator: Any, X: Array, y: Array) -> float:
    model = device_of(estimator) or estimator
    return float(np.mean(model.predict(X) == y))


def _judge(
    fit: Fit,
    field: Sequence[Mapping[str, Any]],
    X: Array,
    y: Array,
    *,
    splits: Sequence[Split],
    bounds: Bounds,
    progress: Callable[[str], None] | None,
) -> list[list[float]]:
    """Validation accuracies of each, one a split; a single -1 for what is out of bounds."""
    results: list[list[float]] = []
    for number, params in enumerate(field, 1):
        found = []
        out = ""
        for train, valid in splits:
            try:
                estimator = fit(params, X[train], y[train])
                device = device_of(estimator)
            except BudgetError:
                out = "too large"
            else:
                out = "" if device is None else bounds.verdict(device, X[valid])
            if out:
                found = [-1.0]
                break
            found.append(accuracy(estimator, X[valid], y[valid]))
        results.append(found)
        if progress:
            verdict = out or f"{np.mean(found):.2%}"
            progress(f"candidate {number}/{len(field)}: {verdict} {_brief(params)}")
    return results


def _splits(X: Array, y: Array, effort: Effort, seed: int) -> list[Split]:
    """Stratified splits; large data need fewer of them, and no more than a sample to learn from."""
    from sklearn.model_selection import train_test_split

    count = effort.splits if len(X) < SMALL else 1
    rng = np.random.RandomState(seed)
    rare = np.bincount(np.unique(y, return_inverse=True)[1]).min() < 4
    parts = []
    for _ in range(count):
        train, valid = train_test_split(
            np.arange(len(X)),
            test_size=1 - TRAIN_SHARE,
            stratify=None if rare else y,
            random_state=rng.randint(2**31),
        )
        parts.append((train[: effort.samples], valid))
    return parts


def _with_epochs(params: Mapping[str, Any], factor: float) -> dict[str, Any]:
    """The same with more or fewer epochs, where the family counts in epochs."""
    changed = dict(params)
    if "epochs" in changed:
        changed["epochs"] = max(1, round(changed["epochs"] * factor))
    return changed


def _brief(params: Mapping[str, Any]) -> str:
    return " ".join(f"{key}={value}" for key, value in params.items())
