"""DeviceModel: the contract between training and firmware.

A DeviceModel is named arrays, a few compiled-in constants and the scaling of its inputs. Its `scores` computes
exactly what the firmware's kernel computes, integer by integer (or, for float firmware, float32 operation by
operation in the same order), so host and device agree on every sample or one of them has a defect.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
FloatArray = npt.NDArray[np.float64]

WIRE_TYPES = {"int8": np.dtype("<i1"), "int16": np.dtype("<i2"), "float32": np.dtype("<f4")}
"""Number formats of a feature on the wire, which also name the firmware's arithmetic."""


@dataclass(frozen=True)
class InputScale:
    """How a raw feature becomes what the device is sent: round((x - offset) / step), clipped to ±limit.

    offset and step are one number each (pixels, which share a range) or one a feature (measurements that do
    not). Done by the host, as a sensor driver would; the device sees integers only. For float32 the same
    affine map without rounding or clipping.
    """

    offset: FloatArray
    step: FloatArray
    numbers: str
    limit: int = 127

    def encode(self, X: npt.ArrayLike) -> Array:
        scaled = (np.asarray(X, dtype=np.float64) - self.offset) / self.step
        if self.numbers != "float32":
            scaled = np.clip(np.rint(scaled), -self.limit, self.limit)
        return scaled.astype(WIRE_TYPES[self.numbers])

    def clipped(self, X: npt.ArrayLike) -> int:
        """How many values of X lie outside the range the model was quantized for."""
        if self.numbers == "float32":
            return 0
        scaled = np.rint((np.asarray(X, dtype=np.float64) - self.offset) / self.step)
        return int(np.count_nonzero(np.abs(scaled) > self.limit))


@dataclass(frozen=True)
class DeviceModel(ABC):
    """What the firmware is built from. Subclasses are one a family and number format."""

    family: ClassVar[str]
    """The kernel that runs it: firmware/lib/kernels/<family>.c."""

    numbers: str
    """int8, int16 or float32: see WIRE_TYPES."""
    n_features: int
    classes: tuple[int | str, ...]
    """Labels by device class index."""
    inputs: InputScale
    arrays: Mapping[str, Array]
    """What is stored in flash, in the device's own types and layout."""
    constants: Mapping[str, int | float] = field(default_factory=dict)
    """Scales and shifts that are compiled in; they count as flash bytes all the same."""
    name: str = "model"
    paper_bytes: int = 0
    """The papers' size: 4 bytes a parameter, and 4 more for the index of a sparse one."""
    info: Mapping[str, Any] = field(default_factory=dict)
    """Where it comes from: dataset, seed, hyper-parameters. Not part of the digest."""

    @abstractmethod
    def scores(self, encoded: Array) -> Array:
        """The scores of encoded samples (n, n_scores), exactly as the device computes them."""

    @abstractmethod
    def c_definitions(self) -> str:
        """The family's part of model.h: sizes, constants and arrays."""

    @property
    @abstractmethod
    def n_scores(self) -> int:
        """Scores a sample has: one a class, or a single one for two classes."""

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
            array = np.ascontiguousarray(self.arrays[key])
            h.update(f"{key} {array.dtype.str} {array.shape}".encode())
            h.update(array.tobytes())
        return h.digest()[:8]

    def encode(self, X: npt.ArrayLike) -> Array:
        """What is sent to the device for each row of X."""
        return self.inputs.encode(X)

    def decide(self, scores: Array) -> npt.NDArray[np.int64]:
        """Class indices from scores: above zero is class 1 of two, else the first of the largest."""
        if self.n_scores == 1:
            return (scores[:, 0] > 0).astype(np.int64)
        return np.argmax(scores, axis=1).astype(np.int64)

    def predict_index(self, X: npt.ArrayLike) -> npt.NDArray[np.int64]:
        return self.decide(self.scores(self.encode(X)))

    def predict(self, X: npt.ArrayLike) -> Array:
        return np.asarray(self.classes)[self.predict_index(X)]


CONSTANT_BYTES = 4
"""A compiled-in scale costs about two load-immediates, four bytes."""
