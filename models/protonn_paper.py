"""ProtoNN's Algorithm 1 as printed: alternating minimisation of the squared loss under hard sparsity limits.

For T rounds, Z, B and W are each improved by e epochs of projected (stochastic) gradient descent while the
other two stand still. Projection is hard thresholding: all but the s largest entries become zero. The first
step of each such block is found by Armijo's rule, the t-th is η0/t. γ = 2.5 / median of the distances between
prototypes and samples after the start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from models.device import Array
from models.optim import Params, largest, minibatches
from models.protonn_init import class_centres, squared_distances

ORDER = ("Z", "B", "W")
ARMIJO_SLOPE = 0.1
"""A step must win this part of what the gradient promises."""
ARMIJO_HALVINGS = 30
GAMMA_FACTOR = 2.5
MEDIAN_SAMPLES = 2000


@dataclass(frozen=True)
class PaperRecipe:
    """The inputs of Algorithm 1; densities are shares of the entries that may be non-zero."""

    rounds: int = 150
    epochs: int = 20
    batch_size: int | None = None
    """None: gradient descent on all samples, as for the paper's smaller data."""
    w_density: float = 1.0
    b_density: float = 0.8
    z_density: float = 0.8
    trained: str = "".join(ORDER)
    """The matrices that are improved; the others stay as they start, but for their density."""


@dataclass(frozen=True)
class Found:
    """What Algorithm 1 arrived at."""

    params: Params
    gamma: float
    loss: float
    rounds: int

    def unit_gamma(self) -> Params:
        """The same model in units where γ is 1."""
        return {"W": self.params["W"] * self.gamma, "B": self.params["B"] * self.gamma, "Z": self.params["Z"]}


TRIAL_ROUNDS = 10
"""Rounds after which several random starts are compared by their training loss."""


def fit(
    x: Array,
    labels: npt.NDArray[np.int64] | None,
    Y: Array,
    *,
    first_projection: Callable[[], Array],
    prototypes: int,
    gamma_factor: float,
    starts: int,
    recipe: PaperRecipe,
    rng: np.random.Generator,
    progress: Callable[[int, float], None] | None = None,
) -> Found:
    """Algorithm 1 from the best of so many starts."""
    tried = []
    for _ in range(max(1, starts)):
        params, gamma = start(x, labels, Y, first_projection(), prototypes, rng=rng)
        samples = Samples(x, Y, gamma * gamma_factor)
        if starts > 1:
            solve(samples, params, recipe=replace(recipe, rounds=TRIAL_ROUNDS), rng=rng)
        tried.append((loss(params, samples), samples, params))
    _, samples, params = min(tried, key=lambda trial: trial[0])
    rounds = solve(samples, params, recipe=recipe, rng=rng, progress=progress)
    return Found(params, samples.gamma, loss(params, samples), rounds)


def start(
    x: Array,
    labels: npt.NDArray[np.int64] | None,
    Y: Array,
    W: Array,
    prototypes: int,
    *,
    rng: np.random.Generator,
) -> tuple[Params, float]:
    """W, B, Z and γ. Prototypes are k-means centres class by class, or samples where there are no classes."""
    z = x @ W.T
    if labels is None:
        chosen = rng.choice(len(x), min(prototypes, len(x)), replace=False)
        B, Z = z[chosen], Y[chosen].T
    else:
        B, owners = class_centres(z, labels, Y.shape[1], prototypes, rng)
        Z = np.eye(Y.shape[1], dtype=x.dtype)[:, owners]
    some = rng.permutation(len(x))[:MEDIAN_SAMPLES]
    median = float(np.median(np.sqrt(squared_distances(z[some], B))))
    params = {"W": W.astype(x.dtype), "B": B.astype(x.dtype), "Z": np.array(Z, dtype=x.dtype)}
    return params, GAMMA_FACTOR / max(median, 1e-9)


@dataclass(frozen=True)
class Samples:
    """Samples and their labels, with what does not change while one matrix is improved."""

    x: Array
    Y: Array
    gamma: float
    z: Array | None = None
    """Wx, while W stands still."""
    K: Array | None = None
    """The similarities, while W and B stand still."""

    def during(self, name: str, params: Params) -> Samples:
        """The same samples for the block that improves `name`."""
        z = None if name == "W" else self.x @ params["W"].T
        K = _kernel(z, params["B"], self.gamma) if name == "Z" and z is not None else None
        return Samples(self.x, self.Y, self.gamma, z, K)

    def batch(self, chosen: npt.NDArray[np.int64]) -> Samples:
        z = None if self.z is None else self.z[chosen]
        K = None if self.K is None else self.K[chosen]
        return Samples(self.x[chosen], self.Y[chosen], self.gamma, z, K)

    def similarities(self, params: Params) -> tuple[Array, Array]:
        """z and K."""
        z = self.x @ params["W"].T if self.z is None else self.z
        return z, (_kernel(z, params["B"], self.gamma) if self.K is None else self.K)


