"""The network behind LDKL: Bonsai's tree on the features themselves, for models.staged.

All rows of weights, predictors W, gates V and branches T, are one matrix R (in this order), because that is
how the device reads them: once, feature after feature.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from models import optim
from models.bonsai_net import TreeShape
from models.bonsai_train import UNIT, TreeNetwork
from models.device import Array
from models.optim import Params
from models.staged import Afford


class LdklNetwork(TreeNetwork):
    """R (rows × features) and the offsets b."""

    relative = ("R",)

    def __init__(
        self,
        shape: TreeShape,
        params: Params,
        *,
        weight_limit: int,
        afford: Afford,
        l1: float = 0.0,
        **common: Any,
    ) -> None:
        super().__init__(shape, params, {"R": weight_limit}, {"R": afford}, **common)
        self.l1 = l1

    @classmethod
    def start(
        cls, shape: TreeShape, X: Array, rng: np.random.Generator, *, input_limit: int, **options: Any
    ) -> LdklNetwork:
        """A random start whose sums have mean 0 and variance about 1; `options` are those of the class."""
        mean = X.mean(axis=0)
        size = max(1e-6, float(np.sqrt(np.mean(np.sum(np.square(X - mean), axis=1)))))
        R = rng.normal(size=(2 * shape.rows + shape.branches, X.shape[1])) / size
        params = {"R": R.astype(np.float32), "b": (-R @ mean).astype(np.float32)}
        spread = X.std(axis=0) + np.float32(1e-3)
        return cls(shape, params, input_limit=input_limit, spread=spread, **options)

    def groups(self) -> tuple[slice, slice, slice]:
        """The rows of W, of V and of T."""
        rows = self.shape.rows
        return slice(0, rows), slice(rows, 2 * rows), slice(2 * rows, None)

    def importance(self, name: str) -> Array:
        """Within each kind of row, since predictors, gates and branches have scales of their own."""
        size = np.abs(self.params[name]) * self.spread
        for group in self.groups():
            total = float(np.sum(np.square(size[group])))
            size[group] /= max(1e-9, np.sqrt(total / max(1, size[group].size)))
        return np.asarray(size)

    def forward(self, X: Array) -> tuple[Array, Any]:
        W, V, T = self.groups()
        sums = X @ self.weights("R").T + self.weights("b")
        scores, tape = self.walk(sums[:, W], sums[:, V], sums[:, T])
        return scores, (X, tape)

    def backward(self, slope: Array, tape: Any) -> Params:
        X, tree = tape
        d_w, d_v, d_t = self.walk_back(slope, tree)
        d_sums = np.concatenate([d_w, d_v, np.zeros_like(d_t) if self.hard else d_t], axis=1)
        return {"R": d_sums.T @ X, "b": d_sums.sum(axis=0)}

    def after_step(self, rates: Mapping[str, float]) -> None:
        """With L1, every weight goes towards zero by a constant part of a step, and stops there."""
        super().after_step(rates)
        if self.l1 and not self.integer:
            R = self.params["R"]
            R[...] = np.sign(R) * np.maximum(np.abs(R) - np.float32(self.l1 * rates["R"]), 0)

    def calibrate(self, X: Array) -> dict[str, float]:
        """One step for all rows: predictors and branches may have any scale, so they take that of the gates.

        A gate of 1 is UNIT on the device, so the gates' step makes v_shift a whole number.
        """
        limit, p = self.limits["R"], self.params
        W, V, T = self.groups()
        steps = [optim.best_step(self.weights("R")[group], limit) for group in (W, V, T)]
        self.v_shift = max(1, round(float(np.log2(self.input_limit / UNIT / steps[1]))))
        step = 2.0**-self.v_shift * self.input_limit / UNIT
        for group, own in ((W, steps[0]), (T, steps[2])):
            p["R"][group] *= np.float32(step / own)
            p["b"][group] *= np.float32(step / own)
        p["gain"] -= np.float32(np.log(step / steps[0]))
        self.sharpness_to *= steps[2] / step
        return {"R": step, "b": 1.0 / UNIT}
