"""Shared nodes and Hamming distances on a simulated Uno, by the kernels of trees and of prototypes."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from harness.targets import runner_build
from models import costs, datasets
from models.bnc import BNCClassifier
from models.jungle import JungleClassifier
from tests.firmware.test_kernels_avr import check

pytestmark = pytest.mark.skipif(shutil.which("avr-gcc") is None, reason="needs avr-gcc")

MODELS: dict[str, Any] = {
    "jungle": JungleClassifier(4, max_width=12, budget=2048, random_state=0),
    "wide jungle": JungleClassifier(3, max_width=70, numbers="int16", random_state=0),
    "bnc": BNCClassifier(24, 30, budget=2048, epochs=10, random_state=0),
}


@pytest.mark.parametrize("streaming", [False, True], ids=["buffered", "streaming"])
@pytest.mark.parametrize("name", MODELS)
def test_answers_and_cycles(name: str, streaming: bool) -> None:
    runner_build.runner()
    data = datasets.load("digits")
    model = MODELS[name].fit(data.X_train, data.y_train)
    device = model.to_device("int16" if name == "wide jungle" else "int8")
    encoded = device.encode(data.X_test[:25])
    measured = check(device, encoded, streaming)
    stages = device.stages(streaming=streaming, encoded=encoded)
    assert costs.total(stages) == pytest.approx(float(measured.mean()), rel=0.05)
