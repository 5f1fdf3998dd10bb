"""Device models: what they compute, what they cost, and what they refuse."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from models import hostc
from models.arithmetic import EXP_TABLE, exp2_table, round_shift, sum_bytes
from models.checks import adversarial_inputs, check_device_model, check_kernel
from models.device import DeviceModel, paper_bytes
from models.errors import InputError
from models.linear_device import LinearFloat, LinearInt8
from models.protonn_device import ProtoNNFloat, ProtoNNInt8
from tests.models.device_models import FLOAT, INT8, KINDS, integers, make


def protonn_by_hand(model: ProtoNNInt8, sample: list[int]) -> list[int]:
    """The definition, in Python's own integers, one at a time."""
    z_shift, exp_shift = int(model.constants["z_shift"]), int(model.constants["exp_shift"])
    z = []
    for row in model.W.tolist():
        total = sum(w * x for w, x in zip(row, sample, strict=True))
        z.append(max(-127, min(127, (total + (1 << (z_shift - 1))) >> z_shift)))
    d = [sum((a - b) ** 2 for a, b in zip(z, row, strict=True)) for row in model.B.tolist()]
    similarities = []
    for distance in d:
        u = (distance - min(d)) >> exp_shift
        similarities.append(0 if u >= 128 else round(255 * 2 ** (-(u & 15) / 16)) >> (u >> 4))
    return [sum(c * s for c, s in zip(row, similarities, strict=True)) for row in model.Z.tolist()]


@pytest.mark.parametrize("exp_shift", [0, 4, 9, 13])
@pytest.mark.parametrize("density", [1.0, 0.2])
def test_protonn_computes_its_definition(density: float, exp_shift: int) -> None:
    model = make(
        "protonn", "int8", features=30, classes=4, prototypes=8, density=density, exp_shift=exp_shift
    )
    assert isinstance(model, ProtoNNInt8)
    encoded = adversarial_inputs(model)
    assert model.scores(encoded).tolist() == [protonn_by_hand(model, sample.tolist()) for sample in encoded]


def test_features_beyond_the_range_are_clipped_and_counted() -> None:
    model = make("linear", "int8", features=3)
    X = np.array([[127.4, -127.4, 0.0], [128.0, -9e9, 5.0]])
    assert model.clipped(X) == 2
    assert (model.predict_index(X) == model.predict_index(np.clip(X, -127, 127))).all()
    assert (model.encode(X)[1] == [127, -127, 5]).all()


def test_linear_computes_its_definition() -> None:
    model = LinearInt8.from_integers([[1, -2], [3, 127], [0, 5]], [10, -20, 30], INT8, "abc")
    assert model.scores(np.array([[5, -128]], dtype=np.int8)).tolist() == [[271, -16261, -610]]
    assert model.predict([[5, -128], [0, 100]]).tolist() == ["a", "b"]


def test_float_models_compute_their_formula() -> None:
    rng = np.random.default_rng(0)
    W, B, Z = rng.normal(size=(4, 30)) / 5, rng.normal(size=(6, 4)), rng.normal(size=(3, 6))
    X = rng.normal(size=(10, 30))
    protonn = ProtoNNFloat.from_floats(W, B, Z, 0.7, FLOAT, range(3))
    distances = ((X @ W.T)[:, None, :] - B[None]) ** 2
    assert np.allclose(
        protonn.scores(protonn.encode(X)), np.exp(-(0.7**2) * distances.sum(axis=2)) @ Z.T, atol=1e-5
    )
    linear = LinearFloat.from_floats(W, rng.normal(size=4), FLOAT, range(4))
    assert np.allclose(linear.scores(linear.encode(X)), X @ W.T + linear.arrays["bias"], atol=1e-5)


def test_two_classes_have_one_score() -> None:
    model = LinearInt8.from_integers([[1, 0]], [0], INT8, ("no", "yes"))
    assert model.n_scores == 1
    assert model.predict([[1, 0], [0, 0], [-1, 0]]).tolist() == ["yes", "no", "no"]


def test_the_first_of_equal_scores_wins() -> None:
    model = LinearInt8.from_integers([[1], [1], [1]], [0, 7, 7], INT8, range(3))
    assert model.predict_index([[3]]).tolist() == [1]


