"""Prototypes on a simulated Uno: Python's integers, buffered and streamed."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import numpy as np
import pytest

from harness.targets import runner_build
from models.checks import adversarial_inputs
from models.device import DeviceModel
from models.prototypes_device import IntegerMap, PrototypesInt8
from tests.firmware.test_kernels_avr import check
from tests.models.device_models import INT8

pytestmark = pytest.mark.skipif(shutil.which("avr-gcc") is None, reason="needs avr-gcc")


@pytest.fixture(scope="module", autouse=True)
def simulator() -> None:
    runner_build.runner()


def whole_prototypes() -> DeviceModel:
    """Longer than a sum of 24 bits allows in one go."""
    rng = np.random.default_rng(0)
    return PrototypesInt8.from_integers(rng.integers(-127, 128, size=(9, 600)), [3, 5, 1], INT8, range(3))


def mapped_prototypes() -> DeviceModel:
    rng = np.random.default_rng(1)
    mapping = IntegerMap(rng.integers(-127, 128, size=(7, 90)), rng.integers(-(10**5), 10**5, size=7), 11)
    B = rng.integers(-127, 128, size=(20, 7))
    return PrototypesInt8.from_integers(B, [12, 8], INT8, range(2), mapping=mapping)


@pytest.mark.parametrize("streaming", [False, True], ids=["buffered", "streaming"])
@pytest.mark.parametrize("make", [whole_prototypes, mapped_prototypes])
def test_the_device_gives_pythons_integers(make: Callable[[], DeviceModel], streaming: bool) -> None:
    model = make()
    check(model, adversarial_inputs(model), streaming)
