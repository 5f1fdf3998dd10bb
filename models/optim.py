"""What every trainer here shares: Adam, schedules, minibatches, pruning, fake quantization, losses.

Parameters are a dict of named numpy arrays, updated in place; gradients are a dict with the same keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from models.device import Array

Params = dict[str, Array]


class Adam:
    """Adam with decoupled weight decay. `step` returns nothing and changes the parameters in place."""

    def __init__(
        self,
        params: Params,
        *,
        betas: tuple[float, float] = (0.9, 0.99),
        eps: float = 1e-8,
        decay: float = 0.0,
    ) -> None:
        self.params = params
        self.betas = betas
        self.eps = eps
        self.decay = decay
        self.steps = 0
        self._mean = {name: np.zeros_like(value) for name, value in params.items()}
        self._square = {name: np.zeros_like(value) for name, value in params.items()}

    def step(self, grads: Mapping[str, Array], lr: float | Mapping[str, float]) -> None:
        """One update of the parameters that `grads` names; lr is one number or one a parameter."""
        self.steps += 1
        b1, b2 = self.betas
        correct_mean = 1.0 - b1**self.steps
        correct_square = 1.0 - b2**self.steps
        for name, grad in grads.items():
            rate = lr if isinstance(lr, float | int) else lr[name]
            mean, square, value = self._mean[name], self._square[name], self.params[name]
            mean *= b1
            mean += (1.0 - b1) * grad
            square *= b2
            squared = np.square(grad)
            squared *= 1.0 - b2
            square += squared
            if self.decay:
                value *= 1.0 - rate * self.decay
            divisor = np.sqrt(square)
            divisor *= 1.0 / np.sqrt(correct_square)
            divisor += self.eps
            step = mean / divisor
            step *= rate / correct_mean
            value -= step


class Average:
    """Exponential moving average of the parameters: the end of a noisy schedule, smoothed.

    The horizon grows with the number of updates, so early weights are forgotten without a start-up bias.
    """

    def __init__(self, params: Mapping[str, Array], horizon: float = 200.0) -> None:
        self.values = {name: value.copy() for name, value in params.items()}
        self.horizon = horizon
        self.updates = 0

    def update(self, params: Mapping[str, Array]) -> None:
        self.updates += 1
        weight = 1.0 / min(self.horizon, self.updates)
        for name, value in params.items():
            average = self.values[name]
            average += weight * (value - average)


def one_cycle(
    progress: float, peak: float, *, warmup: float = 0.15, start: float = 0.1, end: float = 1e-3
) -> float:
    """Learning rate at `progress` (0 to 1): cosine from start·peak up to peak, then down to end·peak."""
    if progress < warmup:
        return peak * (start + (1.0 - start) * 0.5 * (1.0 - float(np.cos(np.pi * progress / warmup))))
    return cosine((progress - warmup) / (1.0 - warmup), peak, end=end)


def cosine(progress: float, peak: float, *, end: float = 1e-3) -> float:
    """Learning rate at `progress` (0 to 1), from peak down to end·peak along half a cosine."""
    return peak * (end + (1.0 - end) * 0.5 * (1.0 + float(np.cos(np.pi * min(1.0, max(0.0, progress))))))


def cubic_density(progress: float, final: float, *, begin: float = 0.1, end: float = 0.6) -> float:
    """Share of weights kept at `progress`: 1 until begin, then fast and ever slower down to final at end."""
    if progress <= begin:
        return 1.0
    left = max(0.0, 1.0 - (progress - begin) / (end - begin))
    return float(final + (1.0 - final) * left**3)


def minibatches(n: int, size: int, rng: np.random.Generator) -> Iterator[npt.NDArray[np.int64]]:
    """One epoch: every index once in random order, in batches of nearly equal size."""
    count = max(1, round(n / size))
    yield from np.array_split(rng.permutation(n), count)


def largest(values: Array, keep: int) -> npt.NDArray[np.bool_]:
    """Mask of exactly `keep` entries of largest magnitude; the earlier of equals is kept."""
    if keep >= values.size:
        return np.ones(values.shape, dtype=bool)
    if keep <= 0:
        return np.zeros(values.shape, dtype=bool)
    sizes = np.abs(values).ravel()
    # A partition finds the least size that is kept in linear time; sorting would cost as much as a step.
    least = np.partition(sizes, sizes.size - keep)[sizes.size - keep]
    mask = sizes > least
    mask[np.flatnonzero(sizes == least)[: keep - int(np.count_nonzero(mask))]] = True
    return np.asarray(mask.reshape(values.shape))


def quantize(values: Array, step: float, limit: int = 127) -> Array:
    """Nearest integers of values / step, clipped to ±limit; still in the floating type of `values`."""
    return np.clip(np.rint(values / step), -limit, limit)


def fake_quantize(values: Array, step: float, limit: int = 127) -> Array:
    """What the device would see of `values`. In training the gradient is passed straight through."""
    return np.asarray(quantize(values, step, limit) * values.dtype.type(step))


def best_step(values: Array, limit: int = 127, candidates: int = 24) -> float:
    """The step whose rounding loses least in mean square: clipping a few large values can pay."""
    top = float(np.max(np.abs(values), initial=0.0))
    if top == 0.0:
        return 1.0 / limit
    steps = top / limit * np.linspace(0.4 if limit < 64 else 0.7, 1.0, candidates)
    losses = [float(np.sum(np.square(fake_quantize(values, float(s), limit) - values))) for s in steps]
    return float(steps[int(np.argmin(losses))])


def softmax(scores: Array) -> Array:
    shares = scores - scores.max(axis=1, keepdims=True)
    np.exp(shares, out=shares)
    shares /= shares.sum(axis=1, keepdims=True)
    return np.asarray(shares)


def softmax_loss(scores: Array, targets: Array) -> tuple[float, Array]:
    """Mean cross-entropy against target distributions (n, classes), and its gradient in the scores."""
    p = softmax(scores)
    n = scores.shape[0]
    loss = -float(np.sum(targets * np.log(np.maximum(p, 1e-12)))) / n
    return loss, (p - targets) / scores.dtype.type(n)


def logistic_loss(scores: Array, targets: Array) -> tuple[float, Array]:
    """Mean binary cross-entropy of scores (n, k) against probabilities in [0, 1], and its gradient."""
    n = scores.shape[0]
    loss = float(np.sum(np.logaddexp(0.0, scores) - targets * scores)) / n
    p = 0.5 * (1.0 + np.tanh(0.5 * scores))
    return loss, (p - targets) / scores.dtype.type(n)


def one_hot(labels: npt.NDArray[np.int64], classes: int, smoothing: float = 0.0) -> npt.NDArray[np.float32]:
    """Target distributions of class indices, with `smoothing` of the weight spread over all classes."""
    targets = np.full((labels.size, classes), smoothing / classes, dtype=np.float32)
    targets[np.arange(labels.size), labels] += np.float32(1.0 - smoothing)
    return targets