def test_rounding_is_to_the_nearest_and_halves_go_up() -> None:
    assert round_shift(np.array([-6, -5, -2, -1, 0, 1, 2, 5, 6]), 2).tolist() == [-1, -1, 0, 0, 0, 0, 1, 1, 2]


def test_the_exponential_halves_every_sixteen_steps_and_ends() -> None:
    assert EXP_TABLE[0] == 255 and EXP_TABLE[8] == round(255 / 2**0.5)
    u = np.arange(200)
    s = exp2_table(u)
    assert np.abs(s - 255 * 2.0 ** (-u / 16)).max() <= 1
    assert (np.diff(s) <= 0).all()
    assert s[127] == 1 and (s[128:] == 0).all()


def test_sums_are_as_wide_as_their_worst_case() -> None:
    rows = np.array([[100, -27], [1, 1]])
    assert sum_bytes("s", rows, 128) == 2
    assert sum_bytes("s", rows, 258) == 2 and sum_bytes("s", rows, 259) == 3
    assert sum_bytes("s", rows, 128, extra=2**23 - 1 - 127 * 128) == 3
    assert sum_bytes("s", rows, 128, extra=2**31 - 1 - 127 * 128) == 4
    with pytest.raises(InputError, match=r"^s 0 can reach 2147483648, beyond the 2147483647"):
        sum_bytes("s", rows, 128, extra=2**31 - 127 * 128)


def test_flash_bytes_are_known_before_a_model_is_built() -> None:
    rng = np.random.default_rng(0)
    for density in (1.0, 0.1):
        W = integers(rng, (5, 80), density)
        protonn = ProtoNNInt8.from_integers(
            W, integers(rng, (7, 5)), integers(rng, (4, 7)), 8, 3, INT8, range(4)
        )
        assert ProtoNNInt8.flash_size(W, prototypes=7, scores=4) == protonn.flash_bytes
        linear = LinearInt8.from_integers(W, np.zeros(5, dtype=int), INT8, range(5))
        assert LinearInt8.flash_size(W) == linear.flash_bytes
    assert make("protonn", "int8", 20, 3, 4, 5).flash_bytes == 4 * 20 + 5 * 4 + 3 * 5 + 16 + 2 * 4


def test_paper_bytes_count_a_sparse_index_only_where_it_pays() -> None:
    dense, sparse = np.ones((10, 10)), np.eye(10)
    assert paper_bytes(dense) == 400
    assert paper_bytes(sparse) == 80
    assert paper_bytes(dense, sparse, [1.0, 2.0]) == 488


@pytest.mark.parametrize(("family", "numbers"), KINDS)
def test_the_digest_names_what_the_firmware_is_built_from(family: str, numbers: str) -> None:
    model = make(family, numbers)
    assert make(family, numbers).digest == model.digest
    assert make(family, numbers, seed=1).digest != model.digest
    assert dataclasses.replace(model, classes=("a", "b", "c")).digest != model.digest
    assert dataclasses.replace(model, info={"seed": 3}).digest == model.digest


def test_a_model_cannot_be_altered() -> None:
    model = make("protonn", "int8")
    with pytest.raises(ValueError, match="read-only"):
        model.arrays["b"][0, 0] = 1
    with pytest.raises(TypeError):
        model.arrays["b"] = np.zeros(3)  # type: ignore[index]


def test_labels_may_be_of_numpy() -> None:
    model = LinearInt8.from_integers([[1]], [0], INT8, np.array([3, 8], dtype=np.uint8))
    assert model.classes == (3, 8) and all(type(label) is int for label in model.classes)
    assert LinearInt8.from_integers([[1]], [0], INT8, np.array(["a", "b"])).classes == ("a", "b")


