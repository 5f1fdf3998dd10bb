"""Small random device models for tests: any family, number format and layout."""

from __future__ import annotations

import numpy as np

from models.device import Array, DeviceModel, InputScale
from models.linear_device import LinearFloat, LinearInt8
from models.protonn_device import ProtoNNFloat, ProtoNNInt8

INT8 = InputScale(np.array(0.0), np.array(1.0), "int8")
FLOAT = InputScale(np.array(0.0), np.array(1.0), "float32")


def integers(rng: np.random.Generator, shape: tuple[int, int], density: float = 1.0) -> Array:
    """Weights within ±127, of which this part is kept."""
    return rng.integers(-127, 128, size=shape) * (rng.random(shape) < density)


def make(  # noqa: PLR0917 -- shape by shape
    family: str,
    numbers: str,
    features: int = 20,
    classes: int = 3,
    rows: int = 4,
    prototypes: int = 5,
    density: float = 1.0,
    seed: int = 0,
    exp_shift: int = 5,
) -> DeviceModel:
    """A model of random weights, scaled such that nothing saturates all the time."""
    rng = np.random.default_rng(seed)
    scores = 1 if classes == 2 else classes
    labels = tuple(range(classes))
    if family == "linear":
        W, bias = integers(rng, (scores, features), density), rng.integers(-5000, 5000, size=scores)
        if numbers == "int8":
            return LinearInt8.from_integers(W, bias, INT8, labels)
        return LinearFloat.from_floats(W / 127, bias / 500, FLOAT, labels)
    W, B, Z = (
        integers(rng, (rows, features), density),
        integers(rng, (prototypes, rows)),
        integers(rng, (scores, prototypes)),
    )
    if numbers == "int8":
        spread = 74 * 74 * np.sqrt(max(1.0, features * density))  # both factors are uniform: 74 is their sd
        z_shift = int(np.clip(np.ceil(np.log2(spread / 64)), 1, 20))
        return ProtoNNInt8.from_integers(W, B, Z, z_shift, exp_shift, INT8, labels)
    return ProtoNNFloat.from_floats(W / 300, B / 50, Z / 100, 0.4, FLOAT, labels)


KINDS = [(family, numbers) for family in ("linear", "protonn") for numbers in ("int8", "float32")]
