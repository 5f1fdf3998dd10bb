"""Binary Neighbor Compression (Zhong et al., Fast classification with binary prototypes, AISTATS 2017).

A sample becomes a code of bits, sign(W·x + c), and is given the class of the nearest of a few binary
prototypes by Hamming distance; W and the prototypes are learnt together (models.bnc_train).

On the device it is a nearest-prototype model behind a linear map whose rounding does the sign: with a shift
beyond any sum and half a step taken off, (sum + half) >> shift is -1 below zero and 0 from zero on, and the
squared distance of such codes is their Hamming distance. A bit of a prototype takes a byte of flash there.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from models import encoding
from models.arithmetic import INT8_REACH, integer_product
from models.bnc_train import Learned, Recipe, learn
from models.device import Array, DeviceModel, InputScale, paper_bytes
from models.errors import BudgetError, InputError
from models.optim import largest
from models.protonn_train import usual_batch, usual_epochs
from models.prototypes_device import IntegerMap, PrototypesInt8
from models.search import Task

MOST_OFFSET = 1 << 27
"""Of c in steps of a row's integers: far beyond any feature, and sums still fit into 32 bits."""
LEAST_WEIGHTS = 3
"""Of a bit: fewer features than these are no projection."""
USUAL_BITS, USUAL_BUDGET = 24, 2048
SHAPES = ((1, 0.3), (2, 0.3), (1.4, 0.15), (0.7, 0.3), (2, 0.15), (1, 0.45), (3, 0.3), (0.5, 0.3), (4, 0.3))
"""Multiples of the usual length of a code, and the prototypes' parts of the budget. On quarters held out of
usps-2, usps-10 and mnist-2 the first three were the best at 2 kB, within 1 % of one another."""


class BNCClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Binary codes and binary prototypes, compared by Hamming distance.

    Parameters
    ----------
    n_bits : length of a code.
    n_prototypes : in even parts of each class, at least one.
    budget : largest flash size in bytes: W loses its smallest weights until it fits. None: W is dense.
    epochs : passes over the data; None: enough for their number.
    learning_rate : the largest of the schedule.
    random_state : seed of the start and of the order of samples.
    verbose : print the loss after each epoch.
    """

    def __init__(
        self,
        n_bits: int = 64,
        n_prototypes: int = 40,
        *,
        budget: int | None = None,
        epochs: int | None = None,
        learning_rate: float = 0.006,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_bits = n_bits
        self.n_prototypes = n_prototypes
        self.budget = budget
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        samples, given = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(given)
        self.classes_, labels = np.unique(given, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("Prototypes need samples of at least two classes; there is only one class.")
        if self.n_bits < 1:
            raise ValueError(f"n_bits must be at least 1, not {self.n_bits!r}")
        seed = check_random_state(self.random_state).randint(2**31)
        self.inputs_ = InputScale.for_data(samples, "int8")
        x = self.inputs_.encode(samples).astype(np.float32)
        unit = max(float(x.std(dtype=np.float64)), 1e-6)
        x /= np.float32(unit)
        room = self._room(samples.shape[1])
        recipe = Recipe(
            epochs=self.epochs or usual_epochs(len(x)),
            batch_size=usual_batch(len(x)),
            learning_rate=self.learning_rate,
            density=_density(room, self.n_bits, samples.shape[1]),
        )
        shape = (self.n_bits, self.n_prototypes)
        learnt = learn(x, labels, shape, recipe, rng=np.random.default_rng(seed), progress=self._progress())
        self._keep(learnt, unit, room)
        return self

    def codes(self, X: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """The bits of each sample (n, n_bits)."""
        check_is_fitted(self)
        samples = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        sums = integer_product(self.inputs_.encode(samples), self.projection_) + self.offsets_
        return np.asarray(sums >= 0)

    def predict(self, X: npt.ArrayLike) -> Array:
        """The classes of the nearest prototypes by Hamming distance, the first of equals."""
        bits = self.codes(X).astype(np.int64)
        shared = integer_product(bits, self.prototypes_)
        distances = bits.sum(axis=1)[:, None] + self.prototypes_.sum(axis=1) - 2 * shared
        return np.asarray(self.prototype_labels_[distances.argmin(axis=1)])

    def to_device(self, numbers: str = "int8") -> DeviceModel:
        """The fitted model for firmware."""
        check_is_fitted(self)
        if numbers != "int8":
            raise InputError(f"Binary prototypes have no firmware for {numbers}.", "Choose int8.")
        reach = np.abs(self.projection_).sum(axis=1) * INT8_REACH + np.abs(self.offsets_)
        shift = max(1, int(reach.max()).bit_length())
        mapping = IntegerMap(self.projection_, self.offsets_ - (1 << (shift - 1)), shift)
        bits, weights = self.prototypes_.size, self.projection_.size
        return PrototypesInt8.from_integers(
            self.prototypes_.astype(np.int64) - 1,
            np.bincount(np.searchsorted(self.classes_, self.prototype_labels_)),
            self.inputs_,
            self.classes_,
            mapping=mapping,
            name="bnc",
            # A bit is a bit, but W is made of numbers; the ProtoNN paper's tables count it in bits as well.
            paper_bytes=paper_bytes(self.projection_) + -(-bits // 8) + 4 * len(self.prototypes_),
            info={
                "n_bits": self.n_bits,
                "n_prototypes": len(self.prototypes_),
                "bytes_at_a_bit_a_parameter": -(-(bits + weights) // 8),
            },
        )

    def _room(self, features: int) -> int | None:
        """The bytes left for W."""
        if self.budget is None:
            return None
        count = max(1, self.n_prototypes // len(self.classes_)) * len(self.classes_)
        size = PrototypesInt8.flash_size(count, len(self.classes_), features, self.n_bits)
        room = self.budget - (size - self.n_bits * features)
        if room < self.n_bits * (2 * LEAST_WEIGHTS + 1):
            raise BudgetError(
                f"{self.n_bits} bits and {count} prototypes leave W {max(room, 0)} of {self.budget} bytes.",
                "Allow more bytes.",
            )
        return room

    def _keep(self, learnt: Learned, unit: float, room: int | None) -> None:
        """The learnt numbers as integers; a sign does not ask for the scale of its row."""
        tops = np.maximum(np.abs(learnt.W).max(axis=1), 1e-12).astype(np.float64)
        W = learnt.W / tops[:, None] * encoding.INT8_WEIGHT
        self.projection_ = _fitting(np.rint(W).astype(np.int64), np.abs(learnt.W), room)
        offsets = np.rint(learnt.c * unit / tops * encoding.INT8_WEIGHT)
        self.offsets_ = np.clip(offsets, -MOST_OFFSET, MOST_OFFSET).astype(np.int64)
        self.prototypes_ = (learnt.codes > 0).astype(np.int64)
        self.prototype_labels_ = self.classes_[learnt.owners]
        self.loss_ = learnt.loss

    def _progress(self) -> Any:
        return (lambda epoch, loss: print(f"bnc: epoch {epoch}, loss {loss:.5f}")) if self.verbose else None

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "projection_")


def _density(room: int | None, bits: int, features: int) -> float:
    """The share of W that fits: all of it, or pairs of gap and value beside a count a row."""
    if room is None or room >= bits * features:
        return 1.0
    return (room - bits) / (2 * bits * features)


def _fitting(W: Array, sizes: Array, room: int | None) -> Array:
    """W without as many of its smallest weights as are too many for the bytes: long gaps take some."""
    kept = int(np.count_nonzero(W))
    while room is not None and (over := encoding.best_bytes(W) - room) > 0:
        kept -= max(1, over // 32)
        W = W * largest(np.where(W != 0, sizes, 0.0), kept)
    return W


def candidates(task: Task, budget: int, effort: str) -> list[dict[str, Any]]:
    """Codes of several lengths, and prototypes that take a part of the budget, or all that W leaves them."""
    steps = {"fast": 1500, "normal": 2500, "best": 5000}[effort]
    epochs = usual_epochs(task.n_samples, steps, most=100)
    found = []
    for times, part in SHAPES:
        bits = max(4, round(USUAL_BITS * times * (budget / USUAL_BUDGET) ** 0.5))
        empty = PrototypesInt8.flash_size(0, task.n_classes, task.n_features, bits)
        wanted = max(int(budget * part), budget - empty, bits * task.n_classes)
        count = min(wanted // bits, task.n_samples // 4) // task.n_classes * task.n_classes
        rest = PrototypesInt8.flash_size(count, task.n_classes, 2 * LEAST_WEIGHTS + 1, bits)
        if count and rest <= budget:
            found.append({"n_bits": bits, "n_prototypes": count, "budget": budget, "epochs": epochs})
    return found
