"""One answer everywhere: Python, the C of the host and simulated boards, for every family and number format.

Trained models answer for a test set, random models for what no training would give: inputs at the edge of
their range, and shapes, widths and layouts drawn by hypothesis.
"""

from __future__ import annotations

import shutil
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.targets import runner_build
from models import datasets, hostc, registry
from models.checks import adversarial_inputs, check_kernel
from models.device import DeviceModel
from tests.firmware.test_kernels_avr import check
from tests.models.random_models import KINDS, random_model

needs_avr = pytest.mark.skipif(shutil.which("avr-gcc") is None, reason="needs avr-gcc")
needs_gcc = pytest.mark.skipif(not hostc.available(), reason="needs gcc")
BOARDS = ("uno", "mega2560", "leonardo")
SAMPLES = 25
"""Of the test set, on each board; `make measure` sends all of it, and larger sets."""

# One estimator a kernel, with so few epochs that it learns a little of everything.
ESTIMATORS: dict[str, tuple[str, dict[str, Any]]] = {
    "linear": ("linear", {"budget": 600}),
    "protonn": ("protonn", {"budget": 1500, "epochs": 2}),
    "bonsai": ("bonsai", {"budget": 1500, "epochs": 3, "depth": 1, "projection_dim": 11}),
    "ldkl": ("ldkl", {"budget": 2500, "epochs": 3}),
    "mlp": ("mlp", {"budget": 1500, "epochs": 3}),
    "prototypes": ("kmeans", {"n_per_class": 3}),
    "trees": ("forest", {"n_trees": 7, "max_leaves": 20}),
}

shapes = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(KINDS),
        "features": st.integers(1, 160),
        "classes": st.integers(2, 6),
        "density": st.sampled_from([1.0, 0.3, 0.05]),
        "seed": st.integers(0, 2**32 - 1),
    }
)


@pytest.fixture(scope="module", autouse=True)
def simulator() -> None:
    if shutil.which("avr-gcc") is not None:
        runner_build.runner()


@cache
def fitted(family: str) -> Any:
    data = datasets.load("digits")
    name, params = ESTIMATORS[family]
    estimator = registry.estimator(name)(**params)
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=0)
    return estimator.fit(data.X_train, data.y_train)


@needs_avr
@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("kind", KINDS, ids=" ".join)
def test_trained_models_on_every_board(kind: tuple[str, str], board: str) -> None:
    family, numbers = kind
    model: DeviceModel = fitted(family).to_device(numbers)
    assert (model.family, model.numbers) == kind
    encoded = np.concatenate(
        [adversarial_inputs(model), model.encode(datasets.load("digits").X_test[:SAMPLES])]
    )
    check(model, encoded, streaming=board == "mega2560", board=board)


@needs_gcc
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(shape=shapes)
def test_random_models_in_the_hosts_c(shape: dict[str, Any]) -> None:
    model = random_model(**shape)
    check_kernel(model, adversarial_inputs(model, shape["seed"]), seed=shape["seed"], ways=2)


@needs_avr
@needs_gcc
@settings(max_examples=10, deadline=None, derandomize=True, database=None)
@given(shape=shapes, streaming=st.booleans(), board=st.sampled_from(BOARDS), layout=st.integers(0, 5))
def test_random_models_on_simulated_boards(
    shape: dict[str, Any], streaming: bool, board: str, layout: int
) -> None:
    model = random_model(**shape)
    encoded = adversarial_inputs(model, shape["seed"])
    check_kernel(model, encoded, seed=shape["seed"], ways=1)
    variants = model.variants(streaming=streaming)
    variant = variants[layout % len(variants)]
    assert variant.scores(encoded).tobytes() == model.scores(encoded).tobytes()
    check(variant, encoded, streaming, board)
