"""Bonsai, LDKL and the perceptron on a simulated AVR: the assembly for four bits gives Python's integers."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from models.checks import adversarial_inputs
from tests.firmware.test_kernels_avr import check
from tests.firmware.test_tree_kernels import make, samples

pytestmark = pytest.mark.skipif(shutil.which("avr-gcc") is None, reason="needs avr-gcc")


@pytest.mark.parametrize("streaming", [False, True], ids=["buffered", "streaming"])
@pytest.mark.parametrize(("limit", "density"), [(127, 0.1), (7, 1.0), (7, 0.1)])
def test_bonsai_in_every_layout(limit: int, density: float, streaming: bool) -> None:
    model = make("bonsai", "int8", features=260, classes=4, density=density, limit=limit)
    encoded = np.concatenate([adversarial_inputs(model), model.encode(samples(model))[:4]])
    check(model, encoded, streaming)


@pytest.mark.parametrize("family", ["ldkl", "mlp"])
def test_the_others_in_four_bits(family: str) -> None:
    model = make(family, "int8", features=101, classes=3, density=0.1, limit=7)
    check(model, adversarial_inputs(model), streaming=True)


@pytest.mark.parametrize("family", ["bonsai", "ldkl", "mlp"])
def test_floats(family: str) -> None:
    model = make(family, "float32", features=40, classes=2, density=0.3)
    check(model, model.encode(samples(model))[:5], streaming=False)


def test_four_bits_cost_at_most_twenty_cycles_a_weight() -> None:
    """What a weight adds, all else equal: twice the features, twice the weights."""
    cycles = []
    for features in (100, 200):
        model = make("mlp", "int8", features=features, density=0.5, limit=7)
        taken = check(model, adversarial_inputs(model)[:1], streaming=False)
        cycles.append((int(taken[0]), model.arrays["w_nibbles"].size))
    (less, few), (more, many) = cycles
    assert 10 < (more - less) / (many - few) < 20
