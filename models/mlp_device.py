"""A perceptron with one hidden layer on the device, in integers and as float32.

    h = max(0, W·x + b)     y = O·h'     h' is h and a constant

The kernels are firmware/lib/kernels/mlp.c and mlp_float.c. In integers, exactly (x are the features as sent,
int8; `/ 2^s` rounds to nearest, halves up):

    a_i = Σ_j W_ij·x_j                                      int32
    h_i = a_i / 2^h_shift + b_i, clipped to 0 … 127         int8; b int16; h'_n = 127 is the constant
    y_c = Σ_i O_ci·h'_i                                     int32

W lies dense or as sparse rows, of int8 or of 4 bits (models.nibbles); O dense, of int8 or 4 bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from models import encoding, mlp_costs, nibbles
from models.arithmetic import INT8_REACH, integer_product, ordered_product, round_shift, sum_bytes
from models.bonsai_device import MAX_SHIFT, UNIT, dense
from models.costs import Stage
from models.device import CONSTANT_BYTES, Array, DeviceModel, InputScale
from models.errors import InputError


@dataclass(frozen=True, eq=False)
class _Mlp(DeviceModel):
    """What both number formats share: `w`, `b` and the output weights `out`."""

    family: ClassVar[str] = "mlp"
    weights: ClassVar[np.dtype[np.generic]]

    @property
    def hidden(self) -> int:
        return int(self.arrays["b"].size)

    @cached_property
    def W(self) -> Array:  # noqa: N802
        """The hidden units' weights (hidden × features)."""
        return nibbles.decode("w", self.arrays, self.n_features, self.weights)

    @cached_property
    def O(self) -> Array:  # noqa: N802, E743
        """The outputs' weights (scores × hidden + 1)."""
        return nibbles.decode("out", self.arrays, self.hidden + 1, self.weights)

    def c_sizes(self) -> Mapping[str, int]:
        sizes = {"w_rows": self.hidden}
        for name in ("w", "out"):
            sizes.update(nibbles.c_sizes(name, self.arrays, self.weights))
        return sizes

    def check(self) -> None:
        kind = np.dtype("<f4") if self.numbers == "float32" else np.dtype("<i2")
        b = self.arrays.get("b")
        if b is None or b.dtype != kind or b.ndim != 1:
            raise InputError(f"A perceptron needs the array 'b', a row of {kind}.")
        if self.W.shape[0] != self.hidden:
            raise InputError(f"W has {self.W.shape[0]} rows, but there are {self.hidden} offsets.")
        if self.O.shape[0] != self.n_scores:
            raise InputError(f"There are {self.O.shape[0]} rows of outputs for {self.n_scores} scores.")


