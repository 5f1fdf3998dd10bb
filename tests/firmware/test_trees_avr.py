"""Trees on simulated boards: Python's integers and the predicted cycles, as a table and as code."""

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pytest

from harness import boards
from harness.build import build
from harness.targets import runner_build
from models import costs, datasets
from models.checks import adversarial_inputs
from models.device import WIRE_TYPES, Array, DeviceModel
from models.layouts import fastest
from models.tree_nodes import Tree
from models.trees import ForestClassifier
from models.trees_device import Trees
from tests.firmware.test_kernels_avr import check
from tests.models.test_trees import SCALES, random_tree

pytestmark = pytest.mark.skipif(shutil.which("avr-gcc") is None, reason="needs avr-gcc")

WITHIN = 0.05


@pytest.fixture(scope="module", autouse=True)
def simulator() -> None:
    runner_build.runner()


def grown(  # noqa: PLR0917 -- shape by shape
    trees: int, leaves: int, features: int, classes: int, numbers: str = "int8", leaf_bytes: int = 0
) -> Trees:
    rng = np.random.default_rng(trees)
    span = 127 if numbers == "int8" else 30_000
    scores = 1 if classes == 2 else classes
    values = {0: classes, 1: 100, 2: 30_000}[leaf_bytes]
    return Trees.from_trees(
        [random_tree(rng, leaves, features, values, span) for _ in range(trees)],
        SCALES[numbers],
        range(classes),
        n_features=features,
        base=rng.integers(-70_000, 70_000, size=scores) if leaf_bytes else None,
        leaf_bytes=leaf_bytes,
    )


MODELS = {
    "votes": grown(31, 64, 64, 10),
    "votes of 16 bits": grown(12, 60, 64, 10, "int16"),
    "two classes": grown(9, 20, 30, 2),
    "few nodes": grown(3, 5, 10, 3),
    "long skips": grown(4, 180, 100, 4, "int16"),
    "more classes than registers": grown(20, 30, 16, 26),
    "few of many features": grown(6, 40, 700, 5),
    "few of many features of 16 bits": grown(6, 40, 400, 5, "int16"),
    "boosted": grown(40, 8, 64, 10, leaf_bytes=1),
    "boosted, two classes": grown(20, 8, 30, 2, "int16", 1),
    "boosted, values of 16 bits": grown(30, 8, 200, 3, leaf_bytes=2),
}


def samples(model: DeviceModel, count: int = 12) -> Array:
    limits = np.iinfo(WIRE_TYPES[model.numbers])
    drawn = np.random.default_rng(1).integers(limits.min, limits.max, size=(count, model.n_features))
    return np.concatenate([adversarial_inputs(model)[:7], drawn]).astype(WIRE_TYPES[model.numbers])


@pytest.mark.parametrize("streaming", [False, True], ids=["buffered", "streaming"])
@pytest.mark.parametrize("name", MODELS)
def test_answers_and_cycles(name: str, streaming: bool) -> None:
    encoded = samples(MODELS[name])
    variants = MODELS[name].variants(streaming=streaming)
    assert len(variants) == (1 if streaming or "registers" in name else 2)
    for variant in variants:
        stages = variant.stages(streaming=streaming, encoded=encoded)
        assert sum(stage.flash_bytes for stage in stages) == variant.flash_bytes
        measured = check(variant, encoded, streaming)
        assert costs.total(stages) == pytest.approx(float(measured.mean()), rel=WITHIN)
        slowest = int(stages[0].what.split("at most ")[1].split()[0])
        assert measured.max() <= 1.01 * (slowest + costs.total(stages[1:])) + 20


@pytest.mark.parametrize("board", ["leonardo", "mega2560"])
def test_other_boards(board: str) -> None:
    for variant in MODELS["votes of 16 bits"].variants(streaming=False):
        check(variant, samples(variant, 2), streaming=False, board=board)


def test_votes_that_a_byte_cannot_count() -> None:
    model = grown(300, 2, 6, 3)
    assert model.c_sizes()["tally_bytes"] == 2
    check(model, samples(model, 3), streaming=False)


@pytest.mark.parametrize("least", [True, False])
def test_bounds_of_every_kind(least: bool) -> None:
    """Thresholds at the ends of the range, and multiples of 256, which one byte decides."""
    thresholds = [-32768, -32767, -257, -256, -1, 0, 254, 255, 256, 32511, 32766, 32767]
    rows = [[0, t, 1, 2, 0] for t in thresholds]
    trees = [Tree(*np.array([row, [-1, 0, 0, 0, 0], [-1, 0, 0, 0, 1]]).T) for row in rows]
    model = Trees.from_trees(trees, SCALES["int16"], range(2), n_features=1)
    values = [t + (0 if least else 1) for t in thresholds if least or t < 32767]
    for variant in model.variants(streaming=False):
        check(variant, np.array(values, dtype=np.int16)[:, None], streaming=False)


def test_a_forest_on_digits_is_faster_than_inlined_c() -> None:
    """31 trees of 64 leaves with int16 features: emlearn's inlined C takes 3,844 cycles in 31.7 kB."""
    data = datasets.load("digits")
    model = ForestClassifier(31, max_leaves=64, random_state=0).fit(data.X_train, data.y_train)
    device = fastest(model.to_device("int16"), 28_000, streaming=False)
    cycles = check(device, device.encode(data.X_test[::9]), streaming=False)
    firmware = build(device, boards.load("uno"), streaming=False)
    assert cycles.max() < 3_844
    assert firmware.flash_total <= 31_700
    assert firmware.ram_static <= 1_024
    known = replace(device, info=device.typical(device.encode(data.X_train[::20])))
    predicted = costs.total(known.stages(streaming=False))
    assert predicted == pytest.approx(float(cycles.mean()), rel=WITHIN)
