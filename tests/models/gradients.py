"""Gradients against finite differences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from models.device import Array


def numeric_gradient(value: Callable[[Array], float], at: Array, step: float = 1e-5) -> Array:
    """Central differences, coordinate by coordinate."""
    found = np.zeros_like(at, dtype=np.float64)
    for index in np.ndindex(at.shape):
        moved = at.copy()
        moved[index] += step
        above = value(moved)
        moved[index] -= 2 * step
        found[index] = (above - value(moved)) / (2 * step)
    return found
