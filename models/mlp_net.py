"""The network behind the pruned perceptron: one hidden layer of rectified units, for models.staged.

h = max(0, W·x + b) and y = O·h', where h' is h with a constant 1 appended. On the device h is clipped at 1,
so in training it is too, from the integer stage on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from models import optim
from models.bonsai_net import with_constant
from models.device import Array
from models.optim import Params
from models.staged import Afford, Network

UNIT = 127
"""The integer that stands for 1 in h."""
LEAK = 0.05
"""The slope that training pretends a clipped unit to have, lest it get stuck."""


class MlpNetwork(Network):
    """W, b and O. x are the features as sent, divided by the largest integer that is sent."""

    relative = ("W",)

    def __init__(
        self,
        params: Params,
        *,
        input_limit: int,
        weight_limits: dict[str, int],
        afford: Afford,
        spread: Array,
    ) -> None:
        super().__init__(params, {"b": 32767, **weight_limits}, {"W": afford})
        self.input_limit = input_limit
        self.spread = spread
        self.h_shift = 1

    @classmethod
    def start(
        cls, hidden: int, scores: int, X: Array, rng: np.random.Generator, **options: Any
    ) -> MlpNetwork:
        """A random start whose hidden sums have mean 0 and variance about 1; `options` are the class's."""
        mean = X.mean(axis=0)
        size = max(1e-6, float(np.sqrt(np.mean(np.sum(np.square(X - mean), axis=1)))))
        W = rng.normal(size=(hidden, X.shape[1])) / size
        out = rng.normal(size=(scores, hidden + 1)) / np.sqrt(hidden + 1)
        params = {"W": W, "b": -W @ mean, "O": out}
        spread = X.std(axis=0) + np.float32(1e-3)
        return cls(
            {name: value.astype(np.float32) for name, value in params.items()}, spread=spread, **options
        )

    def importance(self, name: str) -> Array:
        """A weight matters as much as what it lets through, relative to the others of its unit."""
        size = np.abs(self.params[name]) * self.spread
        return np.asarray(size / np.maximum(1e-9, np.linalg.norm(size, axis=1, keepdims=True)))

    def forward(self, X: Array) -> tuple[Array, Any]:
        weights = {name: self.weights(name) for name in ("W", "b", "O")}
        raw = X @ weights["W"].T + weights["b"]
        h = np.maximum(raw, 0)
        if self.integer:
            h = np.rint(np.minimum(h, 1) * UNIT) / np.float32(UNIT)
        h = with_constant(h)
        return h @ weights["O"].T, (X, raw, h, weights)

    def backward(self, slope: Array, tape: Any) -> Params:
        X, raw, h, weights = tape
        d_raw = (slope @ weights["O"])[:, :-1]
        d_raw = np.where(raw > 0, d_raw, np.float32(LEAK if self.integer else 0.0) * d_raw)
        if self.integer:
            d_raw = np.where(raw < 1, d_raw, np.float32(LEAK) * d_raw)
        return {"W": d_raw.T @ X, "b": d_raw.sum(axis=0), "O": slope.T @ h}

    def calibrate(self, X: Array) -> dict[str, float]:
        """Give every unit the scale at which its weights round best; the outputs' columns take it up.

        The shift is common to all units: the one that reaches furthest decides it.
        """
        p = self.params
        best = np.array([optim.best_step(row, self.limits["W"]) for row in self.weights("W")])
        reach = np.quantile(X @ self.weights("W").T + p["b"], 0.999, axis=0)
        in_sums = np.maximum(reach / best * self.input_limit, 1.0)
        self.h_shift = max(1, int(np.ceil(np.log2(in_sums.max() / UNIT))))
        step = 2.0**-self.h_shift * self.input_limit / UNIT
        factor = (step / best).astype(np.float32)
        p["W"] *= factor[:, None]
        p["b"] *= factor
        p["O"][:, :-1] /= factor
        return {"W": step, "b": 1.0 / UNIT, "O": optim.best_step(p["O"], self.limits["O"])}
