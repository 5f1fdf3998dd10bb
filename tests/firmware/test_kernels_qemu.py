"""The kernels in plain C on 32-bit processors: Python's integers and float bits, and so the Uno's."""

from __future__ import annotations

import numpy as np
import pytest

from harness import boards
from harness.link.client import Link
from harness.targets.qemu import QemuTarget
from models.checks import adversarial_inputs
from models.device import Array, DeviceModel
from models.linear_device import LinearFloat
from tests.firmware.boardfirmware import compiled, parameters
from tests.models.device_models import FLOAT, make
from tests.models.random_models import KINDS, random_model


def check(model: DeviceModel, encoded: Array, board: str, *, streaming: bool) -> None:
    expected = model.scores(encoded)
    with QemuTarget(boards.load(board), compiled(model, board, streaming=streaming)) as target:
        link = Link(target.open())
        link.wait_ready(5.0)
        link.hello()
        classes, scores = [], []
        for sample in encoded:
            classes.append(link.predict(sample.tobytes()).class_index)
            scores.append(link.scores())
    got = np.array(scores)
    assert got.dtype == expected.dtype
    assert got.tobytes() == expected.tobytes()
    assert classes == model.decide(expected).tolist()


@pytest.mark.parametrize("board", parameters())
@pytest.mark.parametrize("kind", KINDS, ids="-".join)
def test_every_family_on_every_processor(kind: tuple[str, str], board: str) -> None:
    """In turn folded as features come and in one piece; more than a frame of them, so that both differ."""
    model = random_model(kind, features=250, classes=4, density=0.4, seed=KINDS.index(kind))
    check(model, adversarial_inputs(model)[:10], board, streaming=KINDS.index(kind) % 2 == 1)


@pytest.mark.parametrize("board", parameters())
def test_denormal_floats(board: str) -> None:
    """Far below the smallest normal number: libraries and the FPU round as numpy does, and flush nothing."""
    rng = np.random.default_rng(0)
    model = LinearFloat.from_floats(rng.normal(size=(5, 24)) * 1e-20, np.full(5, 1e-41), FLOAT, range(5))
    encoded = (rng.normal(size=(6, 24)) * 1e-20).astype(np.float32)
    assert 0 < np.abs(model.scores(encoded)).max() < np.finfo(np.float32).tiny
    check(model, encoded, board, streaming=False)


@pytest.mark.parametrize("board", parameters(("netduinoplus2",)))
def test_a_product_is_rounded_before_it_is_added(board: str) -> None:
    """One operation for both, as the Cortex-M4's FPU has it, would keep the product's low bits."""
    one = np.float32(1 + 2**-12)
    model = LinearFloat.from_floats(np.array([[-1.0, one]]), np.zeros(1), FLOAT, range(2))
    rounded = np.float32(one * one)
    check(model, np.array([[rounded, one]], dtype=np.float32), board, streaming=False)
    assert np.float64(one) * np.float64(one) != np.float64(rounded), "the case would not tell them apart"


@pytest.mark.parametrize("board", parameters(("microbit",)))
def test_a_vector_far_larger_than_ram_is_streamed(board: str) -> None:
    model = make("protonn", "int8", features=20_000, rows=3, classes=2, density=0.02)
    check(model, adversarial_inputs(model)[:2], board, streaming=True)
