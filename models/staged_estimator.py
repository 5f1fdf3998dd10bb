"""What the estimators that train in stages share: data in, device model out.

A subclass lists its parameters, makes its network, and builds its device models from it.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from models import nibbles, staged
from models.device import Array, DeviceModel, InputScale
from models.errors import BudgetError, InputError
from models.search import Task
from models.staged import Network

Labels = npt.NDArray[np.int64]
LIMITS = {4: nibbles.LIMIT, 8: 127}
"""The largest weight of so many bits."""


class StagedClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose fitted model is a network in its integer stage.

    Every subclass has the parameters of the schedule (epochs, batch_size, learning_rate, weight_decay,
    label_smoothing), of the augmentation (image, jitter), budget, random_state and verbose.
    """

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            name = type(self).__name__
            raise ValueError(f"{name} needs samples of at least two classes; there is only one class.")
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        self.inputs_ = InputScale.for_data(X, "int8")
        x = self.inputs_.encode(X).astype(np.float32) / np.float32(self.inputs_.limit)
        with threadpool_limits(1):  # Batches are too small to share: threads would wait for one another.
            self._network = self._trained(x, labels, rng)
        return self

    def decision_function(self, X: npt.ArrayLike) -> Array:
        """The device's integer scores."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        model = self.to_device("int8")
        found = model.scores(model.encode(X)).astype(np.float64)
        return np.asarray(found[:, 0] if len(self.classes_) == 2 else found)

    def predict(self, X: npt.ArrayLike) -> Array:
        """Labels by the integer model, which is what was trained."""
        found = self.decision_function(X)
        chosen = (found > 0).astype(int) if len(self.classes_) == 2 else found.argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    @abstractmethod
    def to_device(self, numbers: str = "int8") -> DeviceModel:
        """The fitted model for firmware: int8 or float32."""

    @abstractmethod
    def _start(self, x: Array, rng: np.random.Generator) -> Network:
        """The network to train."""

    @abstractmethod
    def _size(self, kept: Array) -> int:
        """Flash bytes of the model if its pruned matrix had these non-zeros."""

    @property
    def _n_scores(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _trained(self, x: Array, labels: Labels, rng: np.random.Generator) -> Any:
        network = self._start(x, rng)
        schedule = staged.Schedule(
            self.epochs, self.batch_size, rate=self.learning_rate, decay=self.weight_decay
        )
        staged.train(
            network,
            x,
            staged.targets(labels, len(self.classes_), self.label_smoothing),
            schedule,
            rng,
            augment=staged.augmentation(self.image, self.jitter, x, rng),
            progress=print if self.verbose else None,
        )
        return network

    def _afford(self, importance: Array) -> int:
        """How many weights of the pruned matrix there is room for: by density, and by the budget."""
        allowed = int(np.ceil(self.density * importance.size))
        if self.budget is None:
            return allowed
        count = staged.affordable(importance, self._size, self.budget)
        if count < 1:
            raise BudgetError(
                f"{type(self).__name__} of this shape exceeds {self.budget} bytes even without a weight.",
                "Take a smaller shape, or more bytes.",
            )
        return min(allowed, count)

    def _check_least(self, **least: int) -> None:
        """InputError for a parameter that is below its least value."""
        for name, value in least.items():
            if getattr(self, name) < value:
                raise InputError(f"{name} is {getattr(self, name)}.", f"Give at least {value}.")

    @staticmethod
    def _limit(bits: int) -> int:
        if bits not in LIMITS:
            raise InputError(f"A weight has {bits} bits.", "Choose 4 or 8.")
        return LIMITS[bits]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_network")


def schedule(task: Task, epochs: int) -> dict[str, Any]:
    """The parameters that a search sets by the data: fewer samples get more epochs, of smaller batches."""
    factor = min(2.0, max(1.0, ENOUGH / task.n_samples)) * min(1.0, PLENTY / task.n_samples)
    return {
        "epochs": round(epochs * factor),
        "batch_size": 32 if task.n_samples < ENOUGH else 128,
        "image": task.image,
        "jitter": 0.8 if task.image else 0.2,
    }


ENOUGH = 4000
"""Samples from which on an epoch is long enough."""
PLENTY = 20000
"""Samples from which on there are no more steps: on 15,000 training images of mnist-10 held back, 28 epochs
did as well as 40."""
