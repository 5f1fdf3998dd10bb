"""The kernels in C against the models in Python: every bit of every score, however a vector is cut."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from models import hostc
from models.arithmetic import exp2_negative
from models.checks import adversarial_inputs, check_device_model, check_kernel
from models.device import Array, DeviceModel
from models.linear_device import LinearFloat, LinearInt8
from models.protonn_device import ProtoNNFloat, ProtoNNInt8
from tests.models.device_models import FLOAT, INT8, KINDS, make

pytestmark = pytest.mark.skipif(not hostc.available(), reason="needs gcc")


def samples(model: DeviceModel, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    if model.numbers == "float32":
        return rng.normal(size=(20, model.n_features))
    return rng.integers(-140, 140, size=(20, model.n_features))


@pytest.mark.parametrize("classes", [2, 7])
@pytest.mark.parametrize("density", [1.0, 0.08])
@pytest.mark.parametrize(("family", "numbers"), KINDS)
def test_conformance(family: str, numbers: str, density: float, classes: int) -> None:
    model = make(family, numbers, features=100, classes=classes, rows=6, prototypes=11, density=density)
    check_device_model(model, samples(model), compiler=True)


@pytest.mark.parametrize("density", [1.0, 0.01])
@pytest.mark.parametrize(("family", "numbers"), KINDS)
def test_8192_features(family: str, numbers: str, density: float) -> None:
    model = make(family, numbers, features=8192, density=density)
    check_kernel(model, adversarial_inputs(model))


@pytest.mark.parametrize(("family", "numbers"), KINDS)
def test_one_of_everything(family: str, numbers: str) -> None:
    model = make(family, numbers, features=1, classes=2, rows=1, prototypes=1)
    check_kernel(model, adversarial_inputs(model))


@pytest.mark.parametrize("density", [1.0, 0.08])
@pytest.mark.parametrize(("family", "numbers"), KINDS)
def test_kernels_for_whole_vectors_only(family: str, numbers: str, density: float) -> None:
    model = make(family, numbers, features=300, density=density)
    encoded = adversarial_inputs(model)
    with hostc.HostKernel(model, buffered=True) as kernel:
        _, scores = kernel.run(encoded)
    assert scores.tobytes() == model.scores(encoded).tobytes()


@pytest.mark.parametrize("numbers", ["int8", "float32"])
def test_rows_without_any_weight(numbers: str) -> None:
    W = np.zeros((3, 700), dtype=np.int64)
    W[1, [0, 300, 699]] = 5, -7, 127  # gaps of one column, of more than a byte, and to the very last
    bias = np.array([1, 2, 3])
    model: DeviceModel
    if numbers == "int8":
        model = LinearInt8.from_integers(W, bias, INT8, range(3))
    else:
        model = LinearFloat.from_floats(W / 7, bias / 3, FLOAT, range(3))
    assert "w_counts" in model.arrays
    check_kernel(model, adversarial_inputs(model), ways=6)


def test_no_weight_at_all() -> None:
    model = LinearInt8.from_integers(np.zeros((3, 50), dtype=np.int8), np.array([1, 3, 2]), INT8, range(3))
    check_kernel(model, adversarial_inputs(model))


def test_rows_of_more_pairs_than_a_byte_counts() -> None:
    W = np.zeros((2, 2000), dtype=np.int64)
    W[0, ::6] = np.arange(334) % 127 + 1
    model = ProtoNNInt8.from_integers(W, [[1, 2], [3, 4]], [[1, -1]], 9, 3, INT8, "ab")
    assert model.arrays["w_counts"].dtype == np.uint16
    check_kernel(model, adversarial_inputs(model))


@pytest.mark.parametrize("exp_shift", [0, 1, 12, 24])
def test_similarities_from_none_to_all(exp_shift: int) -> None:
    model = make("protonn", "int8", exp_shift=exp_shift, prototypes=20, rows=8)
    check_kernel(model, adversarial_inputs(model))


def test_sums_at_the_edge_of_32_bits() -> None:
    """The widest model that is not refused, with the inputs that its worst case is made of."""
    features = 65535
    W = np.full((1, features), 127)
    half = 1 << 29
    bias = np.array([2**31 - 1 - 127 * 128 * features])
    linear = LinearInt8.from_integers(W, bias, INT8, range(2))
    check_kernel(linear, np.full((1, features), -128, dtype=np.int8), ways=1)
    protonn = ProtoNNInt8.from_integers(W, [[127], [-127]], [[127, -127]], 30, 0, INT8, range(2))
    assert int(np.abs(W).sum()) * 128 + half < 2**31
    check_kernel(protonn, np.full((1, features), -128, dtype=np.int8), ways=1)


def test_float_similarities_down_to_nothing() -> None:
    """Distances from 0 to far beyond where 2^-t ends, through the C code and through numpy."""
    B = np.concatenate([np.linspace(0, 9, 200), np.linspace(9, 13, 200), [50.0, 1e15]])[:, None]
    model = ProtoNNFloat.from_floats([[1.0]], B, np.eye(len(B)), 1.0, FLOAT, range(len(B)))
    x = np.zeros((1, 1), dtype=np.float32)
    check_kernel(model, x)
    similarity = model.scores(x)[0]
    expected = np.exp(-(B[:, 0] ** 2))
    alive = similarity > 0
    assert np.allclose(similarity[alive], expected[alive], rtol=2e-5)
    assert (expected[~alive] < 1e-37).all()
    assert not ((similarity > 0) & (similarity < np.finfo(np.float32).tiny)).any()


def test_exp2_is_accurate() -> None:
    t = np.linspace(0, 124.99, 200_001).astype(np.float32)
    exact = 2.0 ** -t.astype(np.float64)
    assert np.abs(exp2_negative(t) / exact - 1).max() < 3e-7
    assert exp2_negative(np.array([0, 1, 2, 125, 1e30, np.inf], dtype=np.float32)).tolist() == [
        1,
        0.5,
        0.25,
        0,
        0,
        0,
    ]


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    kind=st.sampled_from(KINDS),
    features=st.integers(1, 600),
    classes=st.integers(2, 6),
    rows=st.integers(1, 20),
    prototypes=st.integers(1, 20),
    density=st.sampled_from([1.0, 0.5, 0.3, 0.1, 0.02, 0.0]),
    seed=st.integers(0, 2**32 - 1),
    exp_shift=st.integers(0, 14),
)
def test_random_models(
    *,
    kind: tuple[str, str],
    features: int,
    classes: int,
    rows: int,
    prototypes: int,
    density: float,
    seed: int,
    exp_shift: int,
) -> None:
    model = make(*kind, features, classes, rows, prototypes, density, seed, exp_shift)
    check_kernel(model, adversarial_inputs(model, seed), seed=seed)
