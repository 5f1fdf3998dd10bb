"""InputScale: how a raw feature becomes what the device is sent.

The host sends features already quantized, and the device does not scale them: a sensor's driver or its
analogue-to-digital converter delivers integers in the same way, the affine map is then free (it is absorbed
by the training, which sees the same integers), a sample costs one byte a feature on the wire, and the time
that is measured is the model's. A map on the device would cost it a multiplication a feature, and eight bytes
of flash a feature where each has a range of its own.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from models.errors import InputError

Array = npt.NDArray[Any]
FloatArray = npt.NDArray[np.float64]

WIRE_TYPES: dict[str, np.dtype[Any]] = {
    "int8": np.dtype("<i1"),
    "int16": np.dtype("<i2"),
    "float32": np.dtype("<f4"),
}
"""Number formats of a feature on the wire, which also name the firmware's arithmetic."""

FULL_SCALE = {"int8": 127, "int16": 32767, "float32": 127}
"""The largest limit of a format. Float32 has none; with int8's both have the same range by default."""

DEVIATIONS = 4.0
"""Where features have ranges of their own: standard deviations from the mean to the limit."""
SHARED_REACH = 0.5
"""Features share one range if the median feature spans at least this part of the whole range."""


@dataclass(frozen=True, eq=False)
class InputScale:
    """How a raw feature becomes what the device is sent: round((x - offset) / step), clipped to ±limit.

    offset and step are one number each (pixels, which share a range) or one a feature (measurements that do
    not). For float32 the same affine map without rounding or clipping.
    """

    offset: FloatArray
    step: FloatArray
    numbers: str
    limit: int = 127

    def __post_init__(self) -> None:
        if self.numbers not in WIRE_TYPES:
            raise InputError(
                f"There is no number format {self.numbers!r}.", f"Known: {', '.join(WIRE_TYPES)}."
            )
        for name in ("offset", "step"):
            values = np.array(getattr(self, name), dtype=np.float64)
            values.setflags(write=False)
            object.__setattr__(self, name, values)
            if values.ndim > 1 or not np.isfinite(values).all():
                raise InputError(f"The input {name} is not one finite number, or one a feature.")
        if not (self.step > 0).all():
            raise InputError(f"The input step {float(self.step.min())} is not positive.")
        full = FULL_SCALE[self.numbers]
        if not 1 <= self.limit <= full:
            raise InputError(f"The input limit {self.limit} is not from 1 to {full} ({self.numbers}).")

    @classmethod
    def for_data(
        cls, X_train: npt.ArrayLike, numbers: str = "int8", per_feature: bool | None = None
    ) -> InputScale:
        """The scale for data like these.

        Features that share one natural range (pixels) get one offset and step: the whole range goes to the
        whole of ±limit, or, where the raw values are integers of at most 255 levels, each level to an integer
        of its own, so that nothing is lost. Features with ranges of their own are standardised: the mean goes
        to 0, and DEVIATIONS standard deviations to ±limit. `per_feature` overrides the decision.
        """
        X = np.asarray(X_train, dtype=np.float64)
        if X.ndim != 2 or X.size == 0:
            raise InputError(
                f"Data of shape {X.shape} have no range.", "Give samples × features, at least one each."
            )
        if not np.isfinite(X).all():
            raise InputError(
                "The data hold NaN or infinite values.", "Remove or replace those samples first."
            )
        if per_feature is None:
            per_feature = not shares_one_range(X)
        limit = FULL_SCALE.get(numbers, 0)
        if per_feature:
            offset, spread = X.mean(axis=0), DEVIATIONS * X.std(axis=0)
        else:
            low, high = float(X.min()), float(X.max())
            offset, spread = np.asarray((low + high) / 2), np.asarray((high - low) / 2)
            if np.array_equal(X, np.rint(X)) and high - low <= 2 * limit:
                offset = np.floor(offset)
                limit = max(1, int(high - offset))
                spread = np.asarray(float(limit))
        constant = spread <= 1e-12 * np.maximum(1.0, np.abs(offset))
        step = np.where(constant, 1.0, spread / max(limit, 1))
        return cls(offset, step if numbers != "float32" else step * limit, numbers, limit)

    def float32(self) -> InputScale:
        """The same map for float firmware: what was ±limit becomes ±1."""
        if self.numbers == "float32":
            return self
        limit = min(self.limit, FULL_SCALE["float32"])
        return dataclasses.replace(self, step=self.step * self.limit, numbers="float32", limit=limit)

    def encode(self, X: npt.ArrayLike) -> Array:
        """What is sent for each row of X."""
        scaled = self._scaled(X)
        if self.numbers != "float32":
            scaled = np.clip(np.rint(scaled), -self.limit, self.limit)
        return scaled.astype(WIRE_TYPES[self.numbers])

    def clipped(self, X: npt.ArrayLike) -> int:
        """How many values of X lie outside the range the model was quantized for."""
        if self.numbers == "float32":
            return 0
        return int(np.count_nonzero(np.abs(np.rint(self._scaled(X))) > self.limit))

    def _scaled(self, X: npt.ArrayLike) -> FloatArray:
        scaled: FloatArray = (np.asarray(X, dtype=np.float64) - self.offset) / self.step
        if np.isnan(scaled).any():
            raise InputError("The features hold NaN.", "Remove or replace those values first.")
        return scaled


def shares_one_range(X: FloatArray) -> bool:
    """Whether the features are of one kind (pixels), so that one scale serves them all.

    The median decides, not the worst feature: the border pixels of an image hardly vary. Constant features
    have no range and no say.
    """
    reach = np.ptp(X, axis=0)
    reach = reach[reach > 0]
    return reach.size == 0 or bool(np.median(reach) >= SHARED_REACH * np.ptp(X))
