"""Finite differences, for every test of a gradient."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest

from models.device import Array

STEP = 1e-6


def check_gradients(
    value: Callable[[], float],
    params: Mapping[str, Array],
    grads: Mapping[str, Array],
    tolerance: float = 1e-6,
) -> None:
    """Assert that `grads` is how `value` changes with each entry of `params` (float64, changed in place)."""
    assert set(grads) == set(params)
    for name, parameter in params.items():
        for index in np.ndindex(parameter.shape):
            kept = parameter[index]
            parameter[index] = kept + STEP
            above = value()
            parameter[index] = kept - STEP
            below = value()
            parameter[index] = kept
            slope = (above - below) / (2 * STEP)
            assert grads[name][index] == pytest.approx(slope, abs=tolerance), (name, index)
