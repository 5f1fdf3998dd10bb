"""Bonsai's default solver: a network for models.staged, from floating point into the device's integers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from models import optim
from models.bonsai_net import (
    TreeShape,
    TreeTape,
    clipped_slope,
    project,
    random_params,
    tree_backward,
    tree_forward,
    with_constant,
)
from models.device import Array
from models.optim import Params
from models.staged import Afford, Network

UNIT = 127
"""The integer that stands for 1 in z, in the constant component and in the gate."""
LEAK = 0.1
"""The slope that training pretends z and the gates to have where they are clipped, lest they get stuck."""
HARD_FROM = 0.9
"""For the last part of the training each point takes one path, as on the device; the branches rest."""


class TreeNetwork(Network):
    """What trees on projections and trees on features share. x are the features as sent, divided by the
    largest integer that is sent."""

    def __init__(
        self,
        shape: TreeShape,
        params: Params,
        limits: Mapping[str, int],
        afford: Mapping[str, Afford],
        *,
        input_limit: int,
        spread: Array,
        sharpness: tuple[float, float] = (1.0, 20.0),
    ) -> None:
        super().__init__(params, {"b": 32767, **limits}, afford)
        self.shape = shape
        self.input_limit = input_limit
        self.spread = spread
        """Standard deviation of each feature: a weight matters as much as what it lets through."""
        self.sharpness_from, self.sharpness_to = sharpness
        self.sharpness = self.sharpness_from
        self.hard = False
        self.v_shift = 0

    def anneal(self, progress: float) -> None:
        part = min(1.0, progress / HARD_FROM)
        self.sharpness = self.sharpness_from * (self.sharpness_to / self.sharpness_from) ** part
        self.hard = progress >= HARD_FROM

    def walk(self, predictor: Array, gate_input: Array, branch: Array) -> tuple[Array, TreeTape]:
        """Scores from the node sums, as the current stage has them."""
        return tree_forward(
            self.shape,
            predictor,
            gate_input,
            branch,
            sharpness=self.sharpness,
            clipped=True,
            gate_levels=UNIT if self.integer else 0,
            hard=self.hard,
        )

    def walk_back(self, slope: Array, tape: TreeTape) -> tuple[Array, Array, Array]:
        return tree_backward(self.shape, slope, tape, sharpness=self.sharpness, clipped=True, leak=LEAK)


class BonsaiNetwork(TreeNetwork):
    """Z, b and the tree."""

    relative = ("Z",)

    def __init__(
        self,
        shape: TreeShape,
        params: Params,
        *,
        weight_limits: Mapping[str, int],
        afford: Mapping[str, Afford],
        saturate: bool = False,
        **common: Any,
    ) -> None:
        super().__init__(shape, params, weight_limits, afford, **common)
        self.saturate = saturate
        """Clip z to ±1 from the start, so that the projection becomes a layer of units that switch."""
        self.z_shift = 1

    @classmethod
    def start(
        cls, shape: TreeShape, X: Array, rng: np.random.Generator, *, dimensions: int, **options: Any
    ) -> BonsaiNetwork:
        """A random start; `options` are those of the class."""
        params = random_params(shape, dimensions, X, rng)
        spread = X.std(axis=0) + np.float32(1e-3)
        return cls(shape, params, spread=spread, **options)

    def importance(self, name: str) -> Array:
        size = np.abs(self.params[name])
        return size * self.spread if name == "Z" else size

    def forward(self, X: Array) -> tuple[Array, Any]:
        weights = {name: self.weights(name) for name in ("Z", "b", "W", "V", "T")}
        raw = project(weights, X)
        z = np.clip(raw, -1, 1) if self.saturate or self.integer else raw
        if self.integer:
            z = np.rint(z * UNIT) / np.float32(UNIT)
        z = with_constant(z)
        scores, tape = self.walk(z @ weights["W"].T, z @ weights["V"].T, z @ weights["T"].T)
        return scores, (X, raw, z, weights, tape)

    def backward(self, slope: Array, tape: Any) -> Params:
        X, raw, z, weights, tree = tape
        d_w, d_v, d_t = self.walk_back(slope, tree)
        d_z = d_w @ weights["W"] + d_v @ weights["V"]
        grads = {"W": d_w.T @ z, "V": d_v.T @ z}
        if self.shape.branches and not self.hard:
            d_z += d_t @ weights["T"]
            grads["T"] = d_t.T @ z
        d_z = d_z[:, :-1]
        if self.saturate or self.integer:
            d_z = d_z * clipped_slope(raw, LEAK)
        return {**grads, "Z": d_z.T @ X, "b": d_z.sum(axis=0)}

    def calibrate(self, X: Array) -> dict[str, float]:
        """z has a step of 1 / UNIT; Z has one that makes z_shift a whole number.

        Unless z saturates, the scale of a row of Z is free, for the tree's columns take it up: every row gets
        the one at which its weights round best. What is common to the rows is the shift, so the row that
        reaches furthest decides it.
        """
        p = self.params
        best = np.array([optim.best_step(row, self.limits["Z"]) for row in self.weights("Z")])
        if self.saturate:
            wanted = self.input_limit / UNIT / float(np.median(best))
            self.z_shift = max(1, round(float(np.log2(wanted))))
        else:
            reach = np.quantile(np.abs(project({"Z": self.weights("Z"), "b": p["b"]}, X)), 0.999, axis=0)
            in_sums = np.maximum(reach / best * self.input_limit, 1.0)
            self.z_shift = max(1, int(np.ceil(np.log2(in_sums.max() / UNIT))))
        step = 2.0**-self.z_shift * self.input_limit / UNIT
        if not self.saturate:
            self._rescale_rows((step / best).astype(np.float32))
        chosen = {name: optim.best_step(p[name], self.limits[name]) for name in ("W", "T")}
        self.v_shift = max(0, round(-np.log2(optim.best_step(p["V"], self.limits["V"]))))
        return {**chosen, "Z": step, "b": 1.0 / UNIT, "V": 2.0**-self.v_shift}

    def _rescale_rows(self, factor: Array) -> None:
        p = self.params
        columns = np.append(1 / factor, np.float32(1))
        scaled = {name: p[name] * columns for name in ("W", "V", "T")}
        # All at once: Ctrl-C in between would leave another function.
        p.update(scaled, Z=p["Z"] * factor[:, None], b=p["b"] * factor)
