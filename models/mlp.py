"""A network with one hidden layer, trained, pruned and trained on (Han et al., 2015), as a classifier.

    y = O·max(0, W·x + b)

Pruning goes along while it trains, and the last part of the training is in the device's integers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from models.device import CONSTANT_BYTES, Array, DeviceModel, paper_bytes
from models.errors import InputError
from models.mlp_device import MlpFloat, MlpInt8
from models.mlp_net import MlpNetwork
from models.search import Task
from models.staged_estimator import StagedClassifier, schedule

WEIGHTS = ("W", "b", "O")
EPOCHS = {"fast": 40, "normal": 80, "best": 160}


class PrunedMLPClassifier(StagedClassifier):
    """One hidden layer with sparse weights, for two or more classes.

    Parameters
    ----------
    hidden : units of the hidden layer.
    density : share of the hidden layer's weights that may be non-zero.
    budget : largest flash size of the int8 model in bytes; weights are pruned as far as it takes.
    bits, out_bits : 4 or 8, the size of a weight of the hidden layer, and of the outputs.
    epochs, batch_size, learning_rate, weight_decay, label_smoothing : the schedule.
    image, jitter : see BonsaiClassifier.
    random_state : seed of everything random.
    verbose : print a line after each epoch.
    """

    def __init__(
        self,
        hidden: int = 32,
        *,
        density: float = 1.0,
        budget: int | None = None,
        bits: int = 8,
        out_bits: int = 8,
        epochs: int = 60,
        batch_size: int = 128,
        learning_rate: float = 0.02,
        weight_decay: float = 0.1,
        label_smoothing: float = 0.0,
        image: tuple[int, int] | None = None,
        jitter: float = 0.0,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.hidden = hidden
        self.density = density
        self.budget = budget
        self.bits = bits
        self.out_bits = out_bits
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.label_smoothing = label_smoothing
        self.image = image
        self.jitter = jitter
        self.random_state = random_state
        self.verbose = verbose

    def to_device(self, numbers: str = "int8") -> DeviceModel:
        check_is_fitted(self)
        network = self._network
        W = network.integers("W")
        about: dict[str, Any] = {
            "paper_bytes": paper_bytes(W, network.integers("O")),
            "info": {"hidden": W.shape[0], "nonzero": int(np.count_nonzero(W))},
        }
        if numbers == "int8":
            return MlpInt8.from_integers(
                {name: network.integers(name) for name in WEIGHTS},
                self.inputs_,
                self.classes_,
                h_shift=network.h_shift,
                limits=network.limits,
                **about,
            )
        if numbers == "float32":
            floats = {name: network.weights(name) for name in WEIGHTS}
            return MlpFloat.from_floats(floats, self.inputs_.float32(), self.classes_, **about)
        raise InputError(f"The network has no firmware for {numbers}.", "Choose int8 or float32.")

    def _limits(self) -> dict[str, int]:
        return {"W": self._limit(self.bits), "O": self._limit(self.out_bits)}

    def _start(self, x: Array, rng: np.random.Generator) -> MlpNetwork:
        self._check_least(hidden=1, epochs=1)
        return MlpNetwork.start(
            self.hidden,
            self._n_scores,
            x,
            rng,
            input_limit=self.inputs_.limit,
            weight_limits=self._limits(),
            afford=self._afford,
        )

    def _size(self, kept: Array) -> int:
        return MlpInt8.flash_size(kept, self._n_scores, self._limits())


def candidates(task: Task, budget: int, effort: str) -> list[dict[str, Any]]:
    """Shapes worth trying: from layers that are dense within the budget to wider and sparser ones."""
    found: list[dict[str, Any]] = []
    for density in (0.5, 1.0, 0.25, 0.12):
        for bits in (4, 8):
            stored = 1.0 if density == 1.0 else 2.0
            unit = 3 + task.n_scores + density * stored * task.n_features * bits / 8
            hidden = min(int((budget - CONSTANT_BYTES - task.n_scores) / unit), 8 * task.n_features)
            shape = {"hidden": hidden, "bits": bits, "out_bits": 8}
            if hidden >= 2 and shape not in found:
                found.append(shape)
    return [{**shape, "budget": budget, **schedule(task, EPOCHS[effort])} for shape in found]
