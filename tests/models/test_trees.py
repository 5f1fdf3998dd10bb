from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from models import datasets, hostc, trees
from models.checks import adversarial_inputs, check_device_model, check_kernel
from models.device import InputScale
from models.errors import BudgetError, InputError
from models.pruning import pruned
from models.search import Task
from models.tree_nodes import Format, Tree, merged
from models.trees import BoostedTreesClassifier, ForestClassifier, PrunedTreeClassifier
from models.trees_device import Trees, flash_size

needs_gcc = pytest.mark.skipif(not hostc.available(), reason="needs gcc")
SCALES = {name: InputScale(np.array(0.0), np.array(1.0), name) for name in ("int8", "int16")}


@pytest.fixture(scope="module")
def digits() -> datasets.Dataset:
    return datasets.load("digits")


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [PrunedTreeClassifier(), ForestClassifier(5), BoostedTreesClassifier(5)]
)
def test_scikit_learn_accepts_it(estimator: Any, check: Any) -> None:
    check(estimator)


def random_tree(rng: np.random.Generator, leaves: int, features: int, values: int, span: int = 127) -> Tree:
    """A tree grown by splitting random leaves."""
    rows = [[-1, 0, 0, 0, int(rng.integers(values))]]
    while sum(row[0] < 0 for row in rows) < leaves:
        node = int(rng.choice([i for i, row in enumerate(rows) if row[0] < 0]))
        split = [int(rng.integers(features)), int(rng.integers(-span, span)), len(rows), len(rows) + 1, 0]
        rows[node] = split
        rows += [[-1, 0, 0, 0, int(rng.integers(values))] for _ in range(2)]
    return Tree(*np.array(rows, dtype=np.int64).T)


# Training


def test_a_tree_without_limits_is_scikit_learns(digits: datasets.Dataset) -> None:
    """On these integers: encoding loses nothing of digits, and thresholds are whole numbers."""
    ours = PrunedTreeClassifier(random_state=0).fit(digits.X_train, digits.y_train)
    seed = np.random.RandomState(0).randint(2**31)
    theirs = DecisionTreeClassifier(random_state=seed).fit(digits.X_train, digits.y_train)
    assert np.array_equal(ours.predict(digits.X_test), theirs.predict(digits.X_test))


def test_pruning_to_alpha_is_scikit_learns(digits: datasets.Dataset) -> None:
    seed = np.random.RandomState(0).randint(2**31)
    for alpha in (0.001, 0.005, 0.02):
        ours = PrunedTreeClassifier(alpha, random_state=0).fit(digits.X_train, digits.y_train)
        theirs = DecisionTreeClassifier(ccp_alpha=alpha, random_state=seed)
        theirs.fit(digits.X_train, digits.y_train)
        assert ours.n_leaves_ == theirs.get_n_leaves()
        assert np.array_equal(ours.predict(digits.X_test), theirs.predict(digits.X_test))


def test_pruning_to_leaves_gives_at_most_so_many(digits: datasets.Dataset) -> None:
    grown = DecisionTreeClassifier(random_state=0).fit(digits.X_train, digits.y_train).tree_
    risk = grown.impurity * grown.weighted_n_node_samples
    tree = trees.voting(grown)
    sizes = [pruned(tree, risk, leaves=n)[0].leaves for n in (1, 2, 10, 60, 10_000)]
    assert sizes[0] == 1
    assert all(size <= n for size, n in zip(sizes, (1, 2, 10, 60, 10_000), strict=True))
    assert sizes[3] > 50


def test_votes_of_the_forest_are_its_trees(digits: datasets.Dataset) -> None:
    ours = ForestClassifier(7, max_leaves=20, random_state=0).fit(digits.X_train, digits.y_train)
    seed = np.random.RandomState(0).randint(2**31)
    theirs = RandomForestClassifier(7, max_leaf_nodes=20, random_state=seed)
    theirs.fit(digits.X_train, digits.y_train)
    votes = np.zeros((len(digits.X_test), 10))
    for one in theirs.estimators_:
        votes[np.arange(len(votes)), one.predict(digits.X_test).astype(int)] += 1
    assert np.array_equal(ours.decision_function(digits.X_test), votes)


