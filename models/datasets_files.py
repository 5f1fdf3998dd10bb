"""Reading a dataset from one .npz file: arrays only, checked, never a pickle.

Members: X_train, y_train, X_test, y_test. Optional: x_scale (X = stored integers × x_scale); X as row-wise
index lists of ones (X_train_indices, X_train_indptr, d or shape_d); label sets (Y_train_indices,
Y_train_indptr, L).
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from models.device import Array
from models.errors import DatasetError


@dataclass(frozen=True)
class Archive:
    """The four arrays of a dataset file: float32 features, class indices or 0/1 label rows."""

    X_train: Array
    y_train: Array
    X_test: Array
    y_test: Array


def read_archive(path: Path) -> Archive:
    """The arrays of `path`; DatasetError when it is not such a file, misshapen, or holds NaN."""
    members = _members(path)
    X_train, X_test = (_features(members, part, path) for part in ("train", "test"))
    y_train, y_test = (_labels(members, part, path) for part in ("train", "test"))
    if y_train.ndim == 1:
        y_train, y_test = _class_indices(y_train, y_test, path)
    archive = Archive(X_train, y_train, X_test, y_test)
    check(archive, str(path))
    return archive


def check(archive: Archive, source: str) -> None:
    """Refuse what no classifier can be trained or tested on."""
    for part, X, y in (
        ("training", archive.X_train, archive.y_train),
        ("test", archive.X_test, archive.y_test),
    ):
        if X.ndim != 2 or 0 in X.shape:
            raise DatasetError(
                f"The {part} features of {source} have shape {X.shape}, not (samples, features).",
                "Store one row a sample, and at least one.",
            )
        if len(X) != len(y):
            raise DatasetError(
                f"{source} has {len(X)} {part} samples but {len(y)} labels.", "Store one label a sample."
            )
        if not np.all(np.isfinite(X)):
            raise DatasetError(
                f"The {part} features of {source} hold NaN or infinite values.",
                "Remove those samples or fill the values in.",
            )
    widths = archive.X_train.shape[1], archive.X_test.shape[1]
    if widths[0] != widths[1]:
        raise DatasetError(
            f"{source} has {widths[0]} training features but {widths[1]} test features.",
            "Store the same features in both parts.",
        )
    if archive.y_train.ndim == 1 and np.unique(archive.y_train).size < 2:
        raise DatasetError(f"All training labels of {source} are the same.", "Give at least two classes.")


def _members(path: Path) -> dict[str, Array]:
    try:
        with np.load(path, allow_pickle=False) as stored:
            return {key: stored[key] for key in stored.files}
    except (OSError, ValueError, EOFError, KeyError, AttributeError, zipfile.BadZipFile) as error:
        raise DatasetError(
            f"{path} cannot be read as a dataset: {error}.", "It must be an .npz file of plain arrays."
        ) from error


def _member(members: dict[str, Array], key: str, path: Path) -> Array:
    if key not in members:
        raise DatasetError(
            f"{path} has no array {key}; it has {', '.join(sorted(members)) or 'none'}.",
            "A dataset needs X_train, y_train, X_test and y_test.",
        )
    return members[key]


def _features(members: dict[str, Array], part: str, path: Path) -> npt.NDArray[np.float32]:
    if f"X_{part}_indices" in members:
        width = members["d"] if "d" in members else _member(members, "shape_d", path)
        return _ones(members, f"X_{part}", int(width), path).astype(np.float32)
    X = _member(members, f"X_{part}", path)
    if X.dtype.kind not in "biuf":
        raise DatasetError(f"X_{part} of {path} holds {X.dtype}, not numbers.", "Store numbers.")
    scaled = X.astype(np.float32)
    if "x_scale" in members:
        scaled *= np.float32(members["x_scale"])
    return scaled


def _labels(members: dict[str, Array], part: str, path: Path) -> Array:
    if f"Y_{part}_indices" in members:
        return _ones(members, f"Y_{part}", int(_member(members, "L", path)), path)
    return _member(members, f"y_{part}", path)


def _ones(members: dict[str, Array], prefix: str, width: int, path: Path) -> npt.NDArray[np.uint8]:
    """Dense 0/1 rows from index lists."""
    indices = _member(members, f"{prefix}_indices", path).astype(np.int64)
    bounds = _member(members, f"{prefix}_indptr", path).astype(np.int64)
    lengths = np.diff(bounds)
    if np.any(lengths < 0) or bounds[-1] != indices.size or np.any((indices < 0) | (indices >= width)):
        raise DatasetError(
            f"The index lists {prefix} of {path} contradict each other.",
            "Take the file again from where it came.",
        )
    rows = np.zeros((lengths.size, width), dtype=np.uint8)
    rows[np.repeat(np.arange(lengths.size), lengths), indices] = 1
    return rows


def _class_indices(y_train: Array, y_test: Array, path: Path) -> tuple[Array, Array]:
    """Labels as whole numbers; -1 against 1 becomes 0 against 1."""
    if y_train.ndim != 1 or y_test.ndim != 1 or y_train.dtype.kind not in "biuf":
        raise DatasetError(
            f"The labels of {path} are not one whole number a sample.", "Store class indices from 0."
        )
    train, test = y_train.astype(np.int64), y_test.astype(np.int64)
    if np.any(train != y_train) or np.any(test != y_test):
        raise DatasetError(f"The labels of {path} are not whole numbers.", "Store class indices from 0.")
    if set(np.unique(train)) == {-1, 1}:
        train, test = (train + 1) // 2, (test + 1) // 2
    return train, test
