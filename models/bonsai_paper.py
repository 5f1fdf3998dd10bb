"""Bonsai's training as the paper has it: full gradients, Armijo steps, iterative hard thresholding.

A dense start without limits; then rounds of M gradient steps on a fixed support and one on the full one,
after which only the largest weights stay; then more steps on the final support. Meanwhile σ_I grows, until
each point takes one path. Table 4's ablations are options: no dense start, no steps at the end, a projection
by sparse PCA that is not learnt with the tree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from models import optim
from models.bonsai_net import TreeShape, TreeTape, bonsai_gradients, bonsai_scores, random_params
from models.device import Array
from models.errors import InputError
from models.optim import Params

PROJECTION = ("Z", "b")
TREE = ("W", "V", "T")


@dataclass(frozen=True)
class Options:
    """The paper's parameters, with its values where it gives them."""

    start_steps: int = 100
    """Gradient steps of the dense start; 0 leaves it out."""
    rounds: int = 100
    support_steps: int | None = None
    """M, steps on a fixed support in each round; None: 5 for two classes, else 15."""
    final_steps: int = 200
    """Steps on the final support; 0 leaves them out."""
    projection: str = "learnt"
    """Or "sparse-pca"."""
    tree_density: float = 1.0
    """Share of the tree's weights that stay."""
    sigma: float = 1.0
    """σ of the gates."""
    sharpness: tuple[float, float] = (0.01, 30.0)
    """σ_I at the start and at the end."""
    decay_projection: float = 1e-4
    decay_tree: float = 1e-4


def train(
    shape: TreeShape,
    X: Array,
    labels: npt.NDArray[np.int64],
    rng: np.random.Generator,
    *,
    dimensions: int,
    options: Options,
    afford: Callable[[Array], int],
    progress: Callable[[str], None] | None = None,
) -> Params:
    """Parameters for the clipped tanh of the device, σ being part of V."""
    if options.projection not in ("learnt", "sparse-pca"):
        raise InputError(f"There is no projection {options.projection!r}.", "Choose learnt or sparse-pca.")
    mean = X.mean(axis=0, dtype=np.float64)
    unit = 1.0 / max(float(np.sqrt(np.mean(np.var(X, axis=0)))), 1e-6)
    # Plain gradients go slowly where all features have a mean in common, or are smaller than the constant.
    X = (X - mean) * unit
    descent = Descent(shape, random_params(shape, dimensions, X, rng, np.float64), X, labels, options)
    learnt: tuple[str, ...] = PROJECTION + TREE
    if options.projection == "sparse-pca":
        learnt = TREE
        _sparse_pca(descent.params, X, afford, rng)
    steps = options.support_steps or (5 if shape.scores == 1 else 15)
    total = options.start_steps + options.rounds * (steps + 1) + options.final_steps
    try:
        for _ in range(options.start_steps):
            descent.step(learnt, total)
        descent.threshold(afford)
        for count in range(options.rounds):
            for _ in range(steps):
                descent.step(learnt, total, fixed=True)
            descent.step(learnt, total)
            descent.threshold(afford)
            if progress:
                progress(f"round {count + 1} of {options.rounds}: objective {descent.objective():.4f}")
        for _ in range(options.final_steps):
            descent.step(learnt, total, fixed=True)
    except KeyboardInterrupt:
        descent.threshold(afford)
    found = dict(descent.params)
    found["Z"] = found["Z"] * unit
    found["b"] = found["b"] - found["Z"] @ mean
    found["V"] = found["V"] * options.sigma
    return {name: value.astype(np.float32) for name, value in found.items()}