@dataclass(frozen=True, eq=False)
class MlpInt8(_Mlp):
    """The perceptron in integers, as the module says."""

    weights: ClassVar[np.dtype[np.generic]] = np.dtype(np.int8)

    @classmethod
    def from_integers(
        cls,
        weights: Mapping[str, npt.ArrayLike],
        inputs: InputScale,
        classes: Iterable[Any],
        *,
        h_shift: int,
        limits: Mapping[str, int] | None = None,
        name: str = "mlp",
        info: Mapping[str, Any] | None = None,
        paper_bytes: int = 0,
    ) -> MlpInt8:
        """The model of these integers W, b, O. Those whose limit is 7 lie in 4 bits."""
        W = np.asarray(weights["W"])
        most = {"W": 127, "O": 127, **(limits or {})}
        return cls(
            numbers="int8",
            n_features=W.shape[1],
            classes=tuple(classes),
            inputs=inputs,
            arrays={
                **encoding.encode("w", W, nibbles.smallest(W, most["W"])),
                **encoding.encode("out", np.asarray(weights["O"]), dense(most["O"])),
                "b": np.asarray(weights["b"]).astype("<i2"),
            },
            constants={"h_shift": int(h_shift)},
            name=name,
            info=info or {},
            paper_bytes=paper_bytes,
        )

    @staticmethod
    def flash_size(W: Array, scores: int, limits: Mapping[str, int]) -> int:
        """flash_bytes of a model whose W has these zeros, without building it."""
        hidden = int(W.shape[0])
        out = dense(limits["O"]).size(np.empty((scores, hidden + 1)))
        return nibbles.flash_bytes(W, limits["W"]) + 2 * hidden + out + CONSTANT_BYTES

    def check(self) -> None:
        super().check()
        shift = self.constants.get("h_shift")
        if not isinstance(shift, int) or not 1 <= shift <= MAX_SHIFT:
            raise InputError(f"h_shift is {shift}, not an integer from 1 to {MAX_SHIFT}.")
        for key, matrix in (("W", self.W), ("O", self.O)):
            if matrix.size and int(matrix.min()) < -encoding.INT8_WEIGHT:
                raise InputError(f"{key} holds {int(matrix.min())}, beyond ±{encoding.INT8_WEIGHT}.")
        self._sum_bytes()
        self._score_bytes()

    def c_sizes(self) -> Mapping[str, int]:
        widths = {"w_sum_bytes": self._sum_bytes(), "node_sum_bytes": self._score_bytes()}
        return {**super().c_sizes(), **widths}

    def variants(self, *, streaming: bool) -> list[Self]:
        relaid = nibbles.relaid("w", self.arrays, self.W, streaming=streaming)
        return [replace(self, arrays=arrays) for arrays in relaid]

    def stages(self, *, streaming: bool, encoded: Array | None = None) -> list[Stage]:
        return mlp_costs.stages(self, streaming=streaming)

    def _score_bytes(self) -> int:
        """How wide scores must be, 3 or 4 bytes; InputError if 32 bits are too few."""
        return max(3, sum_bytes("The score", self.O, nibbles.scale_in_sums("out", self.arrays) * UNIT))

    def _sum_bytes(self) -> int:
        half = 1 << (int(self.constants["h_shift"]) - 1)
        scale = nibbles.scale_in_sums("w", self.arrays)
        return sum_bytes("The sum of hidden unit", self.W, scale * INT8_REACH, scale * half)

    def scores(self, encoded: Array) -> Array:
        sums = round_shift(integer_product(encoded, self.W), int(self.constants["h_shift"]))
        h = np.clip(sums + self.arrays["b"], 0, UNIT)
        h = np.concatenate([h, np.full((h.shape[0], 1), UNIT, dtype=h.dtype)], axis=1)
        return integer_product(h, self.O).astype(np.int32)


@dataclass(frozen=True, eq=False)
class MlpFloat(_Mlp):
    """The perceptron in float32; h is clipped at 1 there too."""

    weights: ClassVar[np.dtype[np.generic]] = np.dtype("<f4")

    @classmethod
    def from_floats(
        cls,
        weights: Mapping[str, npt.ArrayLike],
        inputs: InputScale,
        classes: Iterable[Any],
        *,
        name: str = "mlp",
        info: Mapping[str, Any] | None = None,
        paper_bytes: int = 0,
    ) -> MlpFloat:
        W = np.asarray(weights["W"], dtype=np.float64)
        out = np.asarray(weights["O"], dtype=np.float64)
        return cls(
            numbers="float32",
            n_features=W.shape[1],
            classes=tuple(classes),
            inputs=inputs,
            arrays={
                **encoding.encode("w", W),
                **encoding.encode("out", out, encoding.Dense32),
                "b": np.asarray(weights["b"], dtype="<f4"),
            },
            name=name,
            info=info or {},
            paper_bytes=paper_bytes,
        )

    def scores(self, encoded: Array) -> Array:
        h = np.clip(ordered_product(encoded, self.W) + self.arrays["b"], np.float32(0), np.float32(1))
        h = np.concatenate([h, np.ones((h.shape[0], 1), dtype=np.float32)], axis=1)
        return ordered_product(h, self.O)
