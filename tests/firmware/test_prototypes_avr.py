"""Prototypes on simulated boards: Python's integers and the predicted cycles, buffered and streamed."""

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pytest

from harness.targets import runner_build
from models import costs, datasets
from models.checks import adversarial_inputs
from models.device import Array
from models.prototypes import KMeansPrototypes
from models.prototypes_device import IntegerMap, PrototypesInt8
from tests.firmware.test_kernels_avr import check
from tests.models.device_models import INT8

pytestmark = pytest.mark.skipif(shutil.which("avr-gcc") is None, reason="needs avr-gcc")

WITHIN = 0.05


@pytest.fixture(scope="module", autouse=True)
def simulator() -> None:
    runner_build.runner()


def plain(prototypes: int, dimensions: int, classes: int) -> PrototypesInt8:
    """Prototypes about a centre for each class."""
    rng = np.random.default_rng(dimensions)
    counts = np.bincount(np.sort(np.arange(prototypes) % classes), minlength=classes)
    centre = rng.integers(-60, 61, size=(classes, dimensions)).repeat(counts, axis=0)
    B = np.clip(centre + rng.integers(-40, 41, size=(prototypes, dimensions)), -127, 127)
    return PrototypesInt8.from_integers(B, counts, INT8, range(classes))


def mapped(prototypes: int, rows: int, features: int, classes: int) -> PrototypesInt8:
    rng = np.random.default_rng(rows)
    W = rng.integers(-127, 128, size=(rows, features)) * (rng.random((rows, features)) < 0.5)
    mapping = IntegerMap(W, rng.integers(-(10**4), 10**4, size=rows), 11)
    counts = np.bincount(np.sort(np.arange(prototypes) % classes), minlength=classes)
    B = rng.integers(-127, 128, size=(prototypes, rows))
    return PrototypesInt8.from_integers(B, counts, INT8, range(classes), mapping=mapping)


MODELS = {
    "distances of 24 bits with a sign": plain(12, 129, 4),
    "distances of 24 bits without": plain(12, 130, 2),
    "the most dimensions of 24 bits": plain(3, 258, 3),
    "distances of 32 bits": plain(9, 300, 3),
    "one prototype a class": plain(10, 64, 10),
    "less than a round": plain(50, 7, 5),
    "whole rounds": plain(40, 16, 5),
    "behind a map": mapped(60, 16, 90, 10),
    "behind a map, two classes": mapped(100, 10, 64, 2),
}


def near(model: PrototypesInt8, count: int) -> Array:
    rng = np.random.default_rng(1)
    if model.mapped:
        return rng.integers(-127, 128, size=(count, model.n_features)).astype(np.int8)
    about = model.B[rng.integers(len(model.B), size=count)].astype(np.int64)
    close: Array = np.clip(about + rng.integers(-40, 41, size=about.shape), -127, 127)
    return close.astype(np.int8)


@pytest.mark.parametrize("streaming", [False, True], ids=["buffered", "streaming"])
@pytest.mark.parametrize("name", MODELS)
def test_answers_and_cycles(name: str, streaming: bool) -> None:
    model = MODELS[name]
    encoded = np.concatenate([near(model, 8), adversarial_inputs(model)])
    stages = model.stages(streaming=streaming, encoded=encoded)
    assert sum(stage.flash_bytes for stage in stages) == model.flash_bytes
    measured = check(model, encoded, streaming)
    assert costs.total(stages) == pytest.approx(float(measured.mean()), rel=WITHIN)


@pytest.mark.parametrize("board", ["leonardo", "mega2560"])
def test_other_boards(board: str) -> None:
    model = MODELS["distances of 32 bits"]
    check(model, adversarial_inputs(model)[:8], streaming=False, board=board)


def test_more_rounds_than_a_byte_counts() -> None:
    model = plain(2, 2050, 2)
    check(model, adversarial_inputs(model)[:5], streaming=False, board="mega2560")


@pytest.mark.parametrize("streaming", [False, True], ids=["buffered", "streaming"])
def test_distances_are_near_the_floor(streaming: bool) -> None:
    for model in (plain(20, 64, 5), plain(12, 256, 4)):
        stage = next(s for s in model.stages(streaming=streaming) if s.name == "distances")
        assert stage.floor is not None
        assert stage.cycles <= 1.3 * stage.floor


def test_leaving_early_pays_on_real_samples() -> None:
    """And what training notes tells the cycles of other samples."""
    data = datasets.load("digits")
    fitted = KMeansPrototypes(6, random_state=0).fit(data.X_train, data.y_train)
    model = fitted.to_device()
    model = replace(model, info=model.typical(model.encode(data.X_train[::20])))
    encoded = model.encode(data.X_test[::15])
    cycles = check(model, encoded, streaming=False)
    assert costs.total(model.stages(streaming=False)) == pytest.approx(float(cycles.mean()), rel=WITHIN)
    whole = check(model, encoded[:3], streaming=True)
    assert cycles.mean() < 0.9 * whole.mean()
