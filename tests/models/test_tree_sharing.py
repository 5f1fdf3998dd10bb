from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models import hostc
from models.checks import check_device_model
from models.errors import InputError
from models.tree_nodes import Format, Tree, merged, smallest_format
from models.trees_device import Trees, flash_size
from tests.models.test_trees import SCALES, random_tree

needs_gcc = pytest.mark.skipif(not hostc.available(), reason="needs gcc")


def random_dag(  # noqa: PLR0917 -- shape by shape
    rng: np.random.Generator, width: int, depth: int, features: int, values: int, span: int = 127
) -> Tree:
    """Levels of growing width, each node with two random children in the next one; some are leaves."""
    widths = [min(2**level, width) for level in range(depth)] + [values]
    starts = np.cumsum([0, *widths])
    rows = []
    for level, count in enumerate(widths):
        for _ in range(count):
            last = level == depth or (level > 0 and rng.random() < 0.1)
            low, high = starts[level + 1] + rng.integers(widths[min(level + 1, depth)], size=2)
            split = [int(rng.integers(features)), int(rng.integers(-span, span)), int(low), int(high), 0]
            rows.append([-1, 0, 0, 0, int(rng.integers(values))] if last else split)
    return Tree(*np.array(rows, dtype=np.int64).T)


@given(st.integers(1, 12), st.integers(1, 9), st.sampled_from([(1, 0), (1, 1), (2, 2)]), st.integers(0, 999))
@settings(deadline=None)
def test_what_is_written_is_read(width: int, depth: int, widths: tuple[int, int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    dag = merged(random_dag(rng, width, depth, 5, 3), -128, 127)
    form = Format(widths[0], 2, widths[1])
    data = form.write(dag)
    assert len(data) == form.length(dag)
    x = rng.integers(-127, 128, size=(60, 5))
    assert np.array_equal(form.read(data, 255 if form.leaf_bytes else 253).apply(x), dag.apply(x))


def test_every_node_is_written_once_and_few_need_a_jump() -> None:
    dag = merged(random_dag(np.random.default_rng(0), 16, 14, 30, 5), -128, 127)
    form = smallest_format([dag], "int8", 0)
    as_a_tree = form.size(int(dag.leaves_below()[0]))
    written = form.read(form.write(dag), 251)
    assert dag.shared
    assert form.length(dag) < as_a_tree / 15
    assert dag.inner < written.inner < 1.5 * dag.inner


def test_merging_keeps_what_is_shared() -> None:
    rng = np.random.default_rng(1)
    dag = random_dag(rng, 6, 12, 4, 2)
    less = merged(dag, -128, 127)
    x = rng.integers(-128, 128, size=(300, 4))
    assert np.array_equal(less.apply(x), dag.apply(x))
    assert less.inner <= dag.inner


def test_samples_are_counted_on_every_way_to_a_node() -> None:
    rng = np.random.default_rng(0)
    dag = random_dag(rng, 5, 6, 4, 3)
    x = rng.integers(-127, 128, size=(200, 4))
    low, high = dag.visits(x)
    steps, at = 0, np.zeros(len(x), dtype=np.int64)
    while (inner := dag.feature[at] >= 0).any():
        steps += int(inner.sum())
        below = x[np.arange(len(x)), dag.feature[at]] <= dag.threshold[at]
        at = np.where(inner, np.where(below, dag.left[at], dag.right[at]), at)
    assert low.sum() + high.sum() == steps
    assert low[0] + high[0] == len(x)
    leaf = dag.feature < 0
    assert (dag.ways_to() * leaf).sum() == dag.leaves_below()[0]


def test_a_tree_is_not_shared_and_keeps_its_order() -> None:
    tree = random_tree(np.random.default_rng(0), 20, 4, 3)
    assert not tree.shared
    before = [0]
    for node in before:  # grows while it is read: parents come first
        if tree.feature[node] >= 0:
            before += [int(tree.left[node]), int(tree.right[node])]
    order = tree.order()
    assert sorted(order) == sorted(before)
    follows = dict(pairwise(order))
    assert all(follows[n] == tree.left[n] for n in order if tree.feature[n] >= 0)


@needs_gcc
@pytest.mark.parametrize("numbers", ["int8", "int16"])
@pytest.mark.parametrize(("width", "leaf_bytes"), [(4, 0), (60, 0), (6, 1)])
def test_the_kernel_agrees(width: int, leaf_bytes: int, numbers: str) -> None:
    rng = np.random.default_rng(0)
    span = 127 if numbers == "int8" else 30_000
    dags = [random_dag(rng, width, 10, 300, 5, span) for _ in range(6)]
    base = rng.integers(-500, 500, size=3) if leaf_bytes else None
    model = Trees.from_trees(
        dags, SCALES[numbers], range(5 if leaf_bytes == 0 else 3), n_features=300, base=base,
        leaf_bytes=leaf_bytes,
    )  # fmt: skip
    assert model.constants["skip_bytes"] == (2 if width == 60 else 1)
    samples = rng.integers(-span, span, size=(40, 300))
    check_device_model(model, samples, compiler=True)
    for tree, dag in zip(model.trees, dags, strict=True):
        assert np.array_equal(tree.apply(samples), dag.apply(samples))
    assert model.variants(streaming=False) == [model]
    kept = 2 * model.arrays["kept"].size
    limits = np.iinfo(numbers)
    alone = [merged(dag, limits.min, limits.max) for dag in dags]
    assert flash_size(alone, numbers, leaf_bytes, 3, kept) == model.flash_bytes


def test_a_skip_that_is_too_long_is_refused() -> None:
    dag = random_dag(np.random.default_rng(0), 300, 12, 20, 3)
    with pytest.raises(InputError, match="too far for 1"):
        Format(1, 1, 0).write(dag)