def test_boosted_values_of_two_bytes_decide_as_floats_do(digits: datasets.Dataset) -> None:
    ours = BoostedTreesClassifier(10, leaf_bytes=2, random_state=0).fit(digits.X_train, digits.y_train)
    theirs = HistGradientBoostingClassifier(
        max_iter=10,
        max_leaf_nodes=8,
        learning_rate=0.3,
        l2_regularization=1.0,
        early_stopping=False,
        min_samples_leaf=20,
        random_state=np.random.RandomState(0).randint(2**31),
    )
    theirs.fit(ours.inputs_.encode(digits.X_train), digits.y_train)
    same = ours.predict(digits.X_test) == theirs.predict(ours.inputs_.encode(digits.X_test))
    assert np.mean(same) > 0.99


@pytest.mark.parametrize("budget", [300, 700, 2048])
@pytest.mark.parametrize("kind", [PrunedTreeClassifier, ForestClassifier, BoostedTreesClassifier])
def test_a_budget_is_never_exceeded(digits: datasets.Dataset, kind: Any, budget: int) -> None:
    shape = {} if kind is PrunedTreeClassifier else {"max_leaves": 5}
    model = kind(budget=budget, random_state=0, **shape).fit(digits.X_train, digits.y_train)
    free = kind(random_state=0, **shape).fit(digits.X_train, digits.y_train)
    assert model.to_device().flash_bytes <= budget
    assert model.n_leaves_ < free.n_leaves_ or free.to_device().flash_bytes <= budget


def test_a_budget_for_nothing_is_refused(digits: datasets.Dataset) -> None:
    with pytest.raises(BudgetError, match="5 bytes"):
        ForestClassifier(budget=5).fit(digits.X_train, digits.y_train)


def test_more_features_than_a_byte_names_are_reduced_to_the_useful_ones() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(-100, 100, size=(600, 700)).astype(float)
    y = (X[:, 3] > 0).astype(int) + 2 * (X[:, 650] > 20)
    model = ForestClassifier(40, max_leaves=64, max_features=0.2, random_state=0).fit(X, y)
    device = model.to_device()
    assert device.arrays["kept"].size <= 252
    assert {3, 650} <= set(device.arrays["kept"].tolist())
    assert model.score(X, y) > 0.95


@pytest.mark.parametrize("name", ["tree", "forest", "gbdt"])
def test_candidates_keep_to_the_budget(digits: datasets.Dataset, name: str) -> None:
    kind, propose = {
        "tree": (PrunedTreeClassifier, trees.tree_candidates),
        "forest": (ForestClassifier, trees.forest_candidates),
        "gbdt": (BoostedTreesClassifier, trees.boosted_candidates),
    }[name]
    proposals = propose(Task(1347, 64, 10), 1024, "fast")
    assert proposals
    for params in proposals:
        model: Any = kind(**params, random_state=0)
        assert model.fit(digits.X_train, digits.y_train).to_device().flash_bytes <= 1024


# On the device


@given(st.integers(1, 60), st.integers(1, 9), st.sampled_from([(1, 0), (1, 1), (2, 2)]), st.integers(0, 99))
@settings(deadline=None)
def test_what_is_written_is_read(leaves: int, features: int, widths: tuple[int, int], seed: int) -> None:
    threshold_bytes, leaf_bytes = widths
    tree = random_tree(np.random.default_rng(seed), leaves, features, 3)
    written = Format(threshold_bytes, 2, leaf_bytes)
    data = written.write(tree)
    assert len(data) == written.size(tree.leaves)
    again = written.read(data, 255 if leaf_bytes else 253)
    x = np.random.default_rng(seed).integers(-128, 128, size=(50, features))
    assert np.array_equal(again.apply(x), tree.apply(x))


