"""ProtoNN (Gupta et al., ICML 2017) as a scikit-learn classifier.

A sparse projection W to a few dimensions, prototypes B there, and their class scores Z, learnt together:

    score(x) = Σ_j z_j · exp(-γ²·|Wx - b_j|²)

The model is trained for the integers the device computes with; `to_device("int8")` is that model, and
`to_device("float32")` is float firmware of the same shape.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from models import encoding, protonn_init, protonn_math, protonn_train
from models.device import Array, DeviceModel, InputScale, paper_bytes
from models.errors import BudgetError, InputError
from models.optim import largest, one_hot
from models.protonn_device import ProtoNNFloat, ProtoNNInt8


class ProtoNNClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """ProtoNN for two or more classes.

    Parameters
    ----------
    projection_dim : dimensions that a sample is projected to.
    n_prototypes : prototypes of all classes together.
    w_density : share of W's entries that may be non-zero.
    budget : largest flash size of the int8 model in bytes; W is pruned as far as it takes. None: no limit.
    gamma : width of the kernel at the start, as a multiple of what makes neighbouring prototypes overlap.
    epochs, batch_size, learning_rate, weight_decay, label_smoothing : the schedule.
    random_state : seed of everything random.
    verbose : print the loss after each epoch.
    """

    def __init__(
        self,
        projection_dim: int = 10,
        n_prototypes: int = 20,
        *,
        w_density: float = 1.0,
        budget: int | None = None,
        gamma: float = 1.0,
        epochs: int = 60,
        batch_size: int = 128,
        learning_rate: float = 0.01,
        weight_decay: float = 2.0,
        label_smoothing: float = 0.0,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.projection_dim = projection_dim
        self.n_prototypes = n_prototypes
        self.w_density = w_density
        self.budget = budget
        self.gamma = gamma
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.label_smoothing = label_smoothing
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> ProtoNNClassifier:
        samples, given = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(given)
        self.classes_, labels = np.unique(given, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("ProtoNN needs samples of at least two classes; there is only one class.")
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        self.inputs_ = InputScale.for_data(samples, "int8")
        encoded = self.inputs_.encode(samples).astype(np.float32)
        x_unit = 1.0 / max(float(encoded.std()), 1e-6)
        encoded *= np.float32(x_unit)
        start = protonn_init.start(
            encoded,
            labels,
            len(self.classes_),
            dimensions=self.projection_dim,
            prototypes=max(2, self.n_prototypes),
            gamma=self.gamma,
            rng=rng,
        )
        learned = protonn_train.train(
            encoded,
            self._targets(labels),
            start,
            x_unit=x_unit,
            afford=self._afford,
            recipe=protonn_train.Recipe(
                epochs=self.epochs,
                batch_size=self.batch_size,
                learning_rate=self.learning_rate,
                weight_decay=self.weight_decay,
            ),
            rng=rng,
            progress=self._print if self.verbose else None,
        )
        self.n_iter_ = learned.epochs
        self.loss_ = learned.loss
        self.grid_ = learned.grid
        self._params = learned.params
        return self

    def decision_function(self, X: npt.ArrayLike) -> Array:
        """Scores of the float model, up to a positive factor a sample."""
        check_is_fitted(self)
        samples = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        x = (samples - self.inputs_.offset) / self.inputs_.step * self.grid_.x_unit
        found = protonn_math.scores(self._params, x)
        return found[:, 0] if len(self.classes_) == 2 else found

    def predict(self, X: npt.ArrayLike) -> Array:
        """Labels by the float model; the device's own are `to_device().predict(X)`."""
        found = self.decision_function(X)
        chosen = (found > 0).astype(int) if len(self.classes_) == 2 else found.argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    def to_device(self, numbers: str = "int8") -> DeviceModel:
        """The fitted model for firmware: int8 or float32."""
        check_is_fitted(self)
        about: dict[str, Any] = {
            "paper_bytes": paper_bytes(*(self._params[key] for key in "WBZ")),
            "info": self.shape_,
        }
        if numbers == "int8":
            found = self.grid_.integers(self._params)
            return ProtoNNInt8.from_integers(
                found["W"],
                found["B"],
                found["Z"],
                self.grid_.z_shift,
                self.grid_.exp_shift,
                self.inputs_,
                self.classes_,
                **about,
            )
        if numbers == "float32":
            # Float firmware is sent features within ±1 where the integers had ±limit.
            W = self._params["W"] * (self.grid_.x_unit * self.inputs_.limit)
            return ProtoNNFloat.from_floats(
                W, self._params["B"], self._params["Z"], 1.0, self.inputs_.float32(), self.classes_, **about
            )
        raise InputError(f"ProtoNN has no firmware for {numbers}.", "Choose int8 or float32.")

    @property
    def shape_(self) -> dict[str, int]:
        """What was learnt, in numbers: dimensions, prototypes, non-zero weights."""
        m, dimensions = self._params["B"].shape
        return {
            "projection_dim": dimensions,
            "n_prototypes": m,
            "w_nonzero": int(np.count_nonzero(self._params["W"])),
        }

    def _targets(self, labels: npt.NDArray[np.int64]) -> Array:
        smoothing = self.label_smoothing
        if len(self.classes_) == 2:
            return (labels * (1.0 - smoothing) + smoothing / 2).astype(np.float32)[:, None]
        return one_hot(labels, len(self.classes_), smoothing)

    def _afford(self, W: Array) -> int:
        allowed = int(np.ceil(self.w_density * W.size))
        if self.budget is None:
            return allowed
        scores = 1 if len(self.classes_) == 2 else len(self.classes_)
        empty = ProtoNNInt8.flash_size(np.zeros(W.shape, dtype=int), self.n_prototypes, scores)
        spare = self.budget - empty + encoding.best_bytes(np.zeros(W.shape, dtype=int))
        return min(allowed, weights_within(W, spare))

    def _print(self, epoch: int, loss: float) -> None:
        print(f"epoch {epoch}/{self.epochs}: loss {loss:.4f}")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_params")


def weights_within(W: Array, spare: int) -> int:
    """How many of W's largest weights can be stored in so many bytes, in whatever layout is smallest."""
    ones = np.ones(W.shape, dtype=int)
    if encoding.best_bytes(ones) <= spare:
        return int(W.size)
    low, high = 0, W.size
    while low < high:
        middle = (low + high + 1) // 2
        if encoding.best_bytes(ones * largest(W, middle)) <= spare:
            low = middle
        else:
            high = middle - 1
    if low == 0:
        raise BudgetError(
            "The prototypes alone exceed the byte budget.",
            "Take fewer prototypes or dimensions, or more bytes.",
        )
    return low
