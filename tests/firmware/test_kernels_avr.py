"""The kernels on a simulated AVR: assembly and float library give Python's integers and Python's bits."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import boards
from harness.build import build
from harness.link.client import Link
from harness.targets import runner_build
from harness.targets.simavr import SimavrTarget
from models.checks import adversarial_inputs
from models.device import Array, DeviceModel
from models.linear_device import LinearFloat, LinearInt8
from models.protonn_device import ProtoNNInt8
from tests.models.device_models import FLOAT, INT8, KINDS, integers, make

pytestmark = pytest.mark.skipif(shutil.which("avr-gcc") is None, reason="needs avr-gcc")


def answers(
    model: DeviceModel, encoded: Array, streaming: bool, board: str = "uno", host: type[Link] = Link
) -> tuple[Array, Array, Array]:
    """Classes, scores and cycles from the simulated board."""
    firmware = build(model, boards.load(board), streaming=streaming)
    classes, scores, cycles = [], [], []
    with SimavrTarget(firmware.board, firmware.elf) as target:
        link = host(target.open())
        link.wait_ready(1.0)
        link.hello()
        for sample in encoded:
            prediction = link.predict(sample.tobytes())
            classes.append(prediction.class_index)
            cycles.append(prediction.cycles)
            scores.append(link.scores())
    return np.array(classes), np.array(scores), np.array(cycles)


def check(
    model: DeviceModel, encoded: Array, streaming: bool, board: str = "uno", host: type[Link] = Link
) -> Array:
    classes, scores, cycles = answers(model, encoded, streaming, board, host)
    expected = model.scores(encoded)
    assert scores.dtype == expected.dtype
    assert scores.tobytes() == expected.tobytes()
    assert (classes == model.decide(expected)).all()
    return cycles


@pytest.fixture(scope="module", autouse=True)
def simulator() -> None:
    if shutil.which("avr-gcc") is None:
        pytest.skip("needs avr-gcc")
    runner_build.runner()


@pytest.mark.parametrize("streaming", [False, True], ids=["buffered", "streaming"])
@pytest.mark.parametrize("density", [1.0, 0.1], ids=["dense", "sparse"])
@pytest.mark.parametrize(("family", "numbers"), KINDS)
def test_every_family_and_layout(family: str, numbers: str, density: float, streaming: bool) -> None:
    model = make(family, numbers, features=260, classes=4, rows=5, prototypes=9, density=density)
    check(model, adversarial_inputs(model), streaming)


@pytest.mark.parametrize(
    ("largest", "features", "width"),
    [(1, 255, 2), (127, 516, 3), (127, 517, 4)],
    ids=["int16", "int24", "int32"],
)
@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_sums_of_every_width(largest: int, features: int, width: int, layout: str) -> None:
    """Weights and features at their largest: one feature more, and the sum needs another byte."""
    W = np.zeros((6, features), dtype=np.int64)
    W[0], W[1] = largest, -largest
    if layout == "dense":
        W[2:, ::2] = largest
    model = LinearInt8.from_integers(W, np.arange(6), INT8, range(6))
    assert ("w" in model.arrays) == (layout == "dense")
    assert model.c_sizes()["w_sum_bytes"] == width
    check(model, adversarial_inputs(model), streaming=False)


@pytest.mark.parametrize(("rows", "prototypes"), [(1, 1), (2, 90), (18, 8), (19, 9), (24, 17), (31, 3)])
def test_prototypes_of_every_length(rows: int, prototypes: int) -> None:
    """Up to 18 dimensions stay in registers; beyond, rounds of six are entered anywhere."""
    model = make("protonn", "int8", 30, 3, rows, prototypes, exp_shift=6)
    check(model, adversarial_inputs(model), streaming=False)


@pytest.mark.parametrize("exp_shift", [0, 1, 4, 5, 8, 11, 15, 16])
def test_similarities_by_every_kind_of_shift(exp_shift: int) -> None:
    """Distances spread such that similarities from the largest to none occur, and all steps between."""
    z = np.arange(-127, 128, 2)
    B = np.column_stack([z, np.full_like(z, 10), np.full_like(z, -3)])
    model = ProtoNNInt8.from_integers(
        np.array([[127], [2], [-3]]), B, np.eye(3, len(z), dtype=np.int64), 7, exp_shift, INT8, range(3)
    )
    check(model, np.arange(-128, 128, 17, dtype=np.int8)[:, None], streaming=False)


@pytest.mark.parametrize("features", [1, 7, 8, 9, 2047])
def test_vectors_that_do_not_fill_a_round(features: int) -> None:
    model = make("linear", "int8", features, classes=3)
    check(model, adversarial_inputs(model)[:6], streaming=features > 1000)


@pytest.mark.parametrize("streaming", [False, True], ids=["buffered", "streaming"])
def test_sparse_rows_of_every_length(streaming: bool) -> None:
    """From no pair to some fours and three more, and one row that a byte cannot count."""
    W = np.zeros((14, 700), dtype=np.int64)
    for row in range(12):
        W[row, np.arange(row) * 47 + row] = np.arange(row) * 11 - 60
    W[13, ::2] = 99
    model = LinearInt8.from_integers(W, np.arange(14), INT8, range(14))
    assert model.arrays["w_counts"].dtype == np.uint16
    check(model, adversarial_inputs(model)[:8], streaming)


def test_distances_of_32_bits() -> None:
    model = make("protonn", "int8", exp_shift=17, rows=9, prototypes=12)
    check(model, adversarial_inputs(model), streaming=False)


@pytest.mark.parametrize("z_shift", [1, 7, 8, 13, 20])
def test_projections_by_every_kind_of_shift(z_shift: int) -> None:
    rng = np.random.default_rng(z_shift)
    W = rng.integers(-127, 128, size=(4, 50))
    model = ProtoNNInt8.from_integers(
        W, rng.integers(-127, 128, size=(3, 4)), rng.integers(-127, 128, size=(1, 3)), z_shift, 6, INT8, "ab"
    )
    check(model, adversarial_inputs(model), streaming=False)


def test_denormal_floats() -> None:
    """Products far below the smallest normal number: the board's float library rounds them as numpy does."""
    rng = np.random.default_rng(0)
    model = LinearFloat.from_floats(rng.normal(size=(5, 24)) * 1e-20, np.full(5, 1e-41), FLOAT, range(5))
    encoded = (rng.normal(size=(10, 24)) * 1e-20).astype(np.float32)
    scores = model.scores(encoded)
    assert 0 < np.abs(scores).max() < np.finfo(np.float32).tiny
    check(model, encoded, streaming=False)