@given(st.integers(1, 60), st.integers(1, 4), st.integers(0, 99))
@settings(deadline=None)
def test_merging_leaves_the_answers_as_they_were(leaves: int, features: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, leaves, features, 2, span=140)  # beyond int8 on both sides
    less = merged(tree, -128, 127)
    x = rng.integers(-128, 128, size=(200, features))
    assert np.array_equal(less.apply(x), tree.apply(x))
    inner = less.feature >= 0
    assert ((less.threshold[inner] >= -128) & (less.threshold[inner] < 127)).all()
    twins = (less.feature[less.left] < 0) & (less.feature[less.right] < 0)
    assert not (inner & twins & (less.value[less.left] == less.value[less.right])).any()


@pytest.mark.parametrize("kind", [PrunedTreeClassifier, ForestClassifier, BoostedTreesClassifier])
def test_features_of_16_bits_can_be_told_apart_where_8_cannot(kind: Any) -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=400), rng.normal(size=400)])
    X[0] = 100.0  # which makes a step of int8 as large as all others lie apart
    y = (np.arange(400) % 2).astype(int)
    X[1:, 0] = np.where(y[1:] == 1, 0.3, 0.2)
    fine = kind(random_state=0, numbers="int16").fit(X, y)
    assert fine.score(X[1:], y[1:]) > 0.99
    assert kind(random_state=0).fit(X, y).score(X[1:], y[1:]) < 0.9
    assert fine.to_device("int16").numbers == "int16"
    with pytest.raises(InputError, match="no firmware for int8"):
        fine.to_device("int8")


def test_as_many_features_as_a_byte_can_name_may_be_any_of_them() -> None:
    wide = [Tree(*np.array([[i, 0, 1, 2, 0], [-1, 0, 0, 0, 0], [-1, 0, 0, 0, 1]]).T) for i in range(1, 254)]
    model = Trees.from_trees(wide, SCALES["int8"], range(3), n_features=300)
    assert len(model.arrays["kept"]) == 253  # a byte's 256 codes less one a class


def test_integers_that_fit_int8_can_be_sent_as_int16(digits: datasets.Dataset) -> None:
    model = ForestClassifier(3, max_leaves=9, random_state=0).fit(digits.X_train, digits.y_train)
    small, large = model.to_device("int8"), model.to_device("int16")
    assert (small.predict(digits.X_test) == large.predict(digits.X_test)).all()
    with pytest.raises(InputError, match="float32"):
        model.to_device("float32")
    with pytest.raises(ValueError, match="numbers"):
        ForestClassifier(numbers="int32").fit(digits.X_train, digits.y_train)


@needs_gcc
@pytest.mark.parametrize("numbers", ["int8", "int16"])
@pytest.mark.parametrize("classes", [2, 6])
@pytest.mark.parametrize(("leaves", "leaf_bytes"), [(9, 0), (200, 0), (9, 1), (12, 2)])
def test_the_kernel_agrees(leaves: int, leaf_bytes: int, classes: int, numbers: str) -> None:
    rng = np.random.default_rng(0)
    span = 127 if numbers == "int8" else 30_000
    scores = 1 if classes == 2 else classes
    values = classes if leaf_bytes == 0 else 100
    model = Trees.from_trees(
        [random_tree(rng, leaves, 40, values, span) for _ in range(2 * scores)],
        SCALES[numbers],
        range(classes),
        n_features=40,
        base=rng.integers(-500, 500, size=scores) if leaf_bytes else None,
        leaf_bytes=leaf_bytes,
    )
    assert model.constants["skip_bytes"] == (2 if leaves == 200 else 1)
    samples = rng.integers(-span, span, size=(40, 40))
    for variant in model.variants(streaming=False):
        check_device_model(variant, samples, compiler=True)
        assert np.array_equal(variant.scores(variant.encode(samples)), model.scores(model.encode(samples)))


