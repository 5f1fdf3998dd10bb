from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits

from models.errors import InputError
from models.inputs import InputScale, shares_one_range


def test_pixels_share_one_exact_step() -> None:
    X = load_digits().data
    scale = InputScale.for_data(X)
    assert scale.offset.shape == scale.step.shape == ()
    assert (float(scale.offset), float(scale.step), scale.limit) == (8.0, 1.0, 8)
    assert np.array_equal(scale.encode(X) + 8, X)
    assert scale.clipped(X) == 0


def test_measurements_are_standardised_one_by_one() -> None:
    X = load_breast_cancer().data
    scale = InputScale.for_data(X)
    assert scale.offset.shape == scale.step.shape == (30,)
    encoded = scale.encode(X)
    assert encoded.dtype == np.int8
    assert np.abs(encoded.astype(int)).max() == 127
    assert np.allclose(encoded.std(axis=0), 127 / 4, rtol=0.25)  # clipping takes a little off heavy tails
    assert 0 < scale.clipped(X) < 0.01 * X.size


@pytest.mark.parametrize(
    ("low", "high", "exact"), [(0, 1, True), (-5, 4, True), (0, 15, True), (0, 254, True), (0, 255, False)]
)
def test_integers_keep_their_levels(low: int, high: int, exact: bool) -> None:
    levels = np.arange(low, high + 1)
    X = np.stack([levels, levels[::-1]], axis=1)
    scale = InputScale.for_data(X)
    assert len(np.unique(scale.encode(X))) == levels.size - (not exact)  # ±127 is 255 levels, a byte has 256
    assert scale.clipped(X) == 0
    if exact:
        assert np.array_equal(scale.encode(X) + float(scale.offset), X)


def test_real_pixels_fill_the_range() -> None:
    X = np.random.default_rng(0).uniform(-1, 1, size=(100, 7))
    X[0, 0], X[1, 0] = -1, 1
    scale = InputScale.for_data(X)
    assert scale.step.shape == ()
    assert (scale.encode([[-1.0], [1.0], [0.0]]).ravel() == [-127, 127, 0]).all()
    assert scale.clipped([[1.01, -3.0]]) == 2
    assert (scale.encode([[9e9, -9e9]]) == [[127, -127]]).all()


def test_float32_is_the_same_map_without_rounding() -> None:
    X = load_breast_cancer().data
    integer, real = InputScale.for_data(X), InputScale.for_data(X, "float32")
    encoded = real.encode(X)
    assert encoded.dtype == np.float32
    assert np.allclose(encoded, integer.float32().encode(X))
    inside = np.abs(encoded) < 1
    assert np.abs(encoded - integer.encode(X) / 127)[inside].max() <= 0.5 / 127 + 1e-6
    digits = load_digits().data
    assert np.abs(InputScale.for_data(digits, "float32").encode(digits)).max() == 1
    assert real.float32() is real
    assert real.clipped(X * 100) == 0


def test_the_decision_can_be_overruled() -> None:
    X = load_digits().data
    assert InputScale.for_data(X, per_feature=True).step.shape == (64,)
    assert InputScale.for_data(load_breast_cancer().data, per_feature=False).step.shape == ()


def test_border_pixels_do_not_decide() -> None:
    X = np.random.default_rng(0).uniform(0, 1, size=(50, 10))
    X[:, :4] = 0
    X[:, 4] *= 0.01
    assert shares_one_range(X)
    X[:, 5:] *= [1, 10, 100, 1000, 1e4]
    assert not shares_one_range(X)
    assert shares_one_range(np.ones((5, 3)))


def test_a_constant_feature_is_sent_as_zero() -> None:
    X = np.array([[3.3, 100.0], [3.3, 250.5], [3.3, 7.0]])
    scale = InputScale.for_data(X, per_feature=True)
    assert (scale.encode(X)[:, 0] == 0).all()
    assert (InputScale.for_data(np.full((4, 2), 7.5)).encode(np.full((4, 2), 7.5)) == 0).all()


def test_int16_uses_its_range() -> None:
    X = np.random.default_rng(0).normal(size=(100, 3)) * [1, 100, 1e4]
    encoded = InputScale.for_data(X, "int16").encode(X)
    assert encoded.dtype == np.int16
    assert np.abs(encoded.astype(int)).max() > 10_000


@pytest.mark.parametrize(
    ("offset", "step", "numbers", "limit", "words"),
    [
        (0.0, 0.0, "int8", 127, "step 0.0 is not positive"),
        (np.nan, 1.0, "int8", 127, "offset is not one finite number"),
        (0.0, [[1.0]], "int8", 127, "step is not one finite number"),
        (0.0, 1.0, "int4", 7, "no number format 'int4'"),
        (0.0, 1.0, "int8", 128, "limit 128 is not from 1 to 127"),
    ],
)
def test_refuses_a_scale_that_is_none(
    offset: float, step: float, numbers: str, limit: int, words: str
) -> None:
    with pytest.raises(InputError) as error:
        InputScale(np.array(offset), np.array(step), numbers, limit)
    assert words in str(error.value)


def test_refuses_data_without_a_range() -> None:
    with pytest.raises(InputError, match="NaN or infinite"):
        InputScale.for_data([[1.0, np.nan]])
    with pytest.raises(InputError, match=r"shape \(0, 4\)"):
        InputScale.for_data(np.zeros((0, 4)))
    with pytest.raises(InputError, match="no number format"):
        InputScale.for_data([[1.0, 2.0]], "int4")
    with pytest.raises(InputError, match="The features hold NaN"):
        InputScale.for_data([[1.0, 2.0]]).encode([[1.0, np.nan]])
