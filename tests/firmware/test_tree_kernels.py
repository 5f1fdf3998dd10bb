"""The kernels of Bonsai, LDKL and the perceptron against the models in Python, every layout and depth."""

from __future__ import annotations

import numpy as np
import pytest

from models import hostc
from models.bonsai_device import BonsaiFloat, BonsaiInt8
from models.bonsai_net import TreeShape
from models.checks import adversarial_inputs, check_device_model, check_kernel
from models.device import Array, DeviceModel
from models.ldkl_device import LdklFloat, LdklInt8
from models.mlp_device import MlpFloat, MlpInt8
from tests.models.device_models import FLOAT, INT8

pytestmark = pytest.mark.skipif(not hostc.available(), reason="needs gcc")

ROWS = 5


def make(
    family: str,
    numbers: str,
    *,
    features: int = 60,
    classes: int = 3,
    depth: int = 2,
    density: float = 1.0,
    limit: int = 127,
) -> DeviceModel:
    """A model of random weights, scaled such that not everything saturates."""
    rng = np.random.default_rng(depth)
    scores = 1 if classes == 2 else classes
    tree = TreeShape(depth, scores)

    def drawn(rows: int, columns: int, part: float = 1.0) -> Array:
        return rng.integers(-limit, limit + 1, size=(rows, columns)) * (rng.random((rows, columns)) < part)

    spread = 74 * limit * np.sqrt(max(1.0, features * density)) / 1.7
    shift = max(1, round(float(np.log2(spread / 64))))
    tree_shift = max(0, round(float(np.log2(limit))))
    limits = dict.fromkeys("ZWVTO", limit)
    labels = range(classes)
    b: Array
    if family == "ldkl":
        R = drawn(2 * tree.rows + tree.branches, features, density)
        b = rng.integers(-90, 90, size=len(R))
        if numbers == "int8":
            return LdklInt8.from_integers(R, b, INT8, labels, v_shift=shift, limit=limit)
        return LdklFloat.from_floats(R / 300, b / 127, FLOAT, labels)
    first = drawn(ROWS, features, density)
    b = rng.integers(-90, 90, size=ROWS)
    weights: dict[str, Array]
    if family == "mlp":
        weights = {"W": first, "b": b, "O": drawn(scores, ROWS + 1)}
        if numbers == "int8":
            return MlpInt8.from_integers(weights, INT8, labels, h_shift=shift, limits=limits)
        return MlpFloat.from_floats({key: value / 200 for key, value in weights.items()}, FLOAT, labels)
    weights = {
        "Z": first,
        "b": b,
        "W": drawn(tree.rows, ROWS + 1),
        "V": drawn(tree.rows, ROWS + 1),
        "T": drawn(tree.branches, ROWS + 1),
    }
    if numbers == "int8":
        return BonsaiInt8.from_integers(
            weights, INT8, labels, z_shift=shift, v_shift=tree_shift, limits=limits
        )
    return BonsaiFloat.from_floats({key: value / 200 for key, value in weights.items()}, FLOAT, labels)


def samples(model: DeviceModel) -> Array:
    rng = np.random.default_rng(0)
    if model.numbers == "float32":
        return rng.normal(size=(20, model.n_features))
    return rng.integers(-140, 140, size=(20, model.n_features))


@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize(("limit", "density"), [(127, 1.0), (127, 0.08), (7, 1.0), (7, 0.08)])
@pytest.mark.parametrize("family", ["bonsai", "ldkl", "mlp"])
def test_every_layout_of_integers(family: str, limit: int, density: float, classes: int) -> None:
    model = make(family, "int8", classes=classes, density=density, limit=limit)
    sparse, small = "w_counts" in model.arrays, not {"w", "w_pairs"} & set(model.arrays)
    assert (sparse, small) == (density < 1.0, limit == 7)
    check_device_model(model, samples(model), compiler=True)


@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("density", [1.0, 0.08])
@pytest.mark.parametrize("family", ["bonsai", "ldkl", "mlp"])
def test_floats(family: str, density: float, classes: int) -> None:
    model = make(family, "float32", classes=classes, density=density)
    check_device_model(model, samples(model), compiler=True)


@pytest.mark.parametrize("depth", [0, 1, 4])
@pytest.mark.parametrize("numbers", ["int8", "float32"])
@pytest.mark.parametrize("family", ["bonsai", "ldkl"])
def test_trees_of_every_depth(family: str, numbers: str, depth: int) -> None:
    model = make(family, numbers, depth=depth, features=31)
    check_kernel(model, np.concatenate([adversarial_inputs(model), model.encode(samples(model))]))


@pytest.mark.parametrize("density", [1.0, 0.01])
@pytest.mark.parametrize("family", ["bonsai", "mlp"])
def test_8192_features_in_four_bits(family: str, density: float) -> None:
    model = make(family, "int8", features=8192, density=density, limit=7)
    check_kernel(model, adversarial_inputs(model))


def test_random_samples_take_different_paths() -> None:
    """Or the tests above would say little about the branches."""
    model = make("bonsai", "int8")
    assert isinstance(model, BonsaiInt8)
    z = model.projections(model.encode(np.random.default_rng(1).integers(-127, 128, size=(300, 60))))
    leaves = model.path(z @ model.T.T.astype(np.int64) > 0)[-1]
    assert len(set(leaves.tolist())) >= 3
