"""The perceptron and LDKL in every layout: Python's integers on the host and a simulated Uno, and cycles."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from harness.targets import runner_build
from models import costs, hostc
from models.checks import adversarial_inputs
from models.device import DeviceModel
from models.ldkl_device import LdklInt8
from tests.firmware.test_kernels_avr import check
from tests.firmware.test_tree_kernels import make
from tests.models.device_models import INT8, integers

WITHIN = 0.05
ROOM = 20_000
"""Bytes of the largest layout that is built here."""
needs_avr = pytest.mark.skipif(shutil.which("avr-gcc") is None, reason="needs avr-gcc")

SHAPES: dict[str, dict[str, Any]] = {
    "dense": {"features": 60, "classes": 3},
    "sparse": {"features": 256, "classes": 2, "density": 0.2, "depth": 3},
    "dense of four bits": {"features": 61, "classes": 3, "limit": 7, "depth": 1},
    "sparse of four bits": {"features": 150, "classes": 4, "density": 0.1, "limit": 7, "depth": 2},
}


def variants(shape: str, streaming: bool) -> list[DeviceModel]:
    """LDKL in every layout that is not too large."""
    found = make("ldkl", "int8", **SHAPES[shape]).variants(streaming=streaming)
    return [variant for variant in found if variant.flash_bytes < ROOM]


@pytest.mark.skipif(not hostc.available(), reason="needs gcc")
@pytest.mark.parametrize("shape", SHAPES)
def test_rows_on_the_path_alone_give_the_same_integers(shape: str) -> None:
    for model in variants(shape, streaming=False):
        encoded = adversarial_inputs(model)
        with hostc.HostKernel(model, buffered=True) as kernel:
            classes, scores = kernel.run(encoded)
        assert np.array_equal(scores, model.scores(encoded))
        assert np.array_equal(classes, model.decide(scores))


@needs_avr
@pytest.mark.parametrize("streaming", [False, True], ids=["buffered", "streaming"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("family", ["ldkl", "mlp"])
def test_answers_and_cycles(family: str, shape: str, streaming: bool) -> None:
    runner_build.runner()
    agrees(make(family, "int8", **SHAPES[shape]), streaming)


@needs_avr
def test_all_rows_where_the_layout_has_no_single_ones() -> None:
    runner_build.runner()
    for model in variants("sparse", streaming=False):
        if "w_code" in model.arrays:
            agrees(model, streaming=False)


def agrees(model: DeviceModel, streaming: bool) -> None:
    encoded = adversarial_inputs(model)
    stages = model.stages(streaming=streaming, encoded=encoded)
    assert sum(stage.flash_bytes for stage in stages) == model.flash_bytes
    measured = float(check(model, encoded, streaming).mean())
    assert costs.total(stages) == pytest.approx(measured, rel=WITHIN)


def tree_of(rng: np.random.Generator, depth: int, v_shift: int) -> LdklInt8:
    nodes = 2 ** (depth + 1) - 1
    rows = 2 * nodes + nodes // 2
    R = integers(rng, (rows, 40), 0.3)
    return LdklInt8.from_integers(R, rng.integers(-90, 90, size=rows), INT8, "ab", v_shift=v_shift)


@needs_avr
@pytest.mark.parametrize("depth", [0, 1, 4])
def test_predictors_that_are_narrowed_at_every_depth(depth: int) -> None:
    """So little is shifted away from the rows that predictors need a shift of their own."""
    model = tree_of(np.random.default_rng(depth), depth, v_shift=1)
    assert model.constants["w_shift"] > 0
    check(model, adversarial_inputs(model), streaming=False)


def test_what_training_notes_tells_which_rows_are_read() -> None:
    model = tree_of(np.random.default_rng(0), 3, v_shift=9)
    encoded = np.random.default_rng(1).integers(-127, 128, size=(300, 40)).astype(np.int8)
    noted = model.typical(encoded)["typical_visits"]
    assert noted[0] == 1.0
    assert sum(noted[7:]) == pytest.approx(1.0)
    known, counted = (
        replace(model, info={"typical_visits": noted}),
        model.stages(streaming=False, encoded=encoded),
    )
    assert costs.total(known.stages(streaming=False)) == costs.total(counted)
    assert not any(stage.estimated for stage in counted)
