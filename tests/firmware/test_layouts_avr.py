"""Every layout that a model's weights can have, on a simulated Uno: the same scores, in the cycles told."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from harness.link.client import Link
from harness.link.identity import Hello
from models import costs
from models.bonsai_device import BonsaiInt8
from models.checks import adversarial_inputs
from models.device import Array, DeviceModel
from models.linear_device import LinearInt8
from models.protonn_device import ProtoNNInt8
from tests.firmware.test_kernels_avr import check
from tests.models.device_models import INT8, integers

pytestmark = pytest.mark.skipif(shutil.which("avr-gcc") is None, reason="needs avr-gcc")


def sparse(rng: np.random.Generator, rows: int, columns: int, largest: int, density: float) -> Array:
    return rng.integers(-largest, largest + 1, size=(rows, columns)) * (rng.random((rows, columns)) < density)


def protonn_of_four_bits() -> DeviceModel:
    rng = np.random.default_rng(0)
    W = sparse(rng, 9, 200, 7, 0.2)
    return ProtoNNInt8.from_integers(W, integers(rng, (20, 9)), integers(rng, (3, 20)), 5, 7, INT8, range(3))


def bonsai(features: int, classes: int, depth: int, limit: int, rows: int = 6) -> DeviceModel:
    rng = np.random.default_rng(limit)
    scores = 1 if classes == 2 else classes
    nodes = 2 ** (depth + 1) - 1
    weights = {
        "Z": sparse(rng, rows, features, limit, 0.15),
        "b": rng.integers(-90, 90, size=rows),
        **{key: integers(rng, (nodes * scores, rows + 1)).clip(-limit, limit) for key in ("W", "V")},
        "T": integers(rng, (nodes // 2, rows + 1)).clip(-limit, limit),
    }
    return BonsaiInt8.from_integers(
        weights,
        INT8,
        range(classes),
        z_shift=9 if limit > 7 else 4,
        v_shift=8 if limit > 7 else 3,
        limits=dict.fromkeys("ZWVT", limit),
    )


def linear_of_sparse_rows() -> DeviceModel:
    """Vectors of two blocks and a half, rows with nothing in a block among them."""
    rng = np.random.default_rng(0)
    return LinearInt8.from_integers(sparse(rng, 6, 600, 127, 0.02), np.arange(6), INT8, range(6))


def ternary_protonn() -> DeviceModel:
    rng = np.random.default_rng(0)
    W = 37 * sparse(rng, 8, 200, 1, 0.2)
    return ProtoNNInt8.from_integers(W, integers(rng, (9, 8)), integers(rng, (3, 9)), 8, 7, INT8, range(3))


MODELS = {
    "ternary protonn": ternary_protonn(),
    "protonn of four bits": protonn_of_four_bits(),
    "binary bonsai of four bits": bonsai(256, 2, 2, 7),
    "bonsai of eight bits": bonsai(150, 5, 1, 127),
    "linear": linear_of_sparse_rows(),
}


@pytest.mark.parametrize("streaming", [False, True], ids=["buffered", "streaming"])
@pytest.mark.parametrize("name", MODELS)
def test_scores_and_cycles_of_every_layout(name: str, streaming: bool) -> None:
    model = MODELS[name]
    encoded = adversarial_inputs(model)[:8]
    variants = model.variants(streaming=streaming)
    assert len({tuple(sorted(variant.arrays)) for variant in variants}) == len(variants) >= 3
    for variant in variants:
        measured = float(check(variant, encoded, streaming).mean())
        stages = variant.stages(streaming=streaming, encoded=encoded)
        assert costs.total(stages) == pytest.approx(measured, rel=0.05), stages[0].what
        assert sum(stage.flash_bytes for stage in stages) == variant.flash_bytes


class SmallPieces(Link):
    """A host that sends fewer features at a time than a frame holds."""

    def hello(self) -> Hello:
        found = super().hello()
        self._chunk = 77
        return found


@pytest.mark.parametrize("name", ["binary bonsai of four bits", "linear"])
def test_pieces_that_are_no_blocks(name: str) -> None:
    model = MODELS[name]
    blocks = [variant for variant in model.variants(streaming=True) if "blocks" in " ".join(variant.arrays)]
    assert blocks
    for variant in blocks:
        check(variant, adversarial_inputs(model)[:6], streaming=True, host=SmallPieces)


@pytest.mark.parametrize("board", ["leonardo", "mega2560"])
def test_other_boards(board: str) -> None:
    model = MODELS["binary bonsai of four bits"]
    for streaming in (False, True):
        for variant in model.variants(streaming=streaming)[1:3]:
            check(variant, adversarial_inputs(model)[:6], streaming, board)


@pytest.mark.parametrize("rows", [1, 2, 7, 16])
def test_nodes_of_every_length(rows: int) -> None:
    """Rows that do not fill a round of the loop, and those of an odd number of four-bit weights."""
    for limit in (7, 127):
        model = bonsai(30, 3, 1, limit, rows)
        check(model, adversarial_inputs(model)[:6], streaming=False)
