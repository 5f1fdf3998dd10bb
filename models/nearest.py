"""What all nearest-prototype classifiers share: fitting's frame, 1-NN prediction, and the integer model.

Prototypes are learnt in the space of the integers that the device is sent. For features of one kind (pixels)
that is Euclidean space up to a scale, as in the papers; features with ranges of their own are standardised.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from models import hashing
from models.device import Array, DeviceModel, InputScale, paper_bytes
from models.errors import InputError
from models.prototypes_device import IntegerMap, PrototypesInt8

Labels = npt.NDArray[np.int64]

HEADROOM = 2.0
"""How far prototypes may reach, as a multiple of the features' range. On quarters held out of the training
data of usps-10 (NPC) and letter-26 (NPC, SNC), 1 is worse by 0.1 to 0.2 %; 4 has 0.18 % fewer errors on
usps-10 and 0.06 % more on letter-26, for which its coarser steps were not taken."""
SHRINKS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3)
"""Parts of the int8 range for the inputs: learnt prototypes reach beyond the data, and must fit as well."""
REACHES = (1.0, 0.8, 0.6, 0.45, 0.3)
"""With a map: parts of the mapped values' reach that become ±127; what is beyond is clipped."""
Integers = tuple[Array, InputScale, IntegerMap | None]
"""Prototypes, the scale of the inputs that fits them, and the map, if any."""
QUERIES = 1000
"""Training samples that hashing is tuned on."""
CALIBRATION = 5000
"""Training samples that decide on the scale."""


@dataclass(frozen=True)
class Prototypes:
    """What a method learns: points with class indices, in the space that `projection` (if any) maps to."""

    points: Array
    owners: Labels
    projection: Array | None = None

    def sorted(self) -> Prototypes:
        """By class, in the order they had within it."""
        order = np.argsort(self.owners, kind="stable")
        return dataclasses.replace(self, points=self.points[order], owners=self.owners[order])

    def place(self, x: Array) -> Array:
        """Samples in the space of the points."""
        return x if self.projection is None else x @ self.projection.T


