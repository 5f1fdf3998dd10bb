from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness import paths, trained
from harness.errors import RunFolderError
from harness.jobs import Recipe
from models import datasets, modelfile, training
from models.datasets import Dataset
from models.errors import InputError

RECIPE = Recipe("cancer", "linear", 2048, 0, "fast")


@pytest.fixture
def trainings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """A cache of its own, and a list of what was trained."""
    monkeypatch.setenv("KILOBENCH_CACHE", str(tmp_path / "cache"))
    done: list[str] = []
    honest = training.train

    def count(model: str, data: Dataset, **options: Any) -> training.Trained:
        done.append(model)
        return honest(model, data, **options)

    monkeypatch.setattr(training, "train", count)
    return done


def folder(tmp_path: Path, name: str) -> Path:
    (tmp_path / name).mkdir()
    return tmp_path / name


def test_a_model_is_trained_once(tmp_path: Path, trainings: list[str]) -> None:
    data = datasets.load("cancer")
    one = trained.obtain(RECIPE, data, ["int8", "float32"], folder(tmp_path, "one"))
    two = trained.obtain(RECIPE, data, ["int8", "float32"], folder(tmp_path, "two"))
    assert trainings == ["linear"]
    assert (one.trained, two.trained) == (True, False)
    for numbers in ("int8", "float32"):
        assert one.get(numbers).digest == two.get(numbers).digest
        name = trained.path_of(Path(), RECIPE, numbers).name
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_a_run_that_is_continued_keeps_its_models(tmp_path: Path, trainings: list[str]) -> None:
    """Even when the cache is gone: half a run with another model is none."""
    data = datasets.load("cancer")
    own = folder(tmp_path, "own")
    first = trained.obtain(RECIPE, data, ["int8"], own)
    for path in paths.cache().rglob("*.model"):
        path.unlink()
    again = trained.obtain(RECIPE, data, ["int8"], own)
    assert trainings == ["linear"]
    assert again.get("int8").digest == first.get("int8").digest


@pytest.mark.parametrize("damage", [b"", b"PK but not really", None])
def test_a_damaged_file_is_made_anew(tmp_path: Path, trainings: list[str], damage: bytes | None) -> None:
    data = datasets.load("cancer")
    own = folder(tmp_path, "own")
    first = trained.obtain(RECIPE, data, ["int8"], own).get("int8")
    for path in [*paths.cache().rglob("*.model"), *own.iterdir()]:
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2] if damage is None else damage)
    assert trained.obtain(RECIPE, data, ["int8"], own).get("int8").digest == first.digest
    assert trainings == ["linear", "linear"]
    assert modelfile.load(trained.path_of(own, RECIPE, "int8")).digest == first.digest


def test_the_key_covers_what_training_depends_on(monkeypatch: pytest.MonkeyPatch) -> None:
    data = datasets.load("cancer")
    keys = {trained.key(RECIPE, data)}
    for change in ({"model": "protonn"}, {"budget": 1024}, {"seed": 1}, {"effort": "normal"}):
        keys.add(trained.key(RECIPE._replace(**change), data))
    nudged = data.X_train.copy()
    nudged[0, 0] = np.nextafter(nudged[0, 0], np.inf)
    keys.add(trained.key(RECIPE, replace(data, X_train=nudged)))
    keys.add(trained.key(RECIPE, replace(data, y_train=1 - data.y_train)))
    monkeypatch.setattr(trained, "_environment", lambda: "another source, or another numpy")
    keys.add(trained.key(RECIPE, data))
    assert len(keys) == 8


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(
    tmp_path: Path, trainings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("KILOBENCH_CACHE", str(tmp_path / "file" / "cache"))
    models = trained.obtain(RECIPE, datasets.load("cancer"), ["int8"], folder(tmp_path, "own"))
    assert models.get("int8").numbers == "int8"
    assert trainings == ["linear"]


@pytest.mark.usefixtures("trainings")
def test_a_number_format_that_cannot_be_had_does_not_cost_the_others(tmp_path: Path) -> None:
    models = trained.obtain(RECIPE, datasets.load("cancer"), ["int8", "int16"], folder(tmp_path, "own"))
    assert models.get("int8").numbers == "int8"
    with pytest.raises(InputError):
        models.get("int16")


@pytest.mark.usefixtures("trainings")
def test_a_run_folder_that_cannot_be_written_ends_the_run(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="cannot be written"):
        trained.obtain(RECIPE, datasets.load("cancer"), ["int8"], tmp_path / "absent")
