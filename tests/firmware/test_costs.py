"""Predicted cycles against those of a simulated Uno, over shapes, layouts and widths."""

from __future__ import annotations

import dataclasses
import shutil

import numpy as np
import pytest

from harness import boards
from harness.build import build
from models import costs
from models.device import DeviceModel
from models.layouts import choices
from models.linear_device import LinearInt8
from models.protonn_device import ProtoNNInt8
from tests.firmware.test_kernels_avr import check
from tests.models.device_models import INT8, integers, make

pytestmark = pytest.mark.skipif(shutil.which("avr-gcc") is None, reason="needs avr-gcc")

WITHIN = 0.05
SAMPLES = 8


def linear(features: int, classes: int, density: float = 1.0) -> DeviceModel:
    return make("linear", "int8", features, classes, density=density)


def protonn(  # noqa: PLR0917 -- shape by shape
    features: int, classes: int, rows: int, prototypes: int, density: float, exp: int
) -> DeviceModel:
    return make("protonn", "int8", features, classes, rows, prototypes, density, exp_shift=exp)


def small_weights(rows: int, features: int, largest: int) -> DeviceModel:
    """Sums of another width than 24 bits."""
    rng = np.random.default_rng(0)
    W = np.where(rng.random((rows, features)) < 0.9, largest, -largest)
    return LinearInt8.from_integers(W, np.arange(rows), INT8, range(rows))


def crowded(prototypes: int) -> DeviceModel:
    """Prototypes so close that all of them are near, which are not listed then."""
    rng = np.random.default_rng(0)
    return ProtoNNInt8.from_integers(
        integers(rng, (6, 40)),
        integers(rng, (prototypes, 6)),
        integers(rng, (4, prototypes)),
        9,
        14,
        INT8,
        range(4),
    )


MODELS = {
    "one dense row": linear(256, 2),
    "few dense rows": linear(30, 3),
    "dense rows": linear(64, 10),
    "one sparse row": linear(256, 2, 0.3),
    "sparse rows": linear(256, 10, 0.2),
    "sums of 16 bits": small_weights(5, 200, 1),
    "sums of 32 bits": small_weights(3, 600, 127),
    "binary": protonn(256, 2, 10, 20, 0.2, 7),
    "dense projection": protonn(64, 10, 15, 40, 1.0, 7),
    "dimensions from RAM": protonn(30, 2, 26, 46, 1.0, 3),
    "many classes": protonn(16, 26, 10, 100, 1.0, 6),
    "more prototypes than a byte counts": protonn(16, 5, 8, 270, 1.0, 5),
    "all near": crowded(30),
    "long vector": protonn(784, 2, 10, 20, 0.05, 8),
}


@pytest.mark.parametrize("streaming", [False, True], ids=["buffered", "streaming"])
@pytest.mark.parametrize("name", MODELS)
def test_prediction(name: str, streaming: bool) -> None:
    model = MODELS[name]
    rng = np.random.default_rng(1)
    encoded = rng.integers(-127, 128, size=(SAMPLES, model.n_features)).astype(np.int8)
    others = rng.integers(-127, 128, size=(200, model.n_features)).astype(np.int8)
    measured = float(check(model, encoded, streaming).mean())
    predicted = costs.total(model.stages(streaming=streaming, encoded=others))
    assert predicted == pytest.approx(measured, rel=WITHIN)


@pytest.mark.parametrize("name", ["sparse rows", "dense projection", "long vector"])
def test_prediction_of_weights_as_code_by_what_training_noted(name: str) -> None:
    rng = np.random.default_rng(1)
    encoded, others = (
        rng.integers(-127, 128, size=(n, MODELS[name].n_features)).astype(np.int8) for n in (SAMPLES, 64)
    )
    model = dataclasses.replace(MODELS[name], info=MODELS[name].typical(others))
    code = next(choice for choice in choices(model, streaming=False) if "as code" in choice.what)
    assert code.cycles == pytest.approx(float(check(code.model, encoded, streaming=False).mean()), rel=WITHIN)


@pytest.mark.parametrize(
    "model",
    [
        linear(64, 10),
        linear(256, 10, 0.2),
        protonn(256, 2, 18, 37, 0.14, 7),
        protonn(256, 10, 18, 25, 0.14, 6),
        protonn(64, 10, 26, 31, 1.0, 7),
    ],
    ids=lambda model: f"{model.family} {model.flash_bytes}",
)
@pytest.mark.parametrize("streaming", [False, True], ids=["buffered", "streaming"])
def test_projections_and_distances_are_near_the_floor(model: DeviceModel, streaming: bool) -> None:
    for stage in model.stages(streaming=streaming):
        if stage.name in {"projection", "distances"}:
            assert stage.floor is not None
            assert stage.cycles <= 1.3 * stage.floor, f"{stage.name}: {stage.cycles} for {stage.floor}"


@pytest.mark.parametrize("density", [0.04, 0.1])
def test_streamed_rows_are_near_the_floor_in_their_fastest_layout(density: float) -> None:
    model = protonn(784, 2, 14, 32, density, 7)
    fast = min(choices(model, streaming=True), key=lambda choice: choice.cycles)
    projection = fast.model.stages(streaming=True)[0]
    assert "in blocks" in projection.what
    assert projection.floor is not None
    assert projection.cycles <= 1.3 * projection.floor
    rng = np.random.default_rng(1)
    encoded = rng.integers(-127, 128, size=(SAMPLES, 784)).astype(np.int8)
    predicted = costs.total(fast.model.stages(streaming=True, encoded=encoded))
    assert predicted == pytest.approx(float(check(fast.model, encoded, streaming=True).mean()), rel=WITHIN)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("streaming", [False, True], ids=["buffered", "streaming"])
def test_stages_account_for_the_whole_model(name: str, streaming: bool) -> None:
    model = MODELS[name]
    assert sum(stage.flash_bytes for stage in model.stages(streaming=streaming)) == model.flash_bytes


def test_what_depends_on_samples_is_said_to_be_an_estimate() -> None:
    model = MODELS["many classes"]
    told = {stage.name for stage in model.stages(streaming=False) if stage.estimated}
    assert told == {"distances", "exp", "scores"}
    samples = np.zeros((1, model.n_features), dtype=np.int8)
    assert not any(stage.estimated for stage in model.stages(streaming=False, encoded=samples))


def test_distances_of_32_bits_are_not_predicted() -> None:
    assert protonn(16, 2, 4, 5, 1.0, 17).stages(streaming=False) == []


def test_a_family_that_cannot_tell_says_so() -> None:
    assert make("linear", "float32").stages(streaming=False) == []


@pytest.mark.parametrize("streaming", [False, True], ids=["buffered", "streaming"])
@pytest.mark.parametrize(
    ("most", "name"),
    [
        (3072, "one dense row"),
        (3072, "dense rows"),
        (3072, "sparse rows"),
        (4096, "binary"),
        (4096, "dense projection"),
        (4096, "dimensions from RAM"),
        (4096, "all near"),
    ],
)
def test_code_is_small_in_every_layout(name: str, most: int, streaming: bool) -> None:
    for variant in MODELS[name].variants(streaming=streaming):
        firmware = build(variant, boards.load("uno"), streaming=streaming)
        assert firmware.flash_total - firmware.flash_model <= most, sorted(variant.arrays)
