"""Trained models, each trained once: from the run's folder, else from this user's cache, else from training.

The cache's key is everything a training depends on: the data, the recipe, the source of the model's learner,
and the versions of the libraries that compute. A change there trains anew, and nothing else does.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import platform
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

from harness import lineage, paths
from harness.errors import InputError, KilobenchError, RunFolderError
from harness.jobs import Recipe
from models import modelfile
from models.datasets import Dataset
from models.device import DeviceModel
from models.errors import ModelFileError
from models.timelimit import TimeLimit

SUFFIX = ".model"
LIBRARIES = ("numpy", "scipy", "scikit-learn")


@dataclass(frozen=True)
class Models:
    """The device models of one training by number format; what cannot be had is the error that says why."""

    by_numbers: dict[str, DeviceModel | KilobenchError]
    trained: bool
    """Whether there was anything to train."""

    def get(self, numbers: str) -> DeviceModel:
        found = self.by_numbers[numbers]
        if isinstance(found, KilobenchError):
            raise found
        return found


def obtain(
    recipe: Recipe,
    data: Dataset,
    numbers: Iterable[str],
    folder: Path,
    progress: Callable[[str], None] | None = None,
) -> Models:
    """The recipe's device models, which are then in `folder` too."""
    store = paths.cache() / "models" / key(recipe, data)
    found: dict[str, DeviceModel | KilobenchError] = {}
    missing = []
    for name in numbers:
        model = _stored(folder, recipe, name) or _kept(store, folder, recipe, name)
        if model is None:
            missing.append(name)
        else:
            found[name] = model
    if missing:
        for name, made in _train(recipe, data, missing, progress).items():
            found[name] = made
            if isinstance(made, DeviceModel):
                _save(made, path_of(folder, recipe, name), store)
    return Models(found, trained=bool(missing))


def of_run(run: Path) -> dict[str, DeviceModel]:
    """The models that a run has trained, by the names of their files."""
    found = sorted((run / "models").glob(f"*{SUFFIX}"))
    if not found:
        raise InputError(
            f"{run} holds no trained models.",
            "Name the folder of a run, or leave --models out the first time.",
        )
    return {path.name: modelfile.load(path) for path in found}


def bring(models: Mapping[str, DeviceModel], folder: Path) -> None:
    """Put another run's models here; what it lacks is trained as ever."""
    for name, model in models.items():
        _into_run(model, folder / name)


def path_of(folder: Path, recipe: Recipe, numbers: str) -> Path:
    return folder / f"{recipe.name}-{numbers}{SUFFIX}"


def key(recipe: Recipe, data: Dataset, source: str | None = None) -> str:
    """A name for everything that decides what training gives; `source` is of what is not the registry's."""
    digest = hashlib.sha256(
        json.dumps([*recipe, _environment(), source or _source(recipe), data.source]).encode()
    )
    for part in (data.X_train, data.y_train, data.X_test, data.y_test):
        digest.update(f"{part.dtype.str}{part.shape}".encode())
        digest.update(part.tobytes())
    return digest.hexdigest()[:32]


def _source(recipe: Recipe) -> str:
    # How long a model takes is told by the costs of all families, each by name.
    return lineage.of_model(recipe.model) if recipe.limit is None else lineage.of_models()


@cache
def _environment() -> str:
    libraries = [f"{name} {version(name)}" for name in LIBRARIES]
    # Another processor may have the linear algebra library take another path, and round otherwise.
    return " ".join([*libraries, platform.machine(), platform.python_version()])


def _stored(folder: Path, recipe: Recipe, numbers: str) -> DeviceModel | None:
    """From the folder of a run that is continued; a file that is not whole is made anew."""
    path = path_of(folder, recipe, numbers)
    try:
        return modelfile.load(path) if path.exists() else None
    except ModelFileError:
        return None


def _kept(store: Path, folder: Path, recipe: Recipe, numbers: str) -> DeviceModel | None:
    model = _stored(store, recipe, numbers)
    if model is not None:
        _into_run(model, path_of(folder, recipe, numbers))
    return model


def _train(
    recipe: Recipe,
    data: Dataset,
    numbers: list[str],
    progress: Callable[[str], None] | None,
) -> dict[str, DeviceModel | KilobenchError]:
    from threadpoolctl import threadpool_limits

    from models import training

    # One thread, whatever the machine has: sums taken in another order would train another model.
    with threadpool_limits(limits=1):
        trained = training.train(
            recipe.model,
            data,
            budget=recipe.budget,
            seed=recipe.seed,
            effort=recipe.effort,
            params=dict(recipe.params),
            limit=_time_limit(recipe),
            progress=progress,
        )
    made: dict[str, DeviceModel | KilobenchError] = {}
    for name in numbers:
        try:
            made[name] = trained.device(name)
        except KilobenchError as error:
            made[name] = error
    return made


def _time_limit(recipe: Recipe) -> TimeLimit | None:
    from harness import boards, timing

    if recipe.limit is None:
        return None
    ms, board, speed, stream = recipe.limit
    return timing.limit(boards.load(board), ms, timing.Plan(stream, speed, recipe.budget))


def _save(model: DeviceModel, path: Path, store: Path) -> None:
    """Into the run's folder, and into the cache. A cache that cannot be written costs time, not the run."""
    _into_run(model, path)
    with contextlib.suppress(OSError, InputError):
        store.mkdir(parents=True, exist_ok=True)
        modelfile.save(model, store / path.name)


def _into_run(model: DeviceModel, path: Path) -> None:
    try:
        modelfile.save(model, path)
    except InputError as error:
        raise RunFolderError(error.problem, "Make room or choose another folder with --out.") from error
