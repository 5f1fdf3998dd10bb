from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models import datasets, datasets_files, datasets_index, datasets_sources
from models.errors import DatasetError, UnknownName


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(datasets.FOLDER_VARIABLE, str(tmp_path))
    monkeypatch.setenv("KILOBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv(datasets_index.OFFLINE_VARIABLE, "1")
    monkeypatch.setattr(datasets_sources, "OPENML", {})
    return tmp_path


def usps_like(**changes: Any) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    arrays = {
        "X_train": rng.random((7291, 256), dtype=np.float32),
        "y_train": np.arange(7291) % 10,
        "X_test": rng.random((2007, 256), dtype=np.float32),
        "y_test": np.arange(2007) % 10,
    }
    return {key: value for key, value in {**arrays, **changes}.items() if value is not None}


def test_built_in_sets_are_always_there_and_stratified() -> None:
    digits = datasets.load("digits")
    assert (digits.X_train.shape, digits.X_test.shape) == ((1347, 64), (450, 64))
    assert np.bincount(digits.y_test).min() >= 43
    assert digits.image == (8, 8)
    cancer = datasets.load("cancer")
    assert (cancer.X_train.shape, cancer.X_test.shape, cancer.n_classes) == ((426, 30), (143, 30), 2)


def test_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(UnknownName, match="usps-10"):
        datasets.load("usps10")


def test_every_name_has_a_status_without_loading() -> None:
    assert {datasets.status(name).name for name in datasets.names()} == set(datasets.names())


def test_empty_folder_is_named(folder: Path) -> None:
    with pytest.raises(DatasetError, match=f"{folder}.*no"):
        datasets.load("usps-2")


def test_missing_dataset_names_the_ways(folder: Path) -> None:
    np.savez(folder / "other.npz", X=[1])
    assert not datasets.status("usps-2").available
    with pytest.raises(DatasetError, match=r"usps\.npz"):
        datasets.load("usps-2")


def test_folder_that_does_not_exist_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(datasets.FOLDER_VARIABLE, str(tmp_path / "nowhere"))
    with pytest.raises(DatasetError, match="nowhere"):
        datasets.load("usps-2")


def test_two_class_variant_is_low_against_high_digits(folder: Path) -> None:
    np.savez(folder / "usps.npz", **usps_like())
    data = datasets.load("usps-2")
    assert data.n_classes == 2
    assert np.array_equal(data.y_train, (np.arange(7291) % 10 >= 5).astype(int))
    assert data.X_train.dtype == np.float32
    assert datasets.status("usps-10").available


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"X_train": np.zeros((7291, 255))}, "255"),
        ({"X_train": np.zeros(7291)}, "shape"),
        ({"y_train": np.arange(7290) % 10}, "7290 labels"),
        ({"X_test": np.full((2007, 256), np.nan)}, "NaN"),
        ({"y_test": None}, "y_test"),
        ({"y_train": np.zeros(7291, dtype=int)}, "the same"),
        ({"y_train": np.full(7291, 0.5)}, "whole numbers"),
        ({"X_train": np.array(["a"] * 7291)}, "not numbers"),
        ({"y_train": np.array([{}] * 7291, dtype=object)}, "cannot be read"),
    ],
)
def test_bad_archives_are_refused_by_what_is_wrong(folder: Path, changes: dict[str, Any], words: str) -> None:
    np.savez(folder / "usps.npz", **usps_like(**changes))
    with pytest.raises(DatasetError, match=words):
        datasets.load("usps-10")


def test_truncated_archive_is_refused(folder: Path) -> None:
    np.savez(folder / "usps.npz", **usps_like())
    whole = (folder / "usps.npz").read_bytes()
    (folder / "usps.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DatasetError, match="cannot be read"):
        datasets.load("usps-10")


def test_sparse_features_label_sets_and_scales_are_expanded(tmp_path: Path) -> None:
    path = tmp_path / "small.npz"
    np.savez(
        path,
        d=4,
        L=3,
        X_train_indices=[0, 3, 1],
        X_train_indptr=[0, 2, 3],
        X_test_indices=[2],
        X_test_indptr=[0, 1],
        Y_train_indices=[1, 0, 2],
        Y_train_indptr=[0, 1, 3],
        Y_test_indices=[1],
        Y_test_indptr=[0, 1],
    )
    archive = datasets_files.read_archive(path)
    assert archive.X_train.tolist() == [[1, 0, 0, 1], [0, 1, 0, 0]]
    assert archive.y_train.tolist() == [[0, 1, 0], [1, 0, 1]]
    scaled = tmp_path / "scaled.npz"
    two = np.array([[10], [20]], dtype=np.int16)
    np.savez(scaled, X_train=two, y_train=[-1, 1], X_test=two, y_test=[1, -1], x_scale=0.5)
    archive = datasets_files.read_archive(scaled)
    assert archive.X_train.tolist() == [[5.0], [10.0]]
    assert archive.y_train.tolist() == [0, 1]


def test_contradicting_index_lists_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "small.npz"
    np.savez(
        path, d=2, X_train_indices=[0, 5], X_train_indptr=[0, 2], y_train=[0], X_test=[[0.0]], y_test=[0]
    )
    with pytest.raises(DatasetError, match="contradict"):
        datasets_files.read_archive(path)
