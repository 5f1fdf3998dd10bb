"""Random device models of every family and number format, small enough to be built by the dozen."""

from __future__ import annotations

import numpy as np

from models.device import DeviceModel
from models.families import FAMILIES
from models.prototypes_device import IntegerMap, PrototypesInt8
from models.trees_device import Trees
from tests.firmware import test_tree_kernels as tree_kernels
from tests.models import device_models
from tests.models.device_models import INT8
from tests.models.test_trees import SCALES, random_tree

KINDS = tuple(FAMILIES)
"""Every (family, numbers) that the firmware has a kernel for."""


def random_model(
    kind: tuple[str, str], features: int, classes: int, density: float, seed: int
) -> DeviceModel:
    """A model of random weights; the seed also decides its other sizes."""
    family, numbers = kind
    rng = np.random.default_rng(seed)
    if family in ("linear", "protonn"):
        rows, prototypes, shift = (int(rng.integers(1, most)) for most in (12, 14, 12))
        return device_models.make(
            family, numbers, features, classes, rows, prototypes, density, seed % 1000, shift
        )
    if family == "prototypes":
        return _prototypes(rng, features, classes)
    if family == "trees":
        return _trees(rng, numbers, features, classes)
    return tree_kernels.make(
        family,
        numbers,
        features=features,
        classes=classes,
        depth=int(rng.integers(0, 4)),
        density=density,
        limit=int(rng.choice([7, 127])),
    )


def _prototypes(rng: np.random.Generator, features: int, classes: int) -> DeviceModel:
    counts = rng.integers(1, 5, size=classes)
    if rng.random() < 0.5:
        B = rng.integers(-127, 128, size=(int(counts.sum()), features))
        return PrototypesInt8.from_integers(B, counts.tolist(), INT8, range(classes))
    rows = int(rng.integers(1, 9))
    W = rng.integers(-127, 128, size=(rows, features))
    shift = max(1, round(float(np.log2(74 * 74 * np.sqrt(features) / 64))))
    mapping = IntegerMap(W, rng.integers(-5000, 5000, size=rows), shift)
    B = rng.integers(-127, 128, size=(int(counts.sum()), rows))
    return PrototypesInt8.from_integers(B, counts.tolist(), INT8, range(classes), mapping=mapping)


def _trees(rng: np.random.Generator, numbers: str, features: int, classes: int) -> DeviceModel:
    span = 127 if numbers == "int8" else 30_000
    leaf_bytes = int(rng.integers(0, 3))
    scores = 1 if classes == 2 else classes
    values = {0: classes, 1: 127, 2: 30_000}[leaf_bytes]
    count = int(rng.integers(1, 5)) * (scores if leaf_bytes else 1)
    grown = [random_tree(rng, int(rng.integers(1, 40)), features, values, span) for _ in range(count)]
    base = rng.integers(-70_000, 70_000, size=scores) if leaf_bytes else None
    return Trees.from_trees(
        grown, SCALES[numbers], range(classes), n_features=features, base=base, leaf_bytes=leaf_bytes
    )