def loss(params: Params, samples: Samples) -> float:
    """Mean over the samples of |y - Σ_j z_j·K(b_j, Wx)|²."""
    _, K = samples.similarities(params)
    return float(np.square(K @ params["Z"].T - samples.Y).sum()) / len(samples.Y)


def gradient(name: str, params: Params, samples: Samples) -> Array:
    """The gradient of the mean loss with respect to one of the three matrices."""
    B, Z = params["B"], params["Z"]
    z, K = samples.similarities(params)
    residual = K @ Z.T - samples.Y
    factor = 2.0 / len(samples.Y)
    if name == "Z":
        return np.asarray(factor * (residual.T @ K))
    # d|z - b|²: every pair pulls along z - b with its share of the residual.
    pull = (residual @ Z) * K * (-2.0 * samples.gamma**2 * factor)
    if name == "B":
        return np.asarray(B * pull.sum(axis=0)[:, None] - pull.T @ z)
    return np.asarray((z * pull.sum(axis=1)[:, None] - pull @ B).T @ samples.x)


def solve(
    samples: Samples,
    params: Params,
    *,
    recipe: PaperRecipe,
    rng: np.random.Generator,
    progress: Callable[[int, float], None] | None = None,
) -> int:
    """Improve `params` in place; the number of rounds done. Ctrl-C ends early with what there is."""
    limits = {"W": recipe.w_density, "B": recipe.b_density, "Z": recipe.z_density}
    keep = {name: int(np.ceil(share * params[name].size)) for name, share in limits.items()}
    for name in set(ORDER) - set(recipe.trained):
        params[name] = _threshold(params[name], keep[name])
    steps = dict.fromkeys(ORDER, 1.0)
    done = 0
    try:
        for done in range(1, recipe.rounds + 1):
            for name in (name for name in ORDER if name in recipe.trained):
                block = samples.during(name, params)
                steps[name] = _improve(name, params, block, keep[name], steps[name], recipe=recipe, rng=rng)
            if progress:
                progress(done, loss(params, samples))
    except KeyboardInterrupt:
        pass
    for name, count in keep.items():
        params[name] *= largest(params[name], count)
    return done


def _improve(
    name: str,
    params: Params,
    samples: Samples,
    keep: int,
    first_guess: float,
    *,
    recipe: PaperRecipe,
    rng: np.random.Generator,
) -> float:
    """e epochs on one matrix; the Armijo step that began them, where the next block's search starts."""
    first = 0.0
    for t, chosen in enumerate(_batches(len(samples.x), recipe, rng), 1):
        some = samples if chosen is None else samples.batch(chosen)
        slope = gradient(name, params, some)
        if t == 1:
            first = _armijo(name, params, some, keep, slope, step=4.0 * first_guess)
        params[name] = _threshold(params[name] - (first / t) * slope, keep)
    return first or first_guess


def _armijo(name: str, params: Params, samples: Samples, keep: int, slope: Array, *, step: float) -> float:
    """The first of step, step/2, step/4… that lowers the loss enough; 0 if none does."""
    before = loss(params, samples)
    promise = float(np.sum(np.square(slope)))
    for _ in range(ARMIJO_HALVINGS):
        moved = {**params, name: _threshold(params[name] - step * slope, keep)}
        if loss(moved, samples) <= before - ARMIJO_SLOPE * step * promise:
            return step
        step /= 2.0
    return 0.0


def _batches(n: int, recipe: PaperRecipe, rng: np.random.Generator) -> Iterator[npt.NDArray[np.int64] | None]:
    for _ in range(recipe.epochs):
        if recipe.batch_size is None or recipe.batch_size >= n:
            yield None
        else:
            yield from minibatches(n, recipe.batch_size, rng)


def _threshold(values: Array, keep: int) -> Array:
    return values if keep >= values.size else np.asarray(values * largest(values, keep))


def _kernel(z: Array, B: Array, gamma: float) -> Array:
    exponents = squared_distances(z, B)
    exponents *= -(gamma**2)
    return np.asarray(np.exp(exponents, out=exponents))