GOOD: dict[str, Any] = {
    "W": [[1, 2], [3, 4]],
    "B": [[1, 2]],
    "Z": [[1], [2], [3]],
    "z_shift": 4,
    "exp_shift": 3,
    "inputs": INT8,
    "classes": (0, 1, 2),
}


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"W": [[1, 200], [3, 4]]}, "The weight 200 is beyond ±127."),
        ({"B": [[1, -128]]}, "The weight -128 is beyond ±127."),
        ({"Z": [[1], [2], [130]]}, "The weight 130 is beyond ±127."),
        ({"W": [[0.5, 1], [3, 4]]}, "W holds float64, not integers."),
        ({"B": [[1, 2, 3]]}, "W projects to 2 dimensions, but the prototypes have 3."),
        ({"Z": [[1], [2]]}, "Z has shape (2, 1), not (3, 1)"),
        ({"z_shift": 0}, "z_shift is 0, not an integer from 1 to 30."),
        ({"z_shift": 31}, "z_shift is 31"),
        ({"exp_shift": -1}, "exp_shift is -1, not an integer from 0 to 24."),
        ({"classes": (0,)}, "1 classes"),
        ({"classes": (0, 1, 1)}, "not all different"),
        ({"classes": (0, 1, 2.5)}, "The class label 2.5 is neither"),
        ({"inputs": FLOAT}, "The inputs are scaled to float32, but the model takes int8."),
        ({"W": np.eye(2, 65536, dtype=int)}, "65536 features"),
        ({"W": [1, 2]}, "shape (2,)"),
        (
            {"Z": np.full((3, 66_315), 127), "B": np.ones((66_315, 2), dtype=int)},
            "The score 0 can reach 2147611275",
        ),
        ({"W": np.full((2, 65535), 127), "z_shift": 30}, None),
        ({"inputs": dataclasses.replace(INT8, step=np.ones(3))}, "The input step is for 3 features"),
    ],
)
def test_refuses_by_the_number_that_is_wrong(wrong: dict[str, Any], words: str | None) -> None:
    if words is None:
        ProtoNNInt8.from_integers(**{**GOOD, **wrong})
        return
    with pytest.raises(InputError) as error:
        ProtoNNInt8.from_integers(**{**GOOD, **wrong})
    assert words in str(error.value)


def test_refuses_linear_models_that_overflow_or_do_not_fit() -> None:
    for W, bias, words in (
        ([[100], [1], [1]], [2**31 - 12_800, 0, 0], "The score 0 can reach 2147483648"),
        ([[1], [1], [1]], [2**33, 0, 0], "The bias 8589934592 is beyond 32 bits."),
        ([[1], [1]], [0, 0], "W has 2 rows, but 3 classes need 3."),
        ([[1], [1], [1]], [0, 0], "The bias is not 3 numbers"),
        ([[1], [1], [1]], [0.5, 0, 0], "bias holds float64, not integers."),
    ):
        with pytest.raises(InputError) as error:
            LinearInt8.from_integers(W, bias, INT8, range(3))
        assert words in str(error.value)


def test_refuses_floats_that_are_none() -> None:
    with pytest.raises(InputError, match="NaN"):
        LinearFloat.from_floats([[np.nan]], [0.0], FLOAT, range(2))
    with pytest.raises(InputError, match="bias holds NaN"):
        LinearFloat.from_floats([[1.0]], [np.inf], FLOAT, range(2))
    for gamma in (0.0, np.nan, 1e30):
        with (
            pytest.raises(InputError, match="not a positive float32"),
            np.errstate(over="ignore"),
        ):
            ProtoNNFloat.from_floats([[1.0]], [[1.0]], [[1.0]], gamma, FLOAT, range(2))


def test_refuses_data_of_another_width() -> None:
    with pytest.raises(InputError, match=r"shape \(3, 19\), but the model takes 20 features"):
        make("linear", "int8").predict(np.zeros((3, 19)))


class Careless(LinearInt8):
    """Rounds its bias away, as a careless emulation would."""

    def scores(self, encoded: Any) -> Any:
        return super().scores(encoded) // 2 * 2


def test_the_conformance_check_notices_an_emulation_that_is_off_by_one() -> None:
    sound = LinearInt8.from_integers([[3, 5], [1, 2], [7, 9]], [1, 2, 3], INT8, range(3))
    check_device_model(sound, np.ones((2, 2)))
    careless = Careless(**{field.name: getattr(sound, field.name) for field in dataclasses.fields(sound)})
    with pytest.raises(AssertionError, match="read as LinearInt8"):
        check_device_model(careless, np.ones((2, 2)))
    if hostc.available():
        with pytest.raises(AssertionError, match="With whole vectors the kernel scores sample 0"):
            check_kernel(careless, np.ones((2, 2), dtype=np.int8))


def test_models_are_device_models() -> None:
    assert all(isinstance(make(*kind), DeviceModel) for kind in KINDS)