@pytest.mark.parametrize("family", ["linear", "protonn"])
def test_8192_features_on_2_kilobytes_of_ram(family: str) -> None:
    model = make(family, "int8", features=8192, rows=3, classes=2, density=0.03)
    check(model, adversarial_inputs(model)[:6], streaming=True)


@settings(max_examples=10, deadline=None, derandomize=True, database=None)
@given(
    kind=st.sampled_from(KINDS),
    features=st.integers(1, 150),
    classes=st.integers(2, 6),
    rows=st.integers(1, 12),
    prototypes=st.integers(1, 12),
    density=st.sampled_from([1.0, 0.3, 0.05]),
    streaming=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_random_models(
    *,
    kind: tuple[str, str],
    features: int,
    classes: int,
    rows: int,
    prototypes: int,
    density: float,
    streaming: bool,
    seed: int,
) -> None:
    model = make(*kind, features, classes, rows, prototypes, density, seed)
    check(model, adversarial_inputs(model, seed), streaming)


@pytest.mark.parametrize("board", ["leonardo", "mega2560"])
def test_other_boards(board: str) -> None:
    model = make("protonn", "int8", features=90, density=0.2)
    for variant in model.variants(streaming=False):
        check(variant, adversarial_inputs(model), streaming=False, board=board)


@pytest.mark.parametrize("streaming", [False, True], ids=["buffered", "streaming"])
def test_more_near_prototypes_than_places(streaming: bool) -> None:
    """All of 120 are near, and the list has 96 or 29 places: a list after the other is scored."""
    rng = np.random.default_rng(0)
    model = ProtoNNInt8.from_integers(
        integers(rng, (6, 40)), integers(rng, (120, 6)), integers(rng, (1, 120)), 9, 12, INT8, "ab"
    )
    check(model, adversarial_inputs(model)[:8], streaming)


@pytest.mark.parametrize("rows", [14, 20])
def test_a_list_that_has_room_for_distances_only(rows: int) -> None:
    """32 prototypes, and fewer places with a number each: some are far and stopped early, others near."""
    for exp_shift in (4, 8, 12):
        model = make("protonn", "int8", 30, 2, rows, 32, exp_shift=exp_shift)
        check(model, adversarial_inputs(model), streaming=True)


@pytest.mark.parametrize(("family", "width"), [("linear", 3), ("protonn", 4), ("linear", 2)])
def test_weights_as_code(family: str, width: int) -> None:
    """Also where rounding makes the sums wider than the 24 bits of the code, and where they are narrower."""
    rng = np.random.default_rng(width)
    model: DeviceModel
    if family == "linear":
        W = integers(rng, (5, 211), 0.2) if width == 3 else integers(rng, (5, 211), 0.2).clip(-1, 1)
        model = LinearInt8.from_integers(W, np.arange(5), INT8, range(5))
    else:
        W, B, Z = (integers(rng, shape) for shape in ((3, 100), (4, 3), (2, 4)))
        model = ProtoNNInt8.from_integers(W, B, Z[:1], 24, 6, INT8, "ab")
    assert model.c_sizes()["w_sum_bytes"] == width
    code = next(variant for variant in model.variants(streaming=False) if "w_code" in variant.arrays)
    check(code, adversarial_inputs(model), streaming=False)


@pytest.mark.parametrize("density", [1.0, 0.2], ids=["dense", "sparse"])
def test_integers_are_at_least_eight_times_faster_than_floats(density: float) -> None:
    integer, floating = (make("protonn", numbers, 64, 10, 10, 24, density) for numbers in ("int8", "float32"))
    rng = np.random.default_rng(1)
    x = rng.integers(-127, 128, size=(4, 64))
    fast = check(integer, x.astype(np.int8), streaming=False)
    slow = check(floating, (x / 127).astype(np.float32), streaming=False)
    assert (8 * fast <= slow).all(), f"{np.median(fast)} cycles against {np.median(slow)}"
