"""Learning binary codes and binary prototypes together, by gradients.

    h = sign(W·x + c)      the code of a sample
    b_j = sign(P_j)        the prototypes' codes, each of a class

The loss is that of the stochastic nearest neighbour: prototype j is chosen with a probability that falls
exponentially with its Hamming distance (n_bits - h·b_j) / 2, and a sample should find one of its own class.
A sign has no gradient. At first it is relaxed to a tanh that becomes ever steeper; then the forward pass
takes the very signs that are predicted with, and only the backward pass the slope of the tanh, so that what
is learnt last is what is used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from models.device import Array
from models.optim import Adam, Params, cosine, cubic_density, largest, minibatches, one_hot, softmax
from models.prototypes import class_means

Labels = npt.NDArray[np.int64]

HARD_FROM = 0.4
"""Share of the schedule after which the forward pass takes signs."""
STEEPNESS = (0.5, 1.0)
"""Of the tanh: at the start, and from HARD_FROM on. On quarters held out of usps-10, 1 and 2.5 have 1 % more
errors."""
PRUNE_EVERY = 10
"""Steps between prunings: sorting W costs as much as a step."""
START_SAMPLES = 20_000
"""Samples that the start of W and of the prototypes is found on; more tell hardly better."""
TINY = 1e-12


@dataclass(frozen=True)
class Recipe:
    """How long and how fast."""

    epochs: int
    batch_size: int
    learning_rate: float
    density: float
    """Share of W's weights that is kept."""


@dataclass(frozen=True)
class Learned:
    """W (bits × features), c and the prototypes' codes of ±1, with their classes."""

    W: Array
    c: Array
    codes: Array
    owners: Labels
    loss: float


def learn(
    x: Array,
    labels: Labels,
    shape: tuple[int, int],
    recipe: Recipe,
    *,
    rng: np.random.Generator,
    progress: Callable[[int, float], None] | None = None,
) -> Learned:
    """Codes of shape[0] bits and at most shape[1] prototypes for samples x of unit deviation.

    Ctrl-C ends training early and keeps the model of that moment.
    """
    params, owners = start(x, labels, shape, rng)
    targets = one_hot(owners, int(labels.max()) + 1)
    adam = Adam(params)
    total = recipe.epochs * max(1, round(len(x) / recipe.batch_size))
    step, loss = 0, float("nan")
    mask = np.ones(params["W"].shape, dtype=bool)
    try:
        for epoch in range(1, recipe.epochs + 1):
            for chosen in minibatches(len(x), recipe.batch_size, rng):
                now = step / total
                if step % PRUNE_EVERY == 0 and recipe.density < 1:
                    share = cubic_density(now, recipe.density, begin=0.05, end=0.5)
                    mask = largest(params["W"], int(np.ceil(share * mask.size)))
                loss, grads = gradients(
                    params, x[chosen], targets[:, labels[chosen]].T, steepness(now), hard=now >= HARD_FROM
                )
                adam.step(grads, cosine(now, recipe.learning_rate))
                params["W"] *= mask
                step += 1
            if progress:
                progress(epoch, loss)
    except KeyboardInterrupt:
        pass
    keep = int(recipe.density * mask.size)
    W = params["W"] * largest(params["W"], max(1, keep))
    return Learned(W, params["c"], signs(params["P"]), owners, loss)


def start(
    x: Array, labels: Labels, shape: tuple[int, int], rng: np.random.Generator
) -> tuple[Params, Labels]:
    """Random directions among the most varied ones, cut at the median; prototypes at means of the classes."""
    bits, count = shape
    some = rng.permutation(len(x))[:START_SAMPLES]
    xs = x[some]
    centre = xs.mean(axis=0)
    spread, directions = np.linalg.eigh(np.cov((xs - centre).T).reshape(x.shape[1], x.shape[1]))
    top = np.argsort(-spread)[: max(bits, 16)]
    W = rng.normal(size=(bits, len(top))) @ (
        np.sqrt(np.maximum(spread[top], 0))[:, None] * directions[:, top].T
    )
    z = (xs - centre) @ W.T
    W /= np.maximum(z.std(axis=0), 1e-6)[:, None]
    c = -np.median(xs @ W.T, axis=0)
    points, owners = class_means(xs, labels[some], max(1, count // (int(labels.max()) + 1)), rng)
    P = points @ W.T + c
    params = {"W": W, "c": c, "P": P, "g": np.array([np.log(4.0 / bits)])}
    return {name: value.astype(np.float32) for name, value in params.items()}, owners


def steepness(now: float) -> float:
    low, high = STEEPNESS
    return float(low * (high / low) ** min(1.0, now / HARD_FROM))


def gradients(params: Params, x: Array, own: Array, steep: float, *, hard: bool) -> tuple[float, Params]:
    """The mean loss and its gradients; `own` (n, prototypes) is 1 where a prototype is of the sample's class.

    g is the logarithm of how fast the probabilities fall with the distance; it is learnt too.
    """
    soft_h = np.tanh(steep * (x @ params["W"].T + params["c"]))
    soft_b = np.tanh(steep * params["P"])
    h, b = (signs(soft_h), signs(soft_b)) if hard else (soft_h, soft_b)
    rate = np.exp(params["g"])
    alike = h @ b.T
    p = softmax(rate * alike)
    right = (p * own).sum(axis=1, keepdims=True)
    loss = -float(np.log(np.maximum(right, TINY)).mean())
    slope = (p - p * own / np.maximum(right, TINY)) / x.dtype.type(len(x))
    to_h = (rate * (slope @ b)) * (steep * (1.0 - soft_h**2))
    to_b = (rate * (slope.T @ h)) * (steep * (1.0 - soft_b**2))
    to_g = np.array([rate[0] * float((slope * alike).sum())], dtype=x.dtype)
    return loss, {"W": to_h.T @ x, "c": to_h.sum(axis=0), "P": to_b, "g": to_g}


def signs(values: Array) -> Array:
    """1 from zero on, else -1."""
    return np.asarray(np.where(values >= 0, 1, -1).astype(values.dtype))
