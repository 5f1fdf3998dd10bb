"""ProtoNN's scores and their gradients, for float weights and for the device's integers.

Units of training: γ is 1 (it is absorbed by W and B), so that similarities are s_j = exp(-|Wx - b_j|²).
A prediction does not change when all similarities of a sample are multiplied by one positive number. The
default solver uses that freedom: it divides them by their sum. A sample far from every prototype then still
has a gradient, |Wx|² cancels, and what is left is a softmax over 2·b_j·z - |b_j|², a matrix product.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from models.device import Array
from models.optim import Params, fake_quantize, quantize, softmax

Loss = Callable[[Array, Array], tuple[float, Array]]
"""Mean loss of scores (n, k) against targets (n, k), and its gradient in the scores."""

SIXTEENTHS = 16.0 * float(np.log2(np.e))
"""A squared distance of 1 lowers the similarity by so many sixteenths of an octave, the device's unit."""


@dataclass(frozen=True)
class Grid:
    """Where the device's integers lie among the floats: value = integer × step."""

    exp_shift: int
    z_shift: int
    x_unit: float
    """What one unit of an integer feature is in training."""
    limit: int = 127
    """The largest magnitude of a weight of W."""

    @property
    def z_step(self) -> float:
        """The one scale of projections and prototypes for which the device's exponent is a mere shift."""
        return float(np.sqrt(2.0**-self.exp_shift / SIXTEENTHS))

    @property
    def w_step(self) -> float:
        return self.z_step / (self.x_unit * 2.0**self.z_shift)

    @classmethod
    def for_weights(cls, params: Params, z: Array, x_unit: float, limit: int = 127) -> Grid:
        """The finest grid on which prototypes, projections z and weights fit, but for a few outliers."""
        reach = max(float(np.quantile(np.abs(z), 0.9995)), float(np.abs(params["B"]).max()), 1e-6)
        exp_shift = int(np.clip(np.floor(np.log2((127 / reach) ** 2 / SIXTEENTHS)), 0, 14))
        unshifted = cls(exp_shift, 0, x_unit, limit)
        top = max(float(np.abs(params["W"]).max()), 1e-9)
        # A fifth beyond the limit: clipping a few weights costs less than halving the resolution of all.
        z_shift = int(np.clip(np.floor(np.log2(1.2 * limit * unshifted.w_step / top)), 1, 20))
        return cls(exp_shift, z_shift, x_unit, limit)

    def seen(self, params: Params) -> Params:
        """The parameters as the device has them, in floats."""
        return {
            "W": fake_quantize(params["W"], self.w_step, self.limit),
            "B": fake_quantize(params["B"], self.z_step),
            "Z": fake_quantize(params["Z"], z_weight_step(params["Z"])),
        }

    def integers(self, params: Params) -> Params:
        return {
            "W": quantize(params["W"], self.w_step, self.limit).astype(np.int64),
            "B": quantize(params["B"], self.z_step).astype(np.int64),
            "Z": quantize(params["Z"], z_weight_step(params["Z"])).astype(np.int64),
        }


def z_weight_step(Z: Array) -> float:
    return max(float(np.abs(Z).max()), 1e-9) / 127


def similarities(z: Array, B: Array) -> Array:
    """The similarities of projected samples (n, d̂) to the prototypes, divided by their sum (n, m)."""
    exponents = (2.0 * z) @ B.T
    exponents -= np.square(B).sum(axis=1)
    return softmax(exponents)


def scores(params: Params, x: Array) -> Array:
    """Scores up to a positive factor a sample: (n, classes), or (n, 1) for two classes."""
    return np.asarray(similarities(x @ params["W"].T, params["B"]) @ params["Z"].T)


def gradients(
    params: Params, x: Array, targets: Array, loss_of: Loss, grid: Grid | None = None
) -> tuple[float, Params]:
    """The mean loss and its gradients.

    With a grid, the forward pass computes with what the device would see, and the gradient is passed straight
    through every rounding.
    """
    seen = grid.seen(params) if grid else params
    W, B, Z = seen["W"], seen["B"], seen["Z"]
    z = x @ W.T
    if grid:
        z = fake_quantize(z, grid.z_step)
    s = similarities(z, B)
    loss, slope = loss_of(s @ Z.T, targets)
    to_exponent = slope @ Z
    to_exponent *= s
    to_exponent -= s * to_exponent.sum(axis=1, keepdims=True)
    return loss, {
        "Z": slope.T @ s,
        "B": 2.0 * (to_exponent.T @ z - B * to_exponent.sum(axis=0)[:, None]),
        "W": 2.0 * (to_exponent @ B).T @ x,
    }
