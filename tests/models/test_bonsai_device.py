from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models import modelfile
from models.bonsai_device import BonsaiFloat, BonsaiInt8, narrowing
from models.device import CONSTANT_BYTES, Array, InputScale
from models.errors import InputError

INT8 = InputScale(np.array(0.0), np.array(1.0), "int8")


def a_model(
    depth: int = 2, classes: int = 3, limit: int = 127, seed: int = 0, density: float = 0.4
) -> BonsaiInt8:
    rng = np.random.default_rng(seed)
    scores = 1 if classes == 2 else classes
    nodes = 2 ** (depth + 1) - 1

    def drawn(rows: int, columns: int, most: int = limit) -> Array:
        return rng.integers(-most, most + 1, size=(rows, columns))

    weights = {
        "Z": drawn(5, 40) * (rng.random((5, 40)) < density),
        "b": rng.integers(-90, 90, size=5),
        "W": drawn(nodes * scores, 6),
        "V": drawn(nodes * scores, 6),
        "T": drawn(nodes // 2, 6),
    }
    return BonsaiInt8.from_integers(
        weights,
        INT8,
        range(classes),
        z_shift=9 if limit > 7 else 5,
        v_shift=8 if limit > 7 else 4,
        limits=dict.fromkeys("ZWVT", limit),
    )


def one_by_one(model: BonsaiInt8, x: list[int]) -> list[int]:
    """The module's formulas in Python integers, one sample, no numpy."""

    def rounded(value: int, shift: int) -> int:
        return (value + (1 << (shift - 1))) >> shift if shift else value

    def clipped(value: int) -> int:
        return max(-127, min(127, value))

    def dot(row: list[int], other: list[int]) -> int:
        return sum(a * b for a, b in zip(row, other, strict=True))

    shifts = {key: int(value) for key, value in model.constants.items()}
    offsets = model.arrays["b"].tolist()
    z = [
        clipped(rounded(dot(row, x), shifts["z_shift"]) + b)
        for row, b in zip(model.Z.tolist(), offsets, strict=True)
    ]
    z.append(127)
    W, V, T = model.W.tolist(), model.V.tolist(), model.T.tolist()
    scores = [0] * model.n_scores
    node = 0
    while True:
        for c in range(model.n_scores):
            row = node * model.n_scores + c
            predicted = rounded(dot(W[row], z), shifts["w_shift"])
            assert abs(predicted) < 2**15
            scores[c] += predicted * clipped(rounded(dot(V[row], z), shifts["v_shift"]))
        if node >= len(T):
            return scores
        node = 2 * node + (2 if dot(T[node], z) > 0 else 1)


@settings(deadline=None, max_examples=60)
@given(
    st.integers(0, 3),
    st.sampled_from([2, 4]),
    st.sampled_from([7, 127]),
    st.floats(0, 1),
    st.integers(0, 999),
)
def test_scores_are_the_documented_integers(
    depth: int, classes: int, limit: int, density: float, seed: int
) -> None:
    model = a_model(depth, classes, limit, seed, density)
    x = np.random.default_rng(seed).integers(-127, 128, size=(4, 40)).astype(np.int8)
    x[0], x[1] = 127, -127
    assert model.scores(x).tolist() == [one_by_one(model, row) for row in x.tolist()]


@pytest.mark.parametrize("limit", [7, 127])
@pytest.mark.parametrize("depth", [0, 2])
def test_flash_is_known_before_the_model_is_built(limit: int, depth: int) -> None:
    model = a_model(depth, limit=limit)
    expected = BonsaiInt8.flash_size(
        model.Z, model.W.shape[0], model.T.shape[0], dict.fromkeys("ZWVT", limit)
    )
    assert model.flash_bytes == expected
    assert expected == sum(a.nbytes for a in model.arrays.values()) + 3 * CONSTANT_BYTES


def test_four_bit_models_are_about_half_as_large() -> None:
    assert a_model(limit=7).flash_bytes < 0.6 * a_model(limit=127).flash_bytes


def test_predictors_are_narrowed_to_int16_and_no_further() -> None:
    row = np.full((1, 3), 127)
    assert narrowing(row) == 1
    worst = 3 * 127 * 127
    assert (worst + 1) >> 1 <= 32767 < worst
    assert narrowing(np.full((1, 2), 127)) == 0


def test_files_keep_a_model_as_it_is(tmp_path: Path) -> None:
    model = a_model(limit=7)
    modelfile.save(model, tmp_path / "m")
    loaded = modelfile.load(tmp_path / "m")
    assert isinstance(loaded, BonsaiInt8)
    assert loaded.digest == model.digest


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"z_shift": 0}, "z_shift is 0"),
        ({"v_shift": 31}, "v_shift is 31"),
        ({"w_shift": 9}, "these weights need"),
    ],
)
def test_wrong_shifts_are_refused(change: dict[str, int], said: str) -> None:
    model = a_model()
    with pytest.raises(InputError, match=said):
        dataclasses.replace(model, constants={**model.constants, **change})


def test_trees_that_are_not_full_are_refused() -> None:
    model = a_model(depth=1, classes=2)
    for name, said in (("predictors", "full tree"), ("gates", "not that of W"), ("branches", "branches")):
        arrays = {**model.arrays, name: model.arrays[name].repeat(2, axis=0)}
        with pytest.raises(InputError, match=said):
            dataclasses.replace(model, arrays=arrays)


def test_float_firmware_does_the_same_in_floats() -> None:
    model = a_model(depth=2, classes=3)
    scale = {"Z": 127 * 2.0**-9 / 127, "b": 1 / 127, "W": 0.01, "V": 2.0**-8, "T": 1.0}
    weights = {"Z": model.Z, "b": model.arrays["b"], "W": model.W, "V": model.V, "T": model.T}
    floats = BonsaiFloat.from_floats(
        {name: np.asarray(value) * scale[name] for name, value in weights.items()},
        INT8.float32(),
        model.classes,
    )
    X = np.random.default_rng(1).integers(-127, 128, size=(400, 40))
    assert np.mean(floats.predict(X) == model.predict(X)) > 0.97
