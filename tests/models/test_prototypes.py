from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils.estimator_checks import parametrize_with_checks

from models import datasets, hashing, hostc, nearest, prototypes
from models.checks import adversarial_inputs, check_device_model, check_kernel
from models.device import InputScale
from models.errors import InputError
from models.prototypes import CondensedPrototypes, KMeansPrototypes, SampledPrototypes
from models.prototypes_device import IntegerMap, PrototypesInt8
from models.search import Task

INT8 = InputScale(np.array(0.0), np.array(1.0), "int8")


@pytest.fixture(scope="module")
def digits() -> datasets.Dataset:
    return datasets.load("digits")


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [KMeansPrototypes(3), SampledPrototypes(20), CondensedPrototypes("cnn"), CondensedPrototypes("fcnn")]
)
def test_scikit_learn_accepts_it(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("rule", ["cnn", "fcnn"])
def test_a_condensed_set_classifies_all_of_its_data(digits: datasets.Dataset, rule: str) -> None:
    model = CondensedPrototypes(rule, random_state=0).fit(digits.X_train, digits.y_train)
    assert model.score(digits.X_train, digits.y_train) == 1.0
    assert len(model.prototypes_) < 0.15 * len(digits.X_train)


@pytest.mark.parametrize("rule", ["cnn", "fcnn"])
def test_condensing_ends_where_equal_samples_have_different_labels(rule: str) -> None:
    X = np.array([[0.0], [0.0], [1.0], [1.0], [5.0]])
    model = CondensedPrototypes(rule, random_state=0).fit(X, [0, 1, 0, 1, 1])
    assert 2 <= len(model.prototypes_) <= 5


def test_condensing_stops_at_its_limit(digits: datasets.Dataset) -> None:
    for rule in ("cnn", "fcnn"):
        model = CondensedPrototypes(rule, max_prototypes=33, random_state=0)
        assert len(model.fit(digits.X_train, digits.y_train).prototypes_) == 33


def test_an_unknown_rule_is_refused(digits: datasets.Dataset) -> None:
    with pytest.raises(ValueError, match="rule"):
        CondensedPrototypes("enn").fit(digits.X_train, digits.y_train)


def test_means_beat_samples(digits: datasets.Dataset) -> None:
    means = KMeansPrototypes(5, random_state=0).fit(digits.X_train, digits.y_train)
    some = SampledPrototypes(50, random_state=0).fit(digits.X_train, digits.y_train)
    assert len(means.prototypes_) == len(some.prototypes_) == 50
    assert means.score(digits.X_test, digits.y_test) > some.score(digits.X_test, digits.y_test)


def test_labels_may_be_words() -> None:
    X = np.array([[0.0, 0], [0, 1], [9, 9], [9, 8]])
    model = KMeansPrototypes(1, random_state=0).fit(X, ["low", "low", "high", "high"])
    assert list(model.predict([[1, 1], [8, 8]])) == ["low", "high"]
    assert list(model.to_device().predict([[1, 1], [8, 8]])) == ["low", "high"]


@given(
    st.lists(st.integers(1, 40), min_size=2, max_size=6),
    st.integers(0, 100),
)
def test_shares_are_fair(sizes: list[int], extra: int) -> None:
    count = len(sizes) + extra
    found = nearest.shares(np.array(sizes), count)
    assert found.sum() == min(count, sum(sizes))
    assert (found >= 1).all()
    assert (found <= sizes).all()


def test_too_few_for_the_classes_are_refused() -> None:
    with pytest.raises(InputError, match="2 prototypes cannot stand for 3 classes"):
        nearest.shares(np.array([5, 5, 5]), 2)


def test_coarse_features_get_prototypes_between_their_levels() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(400, 6)).astype(float)
    y = (X.sum(axis=1) > 6).astype(int)
    device = KMeansPrototypes(8, random_state=0).fit(X, y).to_device()
    assert isinstance(device, PrototypesInt8)
    assert len(np.unique(device.B)) > 20


# Searches


def test_a_ball_tree_agrees_with_all_distances() -> None:
    rng = np.random.default_rng(0)
    points, X = rng.normal(size=(300, 4)), rng.normal(size=(200, 4))
    right = hashing.Exhaustive(points).nearest(X)
    tree = hashing.BallTreeSearch(points)
    assert np.array_equal(tree.nearest(X), right)
    assert 0 < tree.distances < 300 * 200


def test_hashing_finds_near_neighbours_with_few_distances() -> None:
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(60, 20)) * 6
    points = np.repeat(centres, 20, axis=0) + rng.normal(size=(1200, 20)) * 0.3
    X = points[rng.permutation(1200)[:300]] + rng.normal(size=(300, 20)) * 0.05
    right = hashing.Exhaustive(points).nearest(X)
    hashed = hashing.HashSearch(points, tables=8, functions=6, seed=0)
    assert np.mean(hashed.nearest(X) == right) > 0.95
    assert hashed.distances < 0.2 * 1200 * 300


def test_more_functions_mean_fewer_distances_and_more_tables_more() -> None:
    rng = np.random.default_rng(1)
    points, X = rng.normal(size=(800, 8)), rng.normal(size=(100, 8))

    def distances(tables: int, functions: int) -> int:
        search = hashing.HashSearch(points, tables=tables, functions=functions, width=3.0, seed=0)
        search.nearest(X)
        return search.distances

    assert distances(4, 6) < distances(4, 2)
    assert distances(2, 4) < distances(8, 4)


def test_a_sample_alone_in_its_bucket_is_compared_with_all() -> None:
    points = np.array([[0.0, 0.0], [1.0, 1.0]])
    hashed = hashing.HashSearch(points, tables=2, functions=4, width=0.01, seed=0)
    assert hashed.nearest(np.array([[100.0, 90.0]])).tolist() == [1]
    assert hashed.distances == 2


