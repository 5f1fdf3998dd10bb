"""DeviceModel: the contract between training and firmware.

A DeviceModel is named arrays, a few compiled-in constants and the scaling of its inputs. Its `scores`
computes exactly what the firmware's kernel computes, integer by integer (or, for float firmware, float32
operation by operation in the same order), so host and device agree on every sample or one of them has a
defect.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from models.costs import Stage
from models.errors import InputError
from models.inputs import WIRE_TYPES, Array, FloatArray, InputScale

__all__ = ["CONSTANT_BYTES", "WIRE_TYPES", "Array", "DeviceModel", "FloatArray", "InputScale", "paper_bytes"]

CONSTANT_BYTES = 4
"""A compiled-in scale costs about two load-immediates, four bytes."""
MAX_COUNT = 65535
"""Features, classes and scores are counted in 16 bits on the wire and on the device."""


@dataclass(frozen=True, eq=False)
class DeviceModel(ABC):
    """What the firmware is built from. Subclasses are one a family and number format.

    A subclass says what is wrong with its arrays and constants in `check`, which runs however the model came
    to be, built from weights or read from a file.
    """

    family: ClassVar[str]
    """The kernel that runs it: firmware/lib/kernels/<family>.c, or <family>_float.c for float32."""

    numbers: str
    """int8, int16 or float32: see WIRE_TYPES."""
    n_features: int
    classes: tuple[int | str, ...]
    """Labels by device class index."""
    inputs: InputScale
    arrays: Mapping[str, Array]
    """What is stored in flash, in the device's own types and layout; `w` is model_w in C."""
    constants: Mapping[str, int | float] = field(default_factory=dict)
    """Scales and shifts that are compiled in (MODEL_NAME in C); they count as flash bytes all the same."""
    name: str = "model"
    paper_bytes: int = 0
    """The papers' size, see paper_bytes()."""
    info: Mapping[str, Any] = field(default_factory=dict)
    """Where it comes from: dataset, seed, hyper-parameters. Not part of the digest."""

    def __post_init__(self) -> None:
        frozen = {}
        for key, array in self.arrays.items():
            own = np.array(array, order="C")
            own.setflags(write=False)
            frozen[key] = own
        object.__setattr__(self, "classes", tuple(_plain(label) for label in self.classes))
        object.__setattr__(self, "arrays", MappingProxyType(frozen))
        object.__setattr__(self, "constants", MappingProxyType(dict(self.constants)))
        object.__setattr__(self, "info", MappingProxyType(dict(self.info)))
        self._check_common()
        self.check()

    def check(self) -> None:  # noqa: B027 -- a family without limits of its own need not say so
        """Raise InputError, naming the number that is wrong, unless the kernel is safe with this model."""

    @abstractmethod
    def scores(self, encoded: Array) -> Array:
        """The scores of encoded samples (n, n_scores), exactly as the device computes them."""

    def c_sizes(self) -> Mapping[str, int]:
        """The family's sizes and layout switches for model.h; `rows` is MODEL_ROWS in C."""
        return {}

    def stages(self, *, streaming: bool, encoded: Array | None = None) -> list[Stage]:
        """Where a prediction's flash, RAM and cycles go on an AVR; empty if the family cannot tell.

        Where cycles depend on the sample, they are the mean over `encoded` ones; without these, over what
        training has noted as typical, or an estimate.
        """
        return []

    def typical(self, encoded: Array) -> Mapping[str, Any]:
        """What `info` should keep of samples so that `stages` needs none: small, and for JSON."""
        return {}

    def variants(self, *, streaming: bool) -> list[Self]:
        """The same model in every layout that its kernel can read in such firmware; they score alike."""
        return [self]

    def clipped(self, X: npt.ArrayLike) -> int:
        """How many values of X lie beyond the range the model was quantized for; `encode` clips them."""
        return self.inputs.clipped(X)

    @property
    def n_scores(self) -> int:
        """Scores a sample has: one a class, or a single one for two classes."""
        return 1 if self.n_classes == 2 else self.n_classes

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def flash_bytes(self) -> int:
        """Values, indices, tables and scales: what the budget is about."""
        return sum(a.nbytes for a in self.arrays.values()) + CONSTANT_BYTES * len(self.constants)

    @property
    def digest(self) -> bytes:
        """Eight bytes that name this very model; the device says them in HELLO."""
        about = {
            "family": self.family,
            "numbers": self.numbers,
            "features": self.n_features,
            "classes": list(self.classes),
            "constants": dict(self.constants),
        }
        h = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
        for key in sorted(self.arrays):
            array = self.arrays[key]
            h.update(f"{key} {array.dtype.str} {array.shape}".encode())
            h.update(array.tobytes())
        return h.digest()[:8]

    def encode(self, X: npt.ArrayLike) -> Array:
        """What is sent to the device for each row of X."""
        samples = np.asarray(X)
        if samples.ndim != 2 or samples.shape[1] != self.n_features:
            raise InputError(
                f"The data have shape {samples.shape}, but the model takes {self.n_features} features.",
                "Give samples × features of the dataset the model was trained on.",
            )
        return self.inputs.encode(samples)

    def decide(self, scores: Array) -> npt.NDArray[np.int64]:
        """Class indices from scores: above zero is class 1 of two, else the first of the largest."""
        index = scores[:, 0] > 0 if self.n_scores == 1 else np.argmax(scores, axis=1)
        return np.asarray(index, dtype=np.int64)

    def predict_index(self, X: npt.ArrayLike) -> npt.NDArray[np.int64]:
        return self.decide(self.scores(self.encode(X)))

    def predict(self, X: npt.ArrayLike) -> Array:
        return np.asarray(self.classes)[self.predict_index(X)]

    def _check_common(self) -> None:
        if not 1 <= self.n_features <= MAX_COUNT:
            raise InputError(f"{self.n_features} features: the device counts from 1 to {MAX_COUNT}.")
        if not 2 <= self.n_classes <= MAX_COUNT:
            raise InputError(
                f"{self.n_classes} classes: a model tells at least 2 and at most {MAX_COUNT} apart."
            )
        if len(set(self.classes)) != self.n_classes:
            raise InputError(f"The class labels {list(self.classes)} are not all different.")
        if self.inputs.numbers != self.numbers:
            raise InputError(
                f"The inputs are scaled to {self.inputs.numbers}, but the model takes {self.numbers}."
            )
        for name in ("offset", "step"):
            shape = getattr(self.inputs, name).shape
            if shape not in ((), (self.n_features,)):
                raise InputError(
                    f"The input {name} is for {shape[0]} features, but the model has {self.n_features}."
                )


def paper_bytes(*matrices: npt.ArrayLike) -> int:
    """The papers' model size: 4 bytes a parameter, or 8 a non-zero one (value, index) where that is less."""
    sizes = ((m.size, int(np.count_nonzero(m))) for m in map(np.asarray, matrices))
    return sum(min(4 * size, 8 * nonzero) for size, nonzero in sizes)


def _plain(label: Any) -> int | str:
    """A label as Python's own int or str: numpy's scalars cannot go into JSON."""
    value = label.item() if isinstance(label, np.generic) else label
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise InputError(f"The class label {label!r} is neither an integer nor a text.")
    return value