class Descent:
    """The parameters on their way down."""

    def __init__(
        self,
        shape: TreeShape,
        params: Params,
        X: Array,
        labels: npt.NDArray[np.int64],
        options: Options,
    ) -> None:
        self.shape = shape
        self.params = params
        self.X = X
        self.labels = labels
        self.options = options
        self.done = 0
        self.sharpness = options.sharpness[0]
        self.lengths = {"projection": 1.0, "tree": 1.0}
        """The step sizes that served last, by block."""

    def objective(self) -> float:
        scores, _ = self._forward()
        return margin_loss(scores, self.labels)[0] + self._decay()

    def gradients(self) -> tuple[float, Params]:
        """The objective and its gradients."""
        scores, tape = self._forward()
        loss, slope = margin_loss(scores, self.labels)
        grads = bonsai_gradients(self._gated(), self.shape, slope, tape, sharpness=self.sharpness)
        grads["V"] = grads["V"] * self.options.sigma
        for name in self.params:
            grads[name] = grads[name] + self._rate(name) * self.params[name]
        return loss + self._decay(), grads

    def step(self, names: tuple[str, ...], total: int, fixed: bool = False) -> None:
        """An Armijo step for the projection and one for the tree, along the gradients of the same point."""
        low, high = self.options.sharpness
        self.sharpness = low * (high / low) ** min(1.0, self.done / max(1, total - 1))
        self.done += 1
        value, grads = self.gradients()
        for key, block in (("projection", PROJECTION), ("tree", TREE)):
            chosen = [name for name in block if name in names]
            if fixed:
                for name in set(chosen) - {"b"}:
                    grads[name] = grads[name] * (self.params[name] != 0)
            value = self._armijo(key, chosen, grads, value)

    def threshold(self, afford: Callable[[Array], int]) -> None:
        """Keep the largest weights of the projection, and of the tree as a whole."""
        Z = self.params["Z"]
        Z *= optim.largest(Z, afford(np.abs(Z)))
        sizes = [self.params[name].size for name in TREE]
        tree = np.concatenate([self.params[name].ravel() for name in TREE])
        kept = optim.largest(tree, int(np.ceil(self.options.tree_density * tree.size)))
        for name, mask in zip(TREE, np.split(kept, np.cumsum(sizes)[:-1]), strict=True):
            self.params[name] *= mask.reshape(self.params[name].shape)

    def _armijo(self, key: str, names: list[str], grads: Params, value: float) -> float:
        """Halve the step until it gains a part of what the slope promises; the objective then."""
        slope = sum(float(np.sum(np.square(grads[name]))) for name in names)
        if slope == 0.0:
            return value
        origin = {name: self.params[name].copy() for name in names}
        length = 2.0 * self.lengths[key]
        accepted = False
        try:
            for _ in range(30):
                for name in names:
                    self.params[name] = origin[name] - length * grads[name]
                found = self.objective()
                accepted = found <= value - 1e-4 * length * slope
                if accepted:
                    self.lengths[key] = length
                    return found
                length /= 2
        finally:
            if not accepted:  # Nor is a step that Ctrl-C came in the middle of.
                self.params.update(origin)
        return value

    def _gated(self) -> Params:
        return {**self.params, "V": self.options.sigma * self.params["V"]}

    def _forward(self) -> tuple[Array, tuple[Array, Array, TreeTape]]:
        return bonsai_scores(self._gated(), self.shape, self.X, sharpness=self.sharpness)

    def _rate(self, name: str) -> float:
        if name == "b":
            return 0.0
        return self.options.decay_projection if name == "Z" else self.options.decay_tree

    def _decay(self) -> float:
        return sum(
            self._rate(name) / 2 * float(np.sum(np.square(value))) for name, value in self.params.items()
        )


def margin_loss(scores: Array, labels: npt.NDArray[np.int64]) -> tuple[float, Array]:
    """Mean hinge loss and its gradient: of ±score for two classes, else of the lead over the best other."""
    n = scores.shape[0]
    sample = np.arange(n)
    slope = np.zeros_like(scores)
    if scores.shape[1] == 1:
        sign = 2.0 * labels - 1.0
        short = 1.0 - sign * scores[:, 0]
        slope[:, 0] = np.where(short > 0, -sign, 0.0)
    else:
        others = scores.copy()
        others[sample, labels] = -np.inf
        rival = others.argmax(axis=1)
        short = 1.0 - scores[sample, labels] + others[sample, rival]
        slope[sample, labels] = np.where(short > 0, -1.0, 0.0)
        slope[sample, rival] = np.where(short > 0, 1.0, 0.0)
    return float(np.maximum(short, 0.0).mean()), slope / n


def _sparse_pca(params: Params, X: Array, afford: Callable[[Array], int], rng: np.random.Generator) -> None:
    """Components of sparse PCA in the place of Z, at the scale of the random ones."""
    from sklearn.decomposition import MiniBatchSparsePCA

    pca = MiniBatchSparsePCA(len(params["Z"]), alpha=1.0, max_iter=50, random_state=int(rng.integers(2**31)))
    Z = pca.fit(X).components_.astype(np.float64)
    spread = (X @ Z.T).std(axis=0)
    Z = Z / np.where(spread > 1e-9, spread, 1.0)[:, None]
    Z *= optim.largest(Z, afford(np.abs(Z)))
    params["Z"], params["b"] = Z, -Z @ X.mean(axis=0)
