"""ProtoNN's default solver: all three matrices at once, for the integers of the device.

Adam, by default on the cross-entropy, with a one-cycle learning rate and weight decay on W (which keeps the
kernel wide and the integers' range short), magnitude pruning of W along a cubic schedule, the later epochs
with the device's rounding in the forward pass, and an average over the last steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from models import protonn_math
from models.device import Array
from models.optim import Adam, Average, Params, cubic_density, largest, minibatches, one_cycle
from models.protonn_math import Grid, Loss

Afford = Callable[[Params], dict[str, int]]
"""How many entries of which matrices may stay, the largest; those not named are never pruned."""
Augment = Callable[[Array, np.random.Generator], Array]


@dataclass(frozen=True)
class Recipe:
    """How long and how hard to train. Shares are of the whole schedule, 0 to 1."""

    epochs: int = 60
    batch_size: int = 128
    learning_rate: float = 0.01
    weight_decay: float = 2.0
    prune_from: float = 0.05
    prune_until: float = 0.6
    quantize_from: float = 0.5
    average_from: float = 0.8
    weight_limit: int = 127


@dataclass(frozen=True)
class Learned:
    """Float weights, and the grid that makes the device's integers of them."""

    params: Params
    grid: Grid
    loss: float
    epochs: int
    stopped: bool
    """Whether Ctrl-C ended the training early."""


def train(
    x: Array,
    targets: Array,
    params: Params,
    *,
    x_unit: float,
    loss_of: Loss,
    afford: Afford,
    recipe: Recipe,
    rng: np.random.Generator,
    augment: Augment | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> Learned:
    """Train `params` in place on samples x (n, d) and targets (n, scores).

    Ctrl-C ends training early and keeps the model of that moment, pruned and rounded like a finished one.
    """
    adam = Adam(params)
    batches = max(1, round(len(x) / recipe.batch_size))
    total = recipe.epochs * batches
    step, loss, epoch = 0, float("nan"), 0
    masks: Params = {}
    keep: dict[str, int] = {}
    next_count = 0.0
    grid: Grid | None = None
    average: Average | None = None
    stopped = False
    try:
        for epoch in range(1, recipe.epochs + 1):
            for chosen in minibatches(len(x), recipe.batch_size, rng):
                now = step / total
                if now >= next_count:
                    keep, next_count = afford(params), now + COUNT_SHARE
                if step % PRUNE_EVERY == 0:
                    masks = _masks(params, keep, now, recipe)
                if grid is None and now >= recipe.quantize_from:
                    grid = _grid(params, x, x_unit, recipe)
                batch = x[chosen] if augment is None else augment(x[chosen], rng)
                loss, grads = protonn_math.gradients(params, batch, targets[chosen], loss_of, grid)
                rate = one_cycle(now, recipe.learning_rate)
                params["W"] *= 1.0 - rate * recipe.weight_decay
                adam.step(grads, rate)
                for name, mask in masks.items():
                    params[name] *= mask
                if now >= recipe.average_from:
                    average = average or Average(params, horizon=total * AVERAGE_SHARE)
                    average.update(params)
                step += 1
            if progress:
                progress(epoch, loss)
    except KeyboardInterrupt:
        stopped = True
    final = average.values if average else params
    for name, count in afford(final).items():
        final[name] = final[name] * largest(final[name], count)
    return Learned(final, grid or _grid(final, x, x_unit, recipe), loss, epoch, stopped)


def usual_batch(n: int) -> int:
    """Larger data take larger batches: beyond a few thousand, more steps only add noise."""
    return int(np.clip(n // 90, 128, 512))


def usual_epochs(n: int, steps: int = 2500, most: int = 60) -> int:
    """Enough for so many steps, at least 12."""
    return int(np.clip(round(steps * usual_batch(n) / n), 12, most))


def usual_decay(features: int) -> float:
    """Few features need larger weights to move a sample as far, so their weights may decay less."""
    return min(4.0, features / 50)


NEVER = 2.0
"""A share of the schedule that is not reached."""
PRUNE_EVERY = 10
"""Steps between prunings: sorting W costs as much as a step."""
COUNT_SHARE = 0.05
"""How often what fits into the budget is counted anew, as a share of the schedule: gaps change little."""
AVERAGE_SHARE = 0.05
"""The averaging horizon, as a share of all steps."""


def _masks(params: Params, keep: dict[str, int], now: float, recipe: Recipe) -> Params:
    masks: Params = {}
    for name, count in keep.items():
        size = params[name].size
        if count < size:
            density = cubic_density(now, count / size, begin=recipe.prune_from, end=recipe.prune_until)
            masks[name] = largest(params[name], int(np.ceil(density * size)))
    return masks


def _grid(params: Params, x: Array, x_unit: float, recipe: Recipe) -> Grid:
    return Grid.for_weights(params, x[:2000] @ params["W"].T, x_unit, recipe.weight_limit)
