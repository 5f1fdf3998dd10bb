"""No input can make a sum overflow: the worst of all inputs fits, and a byte less would not hold it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.bonsai_device import UNIT, BonsaiInt8
from models.device import Array
from models.errors import InputError
from models.linear_device import LinearInt8
from models.protonn_device import ProtoNNInt8
from tests.models.device_models import INT8, integers


def extremes(rows: Array, low: int, high: int) -> tuple[int, int]:
    """The least and the largest sum of a row with any inputs from low to high, added up one by one.

    A sum is linear in each input, so that it is extreme where every input is at an end of its range. The
    terms that pull the same way are taken first: no order, and no cut into pieces, leads further.
    """
    w = rows.astype(object)
    pulls = [np.where(w * low < w * high, w * one, w * other) for one, other in ((low, high), (high, low))]
    return int(pulls[0].sum(axis=1).min()), int(pulls[1].sum(axis=1).max())


def fits(size: int, least: int, most: int) -> bool:
    return -(1 << (8 * size - 1)) <= least and most < 1 << (8 * size - 1)


@settings(max_examples=60, deadline=None)
@given(
    features=st.integers(1, 700),
    largest=st.integers(1, 127),
    z_shift=st.integers(1, 24),
    seed=st.integers(0, 2**32 - 1),
)
def test_projections(features: int, largest: int, z_shift: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    W = rng.integers(-largest, largest + 1, size=(3, features))
    protonn = ProtoNNInt8.from_integers(W, integers(rng, (2, 3)), [[1, -1]], z_shift, 6, INT8, "ab")
    for model in protonn.variants(streaming=False):
        scale = 16 if {"w_packed", "w_nibbles"} & set(model.arrays) else 1
        least, most = extremes(W, -128, 127)
        half = scale << (z_shift - 1)
        assert fits(model.c_sizes()["w_sum_bytes"], scale * least, scale * most + half)
    linear = LinearInt8.from_integers(W, np.zeros(3, dtype=int), INT8, range(3))
    width = linear.c_sizes()["w_sum_bytes"]
    assert fits(width, *extremes(W, -128, 127))
    assert width == 2 or not fits(width - 1, *extremes(W, -128, 128))


@settings(max_examples=60, deadline=None)
@given(
    rows=st.integers(1, 40),
    limit=st.sampled_from([7, 127]),
    v_shift=st.integers(0, 22),
    seed=st.integers(0, 2**32 - 1),
)
def test_nodes(rows: int, limit: int, v_shift: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    drawn = {
        key: integers(rng, (n, rows + 1)).clip(-limit, limit) for key, n in (("W", 3), ("V", 3), ("T", 1))
    }
    weights = {"Z": integers(rng, (rows, 20)), "b": np.zeros(rows, dtype=int), **drawn}
    limits = {"W": limit, "V": limit, "T": limit}
    model = BonsaiInt8.from_integers(weights, INT8, "ab", z_shift=9, v_shift=v_shift, limits=limits)
    width, scale = model.c_sizes()["node_sum_bytes"], 16 if limit == 7 else 1
    for key, shift in (("W", int(model.constants["w_shift"])), ("V", v_shift), ("T", 0)):
        least, most = extremes(drawn[key], -UNIT, UNIT)
        assert fits(width, scale * least, scale * (most + (1 << shift >> 1)))
    least, most = extremes(drawn["W"], -UNIT, UNIT)
    shift = int(model.constants["w_shift"])
    assert fits(2, least + (1 << shift >> 1) >> shift, most + (1 << shift >> 1) >> shift)


def test_what_32_bits_do_not_hold_is_refused() -> None:
    W = np.full((1, 65535), 127)
    assert extremes(W, -128, 127)[0] + 2**31 > 0
    with pytest.raises(InputError, match=r"can reach \d+, beyond the 2147483647 of 32 bits"):
        LinearInt8.from_integers(W, [2**31 - 1], INT8, "ab")
