"""How NPC's prototypes are moved: conjugate gradients as in the paper, or stochastic descent.

Stochastic descent sees a fresh variant of every image each time, which the whole-batch method cannot, and
passes over large data far less often.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from models import optim
from models.conjugate import minimise
from models.device import Array
from models.soft_neighbours import Labels, PooledLoss, SoftNeighbours, beyond

CLEAR = 0.5
"""A sample is undecided while its first and second weight differ by less (section 2.2)."""
REST = 0.01
"""A sample has one prototype when all others together weigh less (section 2.2)."""
DECIDED = 0.95
"""The part of the samples that must have one prototype at the end: a few lie on borders for ever."""
RISE = 4.0
"""How much γ grows in stochastic descent. Noise keeps it from ever fitting single samples, so that the last,
hardest stages bring nothing."""
RISING = 0.9
"""The part of the training in which it grows."""
AVERAGED = 0.1
"""The last part of the training, whose prototypes are averaged."""
BATCH = 256


@dataclass(frozen=True)
class Samples:
    """What is learnt from: samples, their classes, and the classes of the prototypes."""

    x: Array
    labels: Labels
    owners: Labels
    n_classes: int
    loss: PooledLoss
    bound: float
    """Coordinates of prototypes beyond it are discouraged."""

    def objective(self, x: Array, labels: Labels) -> Callable[[Array, float], tuple[float, Array]]:
        """Value and gradient on some samples, as a function of prototypes and γ."""
        soft = SoftNeighbours(x, labels, self.owners, self.n_classes, self.loss)

        def evaluate(P: Array, gamma: float) -> tuple[float, Array]:
            value, gradient = objective_gradient(soft, P, gamma)
            penalty, push = beyond(P, self.bound)
            return value + penalty, gradient + push

        return evaluate


@dataclass(frozen=True)
class Moved:
    """Where the prototypes ended."""

    points: Array
    loss: float
    iterations: int
    interrupted: bool


def conjugate(
    samples: Samples,
    points: Array,
    gammas: list[float],
    *,
    iterations: int,
    after: Callable[[int, float], None] | None = None,
) -> Moved:
    """Section 2.2: at each γ in turn, descend from where the last one ended."""
    evaluate = samples.objective(samples.x, samples.labels)
    total, loss, interrupted = 0, float("inf"), False
    for gamma in gammas:

        def at_this_gamma(P: Array, gamma: float = gamma) -> tuple[float, Array]:
            return evaluate(P, gamma)

        found = minimise(at_this_gamma, points, iterations=iterations, tolerance=1e-4, after=after)
        points, loss, interrupted = found.point, found.value, found.interrupted
        total += found.iterations
        if interrupted:
            break
    return Moved(points, loss, total, interrupted)


def stochastic(
    samples: Samples,
    points: Array,
    gamma: float,
    *,
    epochs: int,
    rate: float,
    rng: np.random.Generator,
    variant: Callable[[Array], Array] | None = None,
    after: Callable[[int, float], None] | None = None,
) -> Moved:
    """Adam on small batches while γ grows; `variant` alters a batch before it is learnt from."""
    params = {"P": points.copy()}
    adam = optim.Adam(params)
    average = optim.Average(params)
    total = epochs * max(1, round(len(samples.x) / BATCH))
    done, loss, interrupted = 0, float("inf"), False
    try:
        for epoch in range(epochs):
            losses = []
            for batch in optim.minibatches(len(samples.x), BATCH, rng):
                part = done / total
                x = samples.x[batch]
                evaluate = samples.objective(variant(x) if variant else x, samples.labels[batch])
                value, gradient = evaluate(params["P"], gamma * RISE ** min(1.0, part / RISING))
                adam.step({"P": gradient}, optim.one_cycle(part, rate))
                losses.append(value)
                done += 1
                if part >= 1.0 - AVERAGED:
                    average.update(params)
            loss = float(np.mean(losses))
            if after is not None:
                after(epoch + 1, loss)
    except KeyboardInterrupt:
        interrupted = True
    return Moved((average.values if average.updates else params)["P"], loss, done, interrupted)


def objective_gradient(soft: SoftNeighbours, P: Array, gamma: float) -> tuple[float, Array]:
    """The loss (eq. 7, 20; mean over samples) and its gradient in the prototypes (eq. 10–18)."""
    sharp = P.dtype.type(gamma)
    value, pull, weight = soft(2.0 * sharp * P, -sharp * np.einsum("ij,ij->i", P, P))
    return value, 2.0 * sharp * (pull - weight[:, None] * P)


def sharpness(x: Array, points: Array, *, undecided: float, steps: int) -> list[float]:
    """The values of γ of section 2.2 for samples x, on a logarithmic scale.

    The first is the largest at which the part `undecided` of the samples has its two highest weights within
    CLEAR of each other, the last the smallest at which nearly all samples have one prototype.
    """
    if len(points) < 2:
        return [1.0]
    away = np.einsum("ij,ij->i", points, points) - 2.0 * (x @ points.T)
    away -= away.min(axis=1, keepdims=True)
    typical = 1.0 / max(float(np.median(np.partition(away, 1, axis=1)[:, 1])), 1e-12)

    def weights(gamma: float) -> Array:
        found = np.exp(-np.float32(gamma) * away)
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def is_soft(gamma: float) -> bool:
        highest = np.partition(weights(gamma), -2, axis=1)[:, -2:]
        return bool(np.mean(highest[:, 1] - highest[:, 0] < CLEAR) >= undecided)

    def is_open(gamma: float) -> bool:
        return bool(np.mean(1.0 - weights(gamma).max(axis=1) < REST) < DECIDED)

    first, last = _edge(is_soft, typical), _edge(is_open, typical)
    return [float(gamma) for gamma in np.geomspace(first, max(first, last), steps)]


def _edge(below: Callable[[float], bool], around: float) -> float:
    """The γ up to which `below` holds, to a hundredth, within a factor of a thousand of `around`."""
    low, high = around / 1000.0, around * 1000.0
    while high > 1.01 * low:
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if below(middle) else (low, middle)
    return low
