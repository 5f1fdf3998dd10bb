"""Bonsai's function and its gradients, for every solver.

    z = Z·x + b     y(x) = Σ_k I_k(x) · W_k·z' ∘ tanh(σ V_k·z')
    I_root = 1      I_right(k), I_left(k) = I_k(x) · ½(1 ± tanh(σ_I T_k·z'))

z' is z with a constant 1 appended, which gives every node the offsets that the paper gets from a constant
feature. Nodes are numbered as in a heap: the children of k are 2k+1 (left) and 2k+2 (right). Node k's rows of
W and V are k·scores … (k+1)·scores - 1. While training, a point takes all paths, each to the degree I_k; σ_I
grows until it takes one. LDKL is the same function of x itself: its projection is absent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from models.device import Array
from models.optim import Params

F32 = npt.NDArray[np.float32]


@dataclass(frozen=True)
class TreeShape:
    """How many nodes, and how many scores each predicts."""

    depth: int
    scores: int

    @property
    def nodes(self) -> int:
        return int(2 ** (self.depth + 1)) - 1

    @property
    def branches(self) -> int:
        """Nodes that have children."""
        return int(2**self.depth) - 1

    @property
    def levels(self) -> list[tuple[slice, slice, slice]]:
        """From the root down: the nodes of a level that have children, the left children, the right ones."""
        firsts = [2**level - 1 for level in range(self.depth)]
        return [
            (slice(k, 2 * k + 1), slice(2 * k + 1, 4 * k + 3, 2), slice(2 * k + 2, 4 * k + 3, 2))
            for k in firsts
        ]

    @property
    def rows(self) -> int:
        """Rows of W, and of V."""
        return self.nodes * self.scores


@dataclass(frozen=True)
class TreeTape:
    """What the way back needs of the way forth."""

    predictor: Array
    gate_input: Array
    gate: Array
    prediction: Array
    share: Array
    turn: Array


def tree_forward(
    shape: TreeShape,
    predictor: Array,
    gate_input: Array,
    branch: Array,
    *,
    sharpness: float,
    clipped: bool,
    gate_levels: int = 0,
    hard: bool = False,
) -> tuple[Array, TreeTape]:
    """Scores from the node sums W·z' (n, rows), σV·z' (n, rows) and T·z' (n, branches).

    `clipped` takes the device's tanh, x within ±1; `gate_levels` rounds it to so many steps, as the device
    does. `hard` sends every point down one path. Left is where the branching sum is not positive.
    """
    n = predictor.shape[0]
    cube = (n, shape.nodes, shape.scores)
    predictor, gate_input = predictor.reshape(cube), gate_input.reshape(cube)
    gate = np.clip(gate_input, -1.0, 1.0) if clipped else np.tanh(gate_input)
    if gate_levels:
        gate = np.rint(gate * gate_levels) / predictor.dtype.type(gate_levels)
    if hard:
        turn = np.where(branch > 0, 1.0, -1.0).astype(branch.dtype)
    else:
        turn = np.tanh(branch.dtype.type(sharpness) * branch)
    share = np.ones((n, shape.nodes), dtype=predictor.dtype)
    for level, left, right in shape.levels:
        half = share[:, level] / 2
        share[:, left] = half * (1 - turn[:, level])
        share[:, right] = half * (1 + turn[:, level])
    prediction = predictor * gate
    scores = np.matmul(share[:, None, :], prediction)[:, 0, :]
    return scores, TreeTape(predictor, gate_input, gate, prediction, share, turn)


def tree_backward(
    shape: TreeShape, slope: Array, tape: TreeTape, *, sharpness: float, clipped: bool, leak: float = 0.0
) -> tuple[Array, Array, Array]:
    """Gradients in the three node sums, from the gradient in the scores.

    `leak` is the slope that training pretends a clipped tanh to have beyond ±1: with 0, the true one, a node
    that is saturated on all points could never come back.
    """
    n = slope.shape[0]
    reaching = slope[:, None, :] * tape.share[:, :, None]
    gate_slope = clipped_slope(tape.gate_input, leak) if clipped else 1 - np.square(tape.gate)
    d_predictor = reaching * tape.gate
    d_gate = reaching
    d_gate *= tape.predictor
    d_gate *= gate_slope
    d_share = np.matmul(tape.prediction, slope[:, :, None])[:, :, 0]
    d_turn = np.empty_like(tape.turn)
    for level, left, right in reversed(shape.levels):
        turn = tape.turn[:, level]
        apart = (d_share[:, right] - d_share[:, left]) / 2
        d_turn[:, level] = apart * tape.share[:, level]
        d_share[:, level] += (d_share[:, left] + d_share[:, right]) / 2 + apart * turn
    d_branch = d_turn * (1 - np.square(tape.turn)) * slope.dtype.type(sharpness)
    return d_predictor.reshape(n, -1), d_gate.reshape(n, -1), d_branch


def clipped_slope(values: Array, leak: float = 0.0) -> Array:
    """The slope of clipping to ±1: 1 inside, `leak` outside.

    Computed, not chosen: np.where mispredicts a branch at every other element and takes twenty times as long.
    """
    kind = values.dtype.type
    return np.asarray((np.abs(values) < 1) * kind(1 - leak) + kind(leak))


def with_constant(z: Array) -> Array:
    """z with a 1 appended to every row."""
    return np.concatenate([z, np.ones((z.shape[0], 1), dtype=z.dtype)], axis=1)


def project(params: Params, X: Array) -> Array:
    return np.asarray(X @ params["Z"].T + params["b"])


def bonsai_scores(
    params: Params, shape: TreeShape, X: Array, *, sharpness: float = 1.0, clipped: bool = False
) -> tuple[Array, tuple[Array, Array, TreeTape]]:
    """The function above, in the floating type of the parameters."""
    z = with_constant(project(params, X))
    scores, tape = tree_forward(
        shape,
        z @ params["W"].T,
        z @ params["V"].T,
        z @ params["T"].T,
        sharpness=sharpness,
        clipped=clipped,
    )
    return scores, (X, z, tape)


def bonsai_gradients(
    params: Params,
    shape: TreeShape,
    slope: Array,
    tape: tuple[Array, Array, TreeTape],
    *,
    sharpness: float = 1.0,
    clipped: bool = False,
) -> Params:
    """Gradients in all parameters, from the gradient in the scores."""
    X, z, tree = tape
    d_w, d_v, d_t = tree_backward(shape, slope, tree, sharpness=sharpness, clipped=clipped)
    d_z = (d_w @ params["W"] + d_v @ params["V"] + d_t @ params["T"])[:, :-1]
    return {"Z": d_z.T @ X, "b": d_z.sum(axis=0), "W": d_w.T @ z, "V": d_v.T @ z, "T": d_t.T @ z}


def random_params(
    shape: TreeShape, dimensions: int, X: Array, rng: np.random.Generator, dtype: npt.DTypeLike = np.float32
) -> dict[str, Any]:
    """A random start whose z have mean 0 and variance about 1 on X."""
    mean = X.mean(axis=0)
    spread = float(np.sqrt(np.mean(np.sum(np.square(X - mean), axis=1))))
    Z = rng.normal(size=(dimensions, X.shape[1])) / max(spread, 1e-6)
    size = 1.0 / np.sqrt(dimensions + 1)
    made = {
        "Z": Z,
        "b": -Z @ mean,
        "W": size * rng.normal(size=(shape.rows, dimensions + 1)),
        "V": size * rng.normal(size=(shape.rows, dimensions + 1)),
        "T": size * rng.normal(size=(shape.branches, dimensions + 1)),
    }
    return {name: value.astype(dtype) for name, value in made.items()}
