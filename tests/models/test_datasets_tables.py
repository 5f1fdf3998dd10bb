from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from models import datasets, training
from models.errors import DatasetError


def table(path: Path, rows: int = 80, seed: int = 0) -> Path:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 2))
    lines = [f"{a:.4f},{'warm' if a + b > 0 else 'cold'},{b:.4f}" for a, b in X]
    path.write_text("\n".join(["first,label,second", *lines]))
    return path


def test_a_table_of_words_and_numbers_becomes_a_dataset(tmp_path: Path) -> None:
    data = datasets.from_files(table(tmp_path / "rooms.csv"), target="label")
    assert (data.name, data.n_features, data.n_classes) == ("rooms", 2, 2)
    assert data.class_names == ("cold", "warm")
    assert (len(data.X_train), len(data.X_test)) == (60, 20)
    assert np.array_equal(data.y_test, (data.X_test.sum(axis=1) > 0).astype(int))


def test_a_test_table_is_used_whole_whatever_the_order_of_its_columns(tmp_path: Path) -> None:
    other = tmp_path / "test.csv"
    other.write_text("second,first,label\n5,1,warm\n-5,2,cold\n")
    data = datasets.from_files(table(tmp_path / "train.csv"), other, "label")
    assert len(data.X_train) == 80
    assert data.X_test.tolist() == [[1, 5], [2, -5]]
    assert data.y_test.tolist() == [1, 0]


def test_whole_numbers_stay_labels_and_the_last_column_is_the_target(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "\n".join(f"{i},{7 if i % 2 else 3}" for i in range(20)))
    data = datasets.from_files(path)
    assert set(data.y_train) == {3, 7}
    assert data.class_names is None


def test_own_arrays_become_a_dataset(tmp_path: Path) -> None:
    X, y = np.eye(6), np.arange(6) % 3
    np.savez(tmp_path / "mine.npz", X_train=X, y_train=y, X_test=X, y_test=y)
    assert datasets.from_files(tmp_path / "mine.npz").n_classes == 3


def test_own_data_can_be_trained_on(tmp_path: Path) -> None:
    data = datasets.from_files(table(tmp_path / "rooms.csv", rows=300), target="label")
    found = training.train("protonn", data, budget=200, effort="fast")
    assert found.report["test_accuracy"] > 0.9


@pytest.mark.parametrize(
    ("text", "target", "words"),
    [
        ("a,b\n1,x\n2,y\n", "c", "no column 'c'"),
        ("a,b,c\n1,red,0\n2,blue,1\n", "c", "'b'.*words"),
        ("a,b\n1,0\n,1\n", "b", "'a'.*missing"),
        ("a,b\n1,0\n2,\n", "b", "no label"),
        ("a\n1\n", "a", "1 columns"),
        ("", "a", "cannot be read"),
        ("a,b\n", "b", "0 rows"),
        ("a,b\n" + "1,0\n" * 9, "b", "the same"),
    ],
)
def test_bad_tables_are_refused_by_what_is_wrong(tmp_path: Path, text: str, target: str, words: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(DatasetError, match=words):
        datasets.from_files(path, target=target)


def test_tables_with_different_columns_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "test.csv"
    other.write_text("first,label\n1,warm\n")
    with pytest.raises(DatasetError, match="second"):
        datasets.from_files(table(tmp_path / "train.csv"), other, "label")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"nowhere\.csv"):
        datasets.from_files(tmp_path / "nowhere.csv")