class NearestPrototypeClassifier(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """1-NN among learnt prototypes. A method is the subclass that says how they are learnt.

    Fitted: classes_, prototypes_ (in units of `unit_` of the encoded features, mapped by projection_ if that
    is not None) and prototype_labels_; bound_ is the coordinate up to which int8 can follow prototypes.
    """

    search: str = "exhaustive"
    random_state: int | np.random.RandomState | None = None
    verbose: bool = False

    @abstractmethod
    def _learn(self, x: Array, labels: Labels, rng: np.random.Generator) -> Prototypes:
        """Prototypes for encoded samples of unit deviation; every class has at least one."""

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        samples, given = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(given)
        self.classes_, labels = np.unique(given, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("Prototypes need samples of at least two classes; there is only one class.")
        if self.search not in hashing.SEARCHES:
            raise InputError(f"There is no search {self.search!r}.", f"Choose {', '.join(hashing.SEARCHES)}.")
        seed = check_random_state(self.random_state).randint(2**31)
        self.inputs_ = _full_range(InputScale.for_data(samples, "int8"))
        encoded = self.inputs_.encode(samples).astype(np.float32)
        self.unit_ = max(float(encoded.std(dtype=np.float64)), 1e-6)
        encoded /= np.float32(self.unit_)
        self.bound_ = HEADROOM * self.inputs_.limit / self.unit_
        learnt = self._learn(encoded, labels, np.random.default_rng(seed)).sorted()
        self._learnt = learnt
        self.prototypes_, self.projection_ = learnt.points, learnt.projection
        self.prototype_labels_ = self.classes_[learnt.owners]
        some = np.random.default_rng(seed).permutation(len(labels))[:CALIBRATION]
        queries = learnt.place(encoded[some[:QUERIES]])
        self._search = hashing.search(
            self.search,
            learnt.points,
            owners=learnt.owners,
            queries=queries,
            labels=labels[some[:QUERIES]],
            seed=seed,
        )
        self._quantize(samples[some], labels[some])
        return self

    def nearest(self, X: npt.ArrayLike) -> Labels:
        """The index of the nearest prototype of each sample."""
        check_is_fitted(self)
        samples = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        x = self.inputs_.encode(samples).astype(np.float32) / np.float32(self.unit_)
        return self._search.nearest(self._learnt.place(x))

    def predict(self, X: npt.ArrayLike) -> Array:
        """Labels of the nearest prototypes; the device's own are `to_device().predict(X)`."""
        check_is_fitted(self)
        return np.asarray(self.prototype_labels_[self.nearest(X)])

    @property
    def distances_computed(self) -> int:
        """Distances that all predictions so far took."""
        check_is_fitted(self)
        return self._search.distances

    def to_device(self, numbers: str = "int8") -> DeviceModel:
        """The fitted model for firmware."""
        check_is_fitted(self)
        if numbers != "int8":
            raise InputError(f"Prototypes have no firmware for {numbers}.", "Choose int8.")
        return self._build(*self._integers)

    def _quantize(self, samples: Array, labels: Labels) -> None:
        """Choose the scale that predicts the training samples best; of equals the one that distorts least."""
        tries = self._scaled() if self.projection_ is None else self._mapped(samples)
        best = (-1.0, 0.0)
        for integers, distortion in tries:
            accuracy = float(np.mean(self._build(*integers).predict_index(samples) == labels))
            if (accuracy, -distortion) > best:
                best, self._integers = (accuracy, -distortion), integers

    def _scaled(self) -> list[tuple[Integers, float]]:
        """The prototypes on the grid of ever smaller inputs."""
        found: list[tuple[Integers, float]] = []
        for shrink in SHRINKS:
            limit = max(1, round(self.inputs_.limit * shrink))
            part = limit / self.inputs_.limit
            inputs = dataclasses.replace(self.inputs_, step=self.inputs_.step / part, limit=limit)
            points = self.prototypes_ * (self.unit_ * part)
            found.append(((_int8(points), inputs, None), _distortion(points) / part))
        return found

    def _mapped(self, samples: Array) -> list[tuple[Integers, float]]:
        """The prototypes behind an int8 map, which is centred so that its values use both signs."""
        A = np.asarray(self.projection_, dtype=np.float64) / self.unit_
        mapped = self.inputs_.encode(samples).astype(np.float64) @ A.T
        everything = np.concatenate([mapped, self.prototypes_])
        centre = (everything.max(axis=0) + everything.min(axis=0)) / 2
        reach = float(np.abs(everything - centre).max()) or 1.0
        found: list[tuple[Integers, float]] = []
        for part in REACHES:
            scale = 127.0 / (reach * part)
            shift = int(np.clip(np.floor(np.log2(127.0 / max(np.abs(A).max() * scale, 1e-9))), 1, 20))
            W = _int8(A * (scale * 2**shift))
            bias = np.rint(-centre * scale * 2**shift).astype(np.int64)
            points = (self.prototypes_ - centre) * scale
            mapping = IntegerMap(W, bias, shift)
            found.append(((_int8(points), self.inputs_, mapping), _distortion(points) / scale))
        return found

    def _build(self, points: Array, inputs: InputScale, mapping: IntegerMap | None) -> PrototypesInt8:
        matrices = [self.prototypes_] if self.projection_ is None else [self.prototypes_, self.projection_]
        return PrototypesInt8.from_integers(
            points,
            np.bincount(self._learnt.owners, minlength=len(self.classes_)),
            inputs,
            self.classes_,
            mapping=mapping,
            paper_bytes=paper_bytes(*matrices) + 4 * len(self.prototypes_),
            info={"n_prototypes": len(self.prototypes_), "dimensions": self.prototypes_.shape[1]},
        )

    def _after(self, what: str) -> Callable[[int, float], None] | None:
        """What a descent calls after each iteration."""
        return (lambda i, value: print(f"{what}: iteration {i}, loss {value:.5f}")) if self.verbose else None

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_integers")


def class_sample(labels: Labels, count: int, rng: np.random.Generator) -> Labels:
    """Indices of `count` samples drawn in proportion to the classes, at least one of each, class by class."""
    sizes = np.bincount(labels)
    wanted = shares(sizes, count)
    picks = [
        rng.choice(np.flatnonzero(labels == c), size=n, replace=False) for c, n in enumerate(wanted) if n
    ]
    return np.concatenate(picks)


def shares(sizes: npt.NDArray[np.int64], count: int) -> npt.NDArray[np.int64]:
    """`count` shared in proportion to `sizes`: at least one each, none above its size, largest remainders
    first."""
    if count < np.count_nonzero(sizes):
        raise InputError(
            f"{count} prototypes cannot stand for {np.count_nonzero(sizes)} classes.",
            "Allow at least one a class.",
        )
    exact = sizes * (min(count, int(sizes.sum())) / sizes.sum())
    found = np.minimum(np.maximum(np.floor(exact).astype(np.int64), sizes > 0), sizes)
    while (left := min(count, int(sizes.sum())) - int(found.sum())) != 0:
        need = exact - found
        if left > 0:
            found[np.argmax(np.where(found < sizes, need, -np.inf))] += 1
        else:
            found[np.argmin(np.where(found > 1, need, np.inf))] -= 1
    return np.asarray(found, dtype=np.int64)


def _full_range(inputs: InputScale) -> InputScale:
    """The same map with integers up to near ±127: prototypes lie between the levels of coarse features."""
    times = max(1, 127 // inputs.limit)
    return dataclasses.replace(inputs, step=inputs.step / times, limit=inputs.limit * times)


def _distortion(points: Array) -> float:
    """How far int8 coordinates are from those of the points, root mean square."""
    return float(np.sqrt(np.mean(np.square(_int8(points) - points))))


def _int8(values: Array) -> Array:
    return np.clip(np.rint(values), -127, 127).astype(np.int64)