def test_an_unknown_search_is_refused() -> None:
    with pytest.raises(InputError, match="oracle"):
        hashing.search(
            "oracle",
            np.zeros((2, 2)),
            owners=np.arange(2),
            queries=np.zeros((1, 2)),
            labels=np.zeros(1, dtype=int),
        )


def test_tuned_hashing_makes_no_more_errors_than_all_distances() -> None:
    rng = np.random.default_rng(2)
    points = rng.normal(size=(500, 6))
    owners = (points[:, 0] > 0).astype(int)
    queries = rng.normal(size=(400, 6))
    labels = (queries[:, 0] > 0).astype(int)
    tuned = hashing.tuned_hash(points, owners, queries, labels)
    exact = owners[hashing.Exhaustive(points).nearest(queries)]
    found = owners[tuned.nearest(queries)]
    assert np.mean(found == labels) >= np.mean(exact == labels)
    assert tuned.distances < 500 * 400


# On the device


@given(st.data())
@settings(max_examples=30, deadline=None)
def test_the_class_is_that_of_the_nearest_prototype(data: st.DataObject) -> None:
    classes = data.draw(st.integers(2, 4))
    counts = data.draw(st.lists(st.integers(1, 3), min_size=classes, max_size=classes))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    B = rng.integers(-127, 128, size=(sum(counts), 3))
    model = PrototypesInt8.from_integers(B, counts, INT8, range(classes))
    X = rng.integers(-127, 128, size=(20, 3))
    away = np.square(X[:, None] - B).sum(axis=2)
    owners = np.repeat(np.arange(classes), counts)
    assert np.array_equal(model.predict(X), owners[away.argmin(axis=1)])


@pytest.mark.skipif(not hostc.available(), reason="needs gcc")
@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("mapped", [False, True])
def test_the_kernel_agrees(mapped: bool, classes: int) -> None:
    rng = np.random.default_rng(0)
    features, rows = 700, 9
    mapping = IntegerMap(
        rng.integers(-127, 128, size=(rows, features)) * (rng.random((rows, features)) < 0.1),
        rng.integers(-(10**6), 10**6, size=rows),
        13,
    )
    model = PrototypesInt8.from_integers(
        rng.integers(-127, 128, size=(4 * classes, rows if mapped else features)),
        np.full(classes, 4),
        INT8,
        range(classes),
        mapping=mapping if mapped else None,
    )
    check_device_model(model, rng.integers(-127, 128, size=(20, features)), compiler=True)


@pytest.mark.skipif(not hostc.available(), reason="needs gcc")
def test_the_kernel_counts_beyond_a_byte() -> None:
    rng = np.random.default_rng(0)
    model = PrototypesInt8.from_integers(rng.integers(-127, 128, size=(301, 4)), [300, 1], INT8, range(2))
    assert model.arrays["counts"].dtype == np.uint16
    check_kernel(model, adversarial_inputs(model))


def test_flash_size_is_the_models() -> None:
    B = np.ones((20, 6), dtype=int)
    plain = PrototypesInt8.from_integers(B, [10, 10], INT8, range(2))
    assert plain.flash_bytes == PrototypesInt8.flash_size(20, 2, 6)
    mapping = IntegerMap(np.ones((6, 30), dtype=int), np.zeros(6, dtype=int), 4)
    behind = PrototypesInt8.from_integers(B, [10, 10], INT8, range(2), mapping=mapping)
    assert behind.flash_bytes == PrototypesInt8.flash_size(20, 2, 30, 6)


def test_unsound_models_are_refused() -> None:
    B = np.ones((3, 4), dtype=int)
    with pytest.raises(InputError, match="0 prototypes"):
        PrototypesInt8.from_integers(B, [3, 0], INT8, range(2))
    with pytest.raises(InputError, match="do not share 3 prototypes"):
        PrototypesInt8.from_integers(B, [1, 1], INT8, range(2))
    with pytest.raises(InputError, match="2 counts for 3 classes"):
        PrototypesInt8.from_integers(B, [2, 1], INT8, range(3))
    with pytest.raises(InputError, match="beyond ±127"):
        PrototypesInt8.from_integers(B * 200, [2, 1], INT8, range(2))
    wide = np.ones((2, 40_000), dtype=int)
    with pytest.raises(InputError, match="40000 dimensions"):
        PrototypesInt8.from_integers(wide, [1, 1], INT8, range(2))
    big = IntegerMap(np.full((4, 9), 127), np.full(4, 2**31 - 1), 4)
    with pytest.raises(InputError, match="32 bits"):
        PrototypesInt8.from_integers(B, [2, 1], INT8, range(2), mapping=big)
    sound = PrototypesInt8.from_integers(B, [2, 1], INT8, range(2))
    with pytest.raises(InputError, match="of the 5 features"):
        dataclasses.replace(sound, n_features=5)


@pytest.mark.parametrize("name", ["kmeans", "sampled", "cnn", "fcnn"])
def test_candidates_keep_to_the_budget(digits: datasets.Dataset, name: str) -> None:
    task = Task(len(digits.X_train), digits.n_features, digits.n_classes)
    kind, propose = {
        "kmeans": (KMeansPrototypes, prototypes.kmeans_candidates),
        "sampled": (SampledPrototypes, prototypes.sampled_candidates),
        "cnn": (CondensedPrototypes, prototypes.cnn_candidates),
        "fcnn": (CondensedPrototypes, prototypes.fcnn_candidates),
    }[name]
    (params,) = propose(task, 2048, "fast")
    model = kind(**params).fit(digits.X_train, digits.y_train)
    assert 1500 < model.to_device().flash_bytes <= 2048
    assert propose(task, 600, "fast") == []
