"""A user's own table: .csv with a header, one row a sample, the labels in one column."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from models.datasets_files import Archive, check
from models.device import Array
from models.errors import DatasetError

if TYPE_CHECKING:
    import pandas as pd


def read_tables(data: Path, test: Path | None, target: str | None) -> tuple[Archive, tuple[str, ...] | None]:
    """Training and test part, and the words the class indices stand for if labels were words.

    `target` names the column of labels; without it, it is the last. Without a test table, a quarter of the
    samples is set aside, stratified and always the same.
    """
    from sklearn.model_selection import train_test_split

    table = _table(data)
    label = target if target is not None else str(table.columns[-1])
    X, given = _columns(table, label, data)
    if test is None:
        rare = np.unique(given, return_counts=True)[1].min() < 2
        X_train, X_test, y_train, y_test = train_test_split(
            X, given, test_size=0.25, stratify=None if rare else given, random_state=0
        )
    else:
        other = _table(test)
        missing = [name for name in table.columns if name not in other.columns]
        if missing:
            raise DatasetError(
                f"{test} has no column {missing[0]!r}, which {data} has.",
                "Give both tables the same columns.",
            )
        X_train, y_train = X, given
        X_test, y_test = _columns(other[list(table.columns)], label, test)
    train, tested, words = _indices(y_train, y_test)
    archive = Archive(X_train, train, X_test, tested)
    check(archive, str(data))
    return archive, words


def _table(path: Path) -> pd.DataFrame:
    import pandas as pd

    try:
        table = pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise DatasetError(
            f"{path} cannot be read as a table: {error}.",
            "Give a .csv file with a header line, or an .npz file.",
        ) from error
    if len(table) == 0 or len(table.columns) < 2:
        raise DatasetError(
            f"{path} has {len(table)} rows and {len(table.columns)} columns.",
            "Give at least one column of features, one of labels, and some rows.",
        )
    table.columns = table.columns.map(str)
    return table


def _columns(table: pd.DataFrame, label: str, path: Path) -> tuple[Array, Array]:
    if label not in table.columns:
        raise DatasetError(
            f"{path} has no column {label!r}; it has {', '.join(table.columns)}.",
            "Name one of these as target.",
        )
    features = table.drop(columns=label)
    for name in features.columns:
        values = features[name]
        if values.dtype.kind not in "biuf":
            raise DatasetError(
                f"The column {name!r} of {path} holds words, not numbers.",
                "Encode or drop it, or name it as target if it holds the labels.",
            )
        if not np.isfinite(values.to_numpy(dtype=np.float64)).all():
            raise DatasetError(
                f"The column {name!r} of {path} has missing or infinite values.",
                "Remove those rows or fill the values in.",
            )
    if table[label].isna().any():
        raise DatasetError(
            f"Some rows of {path} have no label in {label!r}.", "Remove those rows or label them."
        )
    return features.to_numpy(dtype=np.float32), table[label].to_numpy()


def _indices(train: Array, test: Array) -> tuple[Array, Array, tuple[str, ...] | None]:
    """Whole numbers stay as they are; anything else is numbered in sorted order."""
    if all(y.dtype.kind in "biu" for y in (train, test)):
        return train.astype(np.int64), test.astype(np.int64), None
    words = np.unique(np.concatenate([train.astype(str), test.astype(str)]))
    number = np.searchsorted
    return number(words, train.astype(str)), number(words, test.astype(str)), tuple(map(str, words))
