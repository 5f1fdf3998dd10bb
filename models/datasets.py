"""The datasets the papers use, split as they split them, by name.

`load("usps-2")` looks in the folder that the environment variable KILOBENCH_DATA names; digits and cancer
come with scikit-learn and are always there. Training sees X_train and y_train only.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from models import datasets_files
from models.datasets_files import Archive
from models.device import Array
from models.errors import DatasetError, UnknownName

FOLDER_VARIABLE = "KILOBENCH_DATA"


@dataclass(frozen=True)
class Dataset:
    """A training and a test part. y holds class indices, or for label sets a 0/1 row a sample."""

    name: str
    X_train: Array
    y_train: Array
    X_test: Array
    y_test: Array
    source: str
    image: tuple[int, int] | None = None
    """Height and width where the features are the pixels of an image, row by row."""

    @property
    def multilabel(self) -> bool:
        return self.y_train.ndim == 2

    @property
    def n_features(self) -> int:
        return int(self.X_train.shape[1])

    @property
    def n_classes(self) -> int:
        return int(self.y_train.shape[1]) if self.multilabel else int(np.unique(self.y_train).size)


@dataclass(frozen=True)
class Entry:
    """What is known of a dataset before it is loaded. The sizes are also what a file is checked against."""

    archive: str
    train: int
    test: int
    features: int
    classes: int
    image: tuple[int, int] | None = None
    halves: bool = False
    """Two classes made of ten digits: 0–4 against 5–9, the split that reproduces the papers' baselines."""
    multilabel: bool = False


BUILT_IN = "scikit-learn"

CATALOGUE: dict[str, Entry] = {
    "digits": Entry(BUILT_IN, 1347, 450, 64, 10, image=(8, 8)),
    "cancer": Entry(BUILT_IN, 426, 143, 30, 2),
    "usps-10": Entry("usps", 7291, 2007, 256, 10, image=(16, 16)),
    "usps-2": Entry("usps", 7291, 2007, 256, 2, image=(16, 16), halves=True),
    "letter-26": Entry("letter", 16000, 4000, 16, 26),
    "mnist-10": Entry("mnist", 60000, 10000, 784, 10, image=(28, 28)),
    "mnist-2": Entry("mnist", 60000, 10000, 784, 2, image=(28, 28), halves=True),
    "isolet": Entry("isolet", 6238, 1559, 617, 26),
    "adult": Entry("adult", 32561, 16281, 123, 2),
    "mediamill": Entry("mediamill", 30993, 12914, 120, 101, multilabel=True),
    "delicious": Entry("delicious", 12920, 3185, 500, 983, multilabel=True),
}


@dataclass(frozen=True)
class Status:
    """Whether a dataset can be loaded right now, and from where."""

    name: str
    available: bool
    source: str
    train: int
    test: int
    features: int
    classes: int
    multilabel: bool


def names() -> list[str]:
    return list(CATALOGUE)


def entry(name: str) -> Entry:
    if name not in CATALOGUE:
        raise UnknownName("dataset", name, CATALOGUE)
    return CATALOGUE[name]


def status(name: str) -> Status:
    about = entry(name)
    if about.archive == BUILT_IN:
        found: str | None = BUILT_IN
    else:
        path = _archive_path(about)
        found = str(path) if path else None
    return Status(
        name=name,
        available=found is not None,
        source=found or f"not here: {_ways(about)}",
        train=about.train,
        test=about.test,
        features=about.features,
        classes=about.classes,
        multilabel=about.multilabel,
    )


def load(name: str) -> Dataset:
    """The dataset of that name; UnknownName or DatasetError otherwise."""
    about = entry(name)
    if about.archive == BUILT_IN:
        return _built_in(name, about)
    path = _archive_path(about)
    if path is None:
        raise DatasetError(f"The dataset {name} is not on this machine.", _ways(about))
    return _from_archive(name, about, datasets_files.read_archive(path), str(path))


def _archive_path(about: Entry) -> Path | None:
    folder = os.environ.get(FOLDER_VARIABLE)
    if not folder:
        return None
    if not Path(folder).is_dir():
        raise DatasetError(
            f"{FOLDER_VARIABLE} names {folder}, which is not a folder.",
            "Set it to the folder of the .npz files.",
        )
    path = Path(folder) / f"{about.archive}.npz"
    return path if path.is_file() else None


def _ways(about: Entry) -> str:
    folder = os.environ.get(FOLDER_VARIABLE)
    place = (
        f"{folder} (named by {FOLDER_VARIABLE})" if folder else f"a folder and name it in {FOLDER_VARIABLE}"
    )
    return f"Put {about.archive}.npz into {place}."


def _from_archive(name: str, about: Entry, archive: Archive, source: str) -> Dataset:
    y_train, y_test = archive.y_train, archive.y_test
    if about.halves:
        y_train, y_test = (y_train >= 5).astype(np.int64), (y_test >= 5).astype(np.int64)
    _check_sizes(name, about, archive, source)
    return Dataset(name, archive.X_train, y_train, archive.X_test, y_test, source, about.image)


def _check_sizes(name: str, about: Entry, archive: Archive, source: str) -> None:
    expected = ((about.train, about.features), (about.test, about.features))
    found = (archive.X_train.shape, archive.X_test.shape)
    if found != expected:
        raise DatasetError(
            f"{source} is not {name}: it holds {found[0]} training and {found[1]} test values, "
            f"not {expected[0]} and {expected[1]}.",
            "Take the file again from where it came.",
        )


def _built_in(name: str, about: Entry) -> Dataset:
    from sklearn.datasets import load_breast_cancer, load_digits
    from sklearn.model_selection import train_test_split

    X, y = (load_digits if name == "digits" else load_breast_cancer)(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)
    return Dataset(
        name,
        np.asarray(X_train, dtype=np.float32),
        np.asarray(y_train, dtype=np.int64),
        np.asarray(X_test, dtype=np.float32),
        np.asarray(y_test, dtype=np.int64),
        BUILT_IN,
        about.image,
    )
