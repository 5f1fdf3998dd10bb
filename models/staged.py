"""Training in three stages, which Bonsai, LDKL and the pruned network share.

Dense: all weights, floating point. Sparse: weights are taken away step by step, the least important first,
down to what the flash can hold; one that grows back is let in again. Integer: the network computes what the
device will compute, rounding and clipping included, while the gradient passes straight through the rounding;
the integers that come out are the model, not a rounding of it. The learning rate runs one cycle over all
three.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from models import optim
from models.device import Array
from models.jitter import Jitter
from models.optim import Params

Progress = Callable[[str], None]
Afford = Callable[[Array], int]
"""How many of the largest of these importances (of a matrix of weights) the flash has room for."""
Augment = Callable[[Array, np.random.Generator], Array]


class Network(ABC):
    """What the stages need of a model: parameters, a way forth and back, and a way into the integers."""

    relative: ClassVar[tuple[str, ...]] = ()
    """Parameters that move in proportion to their own size, because they have no natural one."""

    def __init__(self, params: Params, limits: Mapping[str, int], afford: Mapping[str, Afford]) -> None:
        self.params = params
        self.limits = dict(limits)
        """The largest integer of each quantized parameter."""
        self.afford = dict(afford)
        """Of the parameters to prune, how many weights there is room for."""
        self.masks: dict[str, Array] = {}
        self.steps: dict[str, float] = {}
        """What an integer of 1 means, by parameter; empty before the integer stage."""

    @property
    def integer(self) -> bool:
        return bool(self.steps)

    @abstractmethod
    def forward(self, X: Array) -> tuple[Array, Any]:
        """Scores of a batch, and what backward needs."""

    @abstractmethod
    def backward(self, slope: Array, tape: Any) -> Params:
        """Gradients from the gradient in the scores. A parameter that must not move now is left out."""

    @abstractmethod
    def calibrate(self, X: Array) -> dict[str, float]:
        """Choose the steps for the integer stage on samples X, rescaling parameters freely before."""

    def importance(self, name: str) -> Array:
        return np.abs(self.params[name])

    def anneal(self, progress: float) -> None:  # noqa: B027 -- most networks have nothing that anneals
        """Called before each batch with the part of the training that is done."""

    def after_step(self, rates: Mapping[str, float]) -> None:
        """Called after each step with the rates it used. Here: hold latent weights within reach of integers,
        so that none drifts off and gets stuck."""
        for name, step in self.steps.items():
            reach = step * (self.limits[name] + 0.49)
            np.clip(self.params[name], -reach, reach, out=self.params[name])

    def weights(self, name: str) -> Array:
        """The parameter as the current stage sees it: masked, and in the integer stage rounded."""
        value = self.params[name]
        if self.integer and name in self.steps:
            value = optim.fake_quantize(value, self.steps[name], self.limits[name])
        return value * self.masks[name] if name in self.masks else value

    def integers(self, name: str) -> Array:
        """The integers that go to the device."""
        value = np.rint(self.weights(name) / self.steps[name])
        return value.astype(np.int64)

    def prune(self, name: str, count: int) -> None:
        """Keep the most important weights of a parameter; the others are zero until they matter again."""
        kept = optim.largest(self.importance(name), count)
        self.masks[name] = kept.astype(self.params[name].dtype)


@dataclass(frozen=True)
class Schedule:
    """How long, how fast, and when the stages begin (as parts of the whole)."""

    epochs: int = 60
    batch: int = 128
    rate: float = 0.02
    decay: float = 0.0
    sparse_from: float = 0.1
    sparse_to: float = 0.5
    integer_from: float = 0.55
    average_from: float = 0.9
    """From here on the parameters are averaged, which takes the noise of the last batches out of them."""


LOOK_EVERY = 8
"""Batches between two looks at all weights, to prune and to scale steps: one costs as much as a batch."""
CALIBRATION = 4096
"""Samples that scales are chosen on."""
SETTLING = 300
"""Steps after Ctrl-C, so few that they take less than a second."""


def train(
    network: Network,
    X: Array,
    targets: Array,
    schedule: Schedule,
    rng: np.random.Generator,
    *,
    augment: Augment | None = None,
    progress: Progress | None = None,
) -> None:
    """Run the stages. targets: (n, classes) distributions, or (n, 1) probabilities of the second class.

    Ctrl-C ends the training early but cleanly: the network is pruned and in integers as at the end, and has
    had a moment to get used to it.
    """
    network.params["gain"] = np.zeros(1, dtype=np.float32)
    adam = optim.Adam(network.params, decay=schedule.decay)
    average: optim.Average | None = None
    batches = max(1, round(X.shape[0] / schedule.batch))
    total = schedule.epochs * batches
    done = 0
    try:
        for epoch in range(schedule.epochs):
            if not network.integer:
                room = {name: afford(network.importance(name)) for name, afford in network.afford.items()}
            for chosen in optim.minibatches(X.shape[0], schedule.batch, rng):
                part = done / total
                if not network.integer and done % LOOK_EVERY == 0:
                    _prune(network, room, part, schedule)
                if not network.integer and part >= schedule.integer_from:
                    _enter_integers(network, X)
                    adam = optim.Adam(network.params, decay=schedule.decay)
                    sizes = _sizes(network)
                if done % LOOK_EVERY == 0:
                    sizes = _sizes(network)
                network.anneal(part)
                batch = X[chosen] if augment is None else augment(X[chosen], rng)
                rates = _rates(network, sizes, optim.one_cycle(part, schedule.rate))
                _step(network, adam, batch, targets[chosen], rates)
                if network.integer and part >= schedule.average_from:
                    average = average or optim.Average(network.params)
                    average.update(network.params)
                done += 1
            if progress:
                progress(f"epoch {epoch + 1} of {schedule.epochs}")
    except KeyboardInterrupt:
        if progress:
            progress("stopped; keeping what there is")
        if average is None:
            _settle(network, X, targets, schedule, rng)
    if not network.integer:
        _enter_integers(network, X)
    network.params.update(average.values if average else {})
    network.anneal(1.0)


def _prune(network: Network, room: Mapping[str, int], progress: float, schedule: Schedule) -> None:
    for name, count in room.items():
        size = network.params[name].size
        density = optim.cubic_density(
            progress, count / size, begin=schedule.sparse_from, end=schedule.sparse_to
        )
        if density < 1.0:
            network.prune(name, max(count, int(density * size)))


def _enter_integers(network: Network, X: Array) -> None:
    for name, afford in network.afford.items():
        network.prune(name, afford(network.importance(name)))
    network.steps = network.calibrate(X[:: max(1, X.shape[0] // CALIBRATION)])


def _settle(network: Network, X: Array, targets: Array, schedule: Schedule, rng: np.random.Generator) -> None:
    """A few steps as in the last stage, for a network that was stopped before it."""
    if not network.integer:
        _enter_integers(network, X)
    network.anneal(1.0)
    adam = optim.Adam(network.params, decay=schedule.decay)
    sizes = _sizes(network)
    for count in range(SETTLING):
        chosen = rng.integers(X.shape[0], size=min(schedule.batch, X.shape[0]))
        rates = _rates(network, sizes, optim.cosine(count / SETTLING, schedule.rate / 4))
        _step(network, adam, X[chosen], targets[chosen], rates)


def _step(network: Network, adam: optim.Adam, X: Array, targets: Array, rates: Mapping[str, float]) -> None:
    adam.step(_gradients(network, X, targets), rates)
    network.after_step(rates)


def _gradients(network: Network, X: Array, targets: Array) -> Params:
    """The loss is cross-entropy of the scores times a gain that is learnt, since scores have no scale."""
    scores, tape = network.forward(X)
    gain = np.exp(network.params["gain"])
    loss = optim.logistic_loss if targets.shape[1] == 1 else optim.softmax_loss
    _, slope = loss(scores * gain, targets)
    grads = network.backward(slope * gain, tape)
    if network.integer:  # Before, a weight that was pruned still learns, so that it can come back.
        for name, mask in network.masks.items():
            grads[name] = grads[name] * mask
    grads["gain"] = np.array([np.sum(slope * scores) * gain[0]], dtype=np.float32)
    return grads


def _rates(network: Network, sizes: Mapping[str, float], rate: float) -> dict[str, float]:
    return {name: rate * sizes.get(name, 1.0) for name in network.params}


def _sizes(network: Network) -> dict[str, float]:
    """How large a weight is that is not zero, of the parameters that move in proportion to that."""
    found = {}
    for name in network.relative:
        value = network.weights(name)
        count = np.count_nonzero(value) or 1
        found[name] = float(np.sqrt(np.sum(np.square(value)) / count))
    return found


def affordable(importance: Array, size: Callable[[Array], int], spare: int) -> int:
    """How many of the most important weights fit into `spare` bytes, where `size` tells a 0/1 matrix's bytes.

    -1 if not even the empty matrix fits.
    """
    everything = np.ones(importance.shape, dtype=np.int64)
    if size(everything) <= spare:
        return int(importance.size)
    low, high = -1, int(importance.size) - 1
    while low < high:
        middle = (low + high + 1) // 2
        if size(optim.largest(importance, middle).astype(np.int64)) <= spare:
            low = middle
        else:
            high = middle - 1
    return low


def targets(labels: npt.NDArray[np.int64], classes: int, smoothing: float = 0.0) -> Array:
    """What `train` wants to be told of class indices."""
    if classes == 2:
        return (labels * (1.0 - smoothing) + smoothing / 2).astype(np.float32)[:, None]
    return optim.one_hot(labels, classes, smoothing)


def augmentation(
    image: tuple[int, int] | None, jitter: float, X: Array, rng: np.random.Generator
) -> Augment | None:
    """Jittered images, or where features are no pixels, noise in proportion to their spread."""
    if jitter <= 0.0:
        return None
    if image is not None:
        return Jitter.of_strength(image, jitter).augmenter(rng)
    spread = (jitter * X.std(axis=0)).astype(np.float32)
    return lambda batch, rng: batch + spread * rng.standard_normal(batch.shape, dtype=np.float32)
