"""Linear classifiers on the device: score_c = Σ_j W_cj·x_j + bias_c, as integers and as float32.

One scale serves all classes, so that their scores can be compared without any further multiplication. Two
classes need one row. The kernels are firmware/lib/kernels/linear.c and linear_float.c.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from models import costs, encoding
from models.arithmetic import INT8_REACH, INT32_MAX, integer_product, ordered_product, sum_bytes
from models.device import Array, DeviceModel, InputScale
from models.errors import InputError


@dataclass(frozen=True, eq=False)
class _Linear(DeviceModel):
    """What both number formats share."""

    family: ClassVar[str] = "linear"
    weights: ClassVar[np.dtype[np.generic]]
    bias_type: ClassVar[np.dtype[np.generic]]

    @cached_property
    def W(self) -> Array:  # noqa: N802
        """The weights (scores × features), out of their layout in flash."""
        return encoding.decode("w", self.arrays, self.n_features, self.weights)

    def c_sizes(self) -> Mapping[str, int]:
        return {"w_rows": self.n_scores, **encoding.c_sizes("w", self.arrays, self.weights)}

    def check(self) -> None:
        if self.W.shape[0] != self.n_scores:
            raise InputError(
                f"W has {self.W.shape[0]} rows, but {self.n_classes} classes need {self.n_scores}."
            )
        bias = self.arrays.get("bias")
        if bias is None or bias.dtype != self.bias_type or bias.shape != (self.n_scores,):
            raise InputError(f"The bias is not {self.n_scores} numbers of {self.bias_type}.")


@dataclass(frozen=True, eq=False)
class LinearInt8(_Linear):
    """int8 weights and features, int32 biases and scores."""

    weights: ClassVar[np.dtype[np.generic]] = np.dtype(np.int8)
    bias_type: ClassVar[np.dtype[np.generic]] = np.dtype("<i4")

    @classmethod
    def from_integers(
        cls,
        W: npt.ArrayLike,
        bias: npt.ArrayLike,
        inputs: InputScale,
        classes: Iterable[Any],
        *,
        name: str = "linear",
        info: Mapping[str, Any] | None = None,
        paper_bytes: int = 0,
    ) -> LinearInt8:
        """The model of these integers (W within ±127), W in its smallest layout."""
        w, b = np.asarray(W), np.asarray(bias)
        for key, values in (("W", w), ("bias", b)):
            if values.dtype.kind not in "iu":
                raise InputError(
                    f"{key} holds {values.dtype}, not integers.", "Round it first, then convert it."
                )
        if b.size and int(np.abs(b.astype(np.int64)).max()) > INT32_MAX:
            raise InputError(f"The bias {int(np.abs(b.astype(np.int64)).max())} is beyond 32 bits.")
        return cls(
            numbers="int8",
            n_features=w.shape[-1] if w.ndim == 2 else 0,
            classes=tuple(classes),
            inputs=inputs,
            arrays={**encoding.encode("w", w), "bias": b.astype("<i4")},
            name=name,
            info=info or {},
            paper_bytes=paper_bytes,
        )

    @staticmethod
    def flash_size(W: npt.ArrayLike) -> int:
        """flash_bytes of a model with this W, without building it."""
        return encoding.best_bytes(W) + 4 * len(np.asarray(W))

    def check(self) -> None:
        super().check()
        if self.W.size and int(self.W.min()) < -encoding.INT8_WEIGHT:
            raise InputError(f"W holds {int(self.W.min())}, beyond ±{encoding.INT8_WEIGHT}.")
        sum_bytes("The score", self.W, INT8_REACH, self.arrays["bias"])

    def c_sizes(self) -> Mapping[str, int]:
        return {**super().c_sizes(), "w_sum_bytes": sum_bytes("The sum", self.W, INT8_REACH)}

    def variants(self, *, streaming: bool) -> list[Self]:
        relaid = encoding.relaid("w", self.arrays, self.W, streaming=streaming)
        return [replace(self, arrays=arrays) for arrays in relaid]

    def stages(self, *, streaming: bool, encoded: Array | None = None) -> list[costs.Stage]:
        sums = encoding.projection_stage(
            "w", self.arrays, self.W.shape, self.c_sizes()["w_sum_bytes"], streaming
        )
        return [sums, costs.biased_scores(self.n_scores), costs.overhead(60)]

    def scores(self, encoded: Array) -> Array:
        return (integer_product(encoded, self.W) + self.arrays["bias"]).astype(np.int32)


@dataclass(frozen=True, eq=False)
class LinearFloat(_Linear):
    """Everything in float32: the sum in the order of the features, then the bias."""

    weights: ClassVar[np.dtype[np.generic]] = np.dtype("<f4")
    bias_type: ClassVar[np.dtype[np.generic]] = np.dtype("<f4")

    @classmethod
    def from_floats(
        cls,
        W: npt.ArrayLike,
        bias: npt.ArrayLike,
        inputs: InputScale,
        classes: Iterable[Any],
        *,
        name: str = "linear",
        info: Mapping[str, Any] | None = None,
        paper_bytes: int = 0,
    ) -> LinearFloat:
        """The model of these floats, W in its smallest layout."""
        w = np.asarray(W, dtype=np.float64)
        return cls(
            numbers="float32",
            n_features=w.shape[-1] if w.ndim == 2 else 0,
            classes=tuple(classes),
            inputs=inputs,
            arrays={**encoding.encode("w", w), "bias": np.asarray(bias, dtype="<f4")},
            name=name,
            info=info or {},
            paper_bytes=paper_bytes,
        )

    def check(self) -> None:
        super().check()
        for key, values in (("W", self.W), ("bias", self.arrays["bias"])):
            if not np.isfinite(values).all():
                raise InputError(f"{key} holds NaN, or values beyond float32.")

    def scores(self, encoded: Array) -> Array:
        return ordered_product(encoded, self.W) + self.arrays["bias"]