@needs_gcc
def test_the_kernel_keeps_few_of_many_features() -> None:
    rng = np.random.default_rng(0)
    grown = [random_tree(rng, 20, 4000, 3) for _ in range(5)]
    model = Trees.from_trees(grown, SCALES["int8"], range(3), n_features=4000)
    assert model.c_sizes()["slots"] < 100
    check_kernel(model, adversarial_inputs(model), ways=6)


def test_flash_size_is_the_models() -> None:
    rng = np.random.default_rng(0)
    for leaves, leaf_bytes in ((5, 0), (120, 0), (7, 1), (7, 2)):
        grown = [random_tree(rng, leaves, 10, 3) for _ in range(3)]
        base = np.zeros(3, dtype=int) if leaf_bytes else None
        model = Trees.from_trees(
            grown, SCALES["int8"], range(3), n_features=10, base=base, leaf_bytes=leaf_bytes
        )
        alone = [merged(tree, -128, 127) for tree in grown]
        assert flash_size(alone, "int8", leaf_bytes, 3) == model.flash_bytes
        assert flash_size(grown, "int8", leaf_bytes, 3) >= model.flash_bytes


def test_unsound_models_are_refused() -> None:
    rng = np.random.default_rng(0)
    model = Trees.from_trees([random_tree(rng, 5, 4, 3)], SCALES["int8"], range(3), n_features=4)
    nodes = model.arrays["nodes"]
    with pytest.raises(InputError, match="outside"):
        bad = nodes.copy()
        bad[2] = 250
        dataclasses.replace(model, arrays={**model.arrays, "nodes": bad})
    with pytest.raises(InputError, match="asks for feature"):
        bad = nodes.copy()
        bad[0] = 200
        dataclasses.replace(model, arrays={**model.arrays, "nodes": bad})
    with pytest.raises(InputError, match="skip_bytes is 3"):
        dataclasses.replace(model, constants={**model.constants, "skip_bytes": 3})
    with pytest.raises(InputError, match="one after the other"):
        dataclasses.replace(model, arrays={**model.arrays, "starts": np.array([7], dtype="<u2")})
    code = model.variants(streaming=False)[1]
    with pytest.raises(InputError, match="code_y is 9"):
        dataclasses.replace(code, constants={**code.constants, "code_y": 9})
    with pytest.raises(InputError, match="not what trees are made into"):
        bad = code.arrays["code"].copy()
        bad[1] ^= 0x10  # another register
        dataclasses.replace(code, arrays={"code": bad})
    with pytest.raises(InputError, match="takes 4 features"):
        model.predict(np.zeros((3, 5)))
    many = [random_tree(rng, 2, 4, 3) for _ in range(4)]
    with pytest.raises(InputError, match="evenly"):
        Trees.from_trees(many, SCALES["int8"], range(3), n_features=4, base=[0, 0, 0], leaf_bytes=1)
    huge = [random_tree(rng, 2, 4, 30_000) for _ in range(2)]
    with pytest.raises(InputError, match=r"A score can reach 21\d{8}, beyond the 2147483647 of 32 bits"):
        Trees.from_trees(huge, SCALES["int8"], range(2), n_features=4, base=[2_147_483_600], leaf_bytes=2)
    with pytest.raises(InputError, match=r"take \d{5} bytes, and the kernel finds its way in 65535"):
        Trees.from_trees([random_tree(rng, 900, 9, 200)] * 20, SCALES["int8"], range(200), n_features=9)
    wide = [Tree(*np.array([[i, 0, 1, 2, 0], [-1, 0, 0, 0, 0], [-1, 0, 0, 0, 1]]).T) for i in range(300)]
    with pytest.raises(InputError, match="300 features"):
        Trees.from_trees(wide, SCALES["int8"], range(3), n_features=300)
