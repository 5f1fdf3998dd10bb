"""ProtoNN on the device, as integers and as float32.

ProtoNN projects a sample to a few dimensions, compares it with prototypes there, and adds up the prototypes'
class scores, each weighted by its similarity:

    z = W·x     d_j = |z - b_j|²     s_j = exp(-γ²·d_j)     score_c = Σ_j Z_cj·s_j

The kernels are firmware/lib/kernels/protonn.c and protonn_float.c.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from models import costs, costs_protonn, encoding, listing, nibbles
from models.arithmetic import (
    EXP_SIXTEENTHS,
    EXP_TABLE,
    INT8_REACH,
    exp2_negative,
    exp2_table,
    integer_product,
    ordered_product,
    round_shift,
    sum_bytes,
)
from models.device import CONSTANT_BYTES, Array, DeviceModel, InputScale
from models.errors import InputError

Z_LIMIT = 127
"""Projections are clipped to int8, like the prototypes they are compared with."""
MAX_Z_SHIFT = 30
MAX_NARROW_SHIFT = 20
"""Up to here four-bit weights, whose sums are sixteen times what they mean, stay within 32 bits."""
MAX_EXP_SHIFT = 24
"""Such that the distance from which on a similarity is zero, 128 << exp_shift, is within 32 bits."""
MAX_PROJECTIONS = (2**32 - 1) // (2 * Z_LIMIT) ** 2
"""So many squared differences of at most 254 fit into 32 bits without sign."""

JUDGED_BY = 200
"""Samples that tell how many prototypes are near; more tell hardly better."""
TYPICAL = "typical_projections"
"""Under this name `info` has the projections of some training samples."""
NEIGHBOURS = 5
"""Where samples are taken to lie when there are none: amid so many prototypes. A rough rule, found on a few
trained models: it has told cycles 16 % too low for a model of random weights. Samples tell it better."""


@dataclass(frozen=True, eq=False)
class _ProtoNN(DeviceModel):
    """What both number formats share: the three matrices and their shapes."""

    family: ClassVar[str] = "protonn"
    weights: ClassVar[np.dtype[np.generic]]

    @cached_property
    def W(self) -> Array:  # noqa: N802
        """The projection (dimensions × features), out of its layout in flash."""
        return nibbles.decode("w", self.arrays, self.n_features, self.weights)

    @property
    def B(self) -> Array:  # noqa: N802
        """The prototypes (prototypes × dimensions)."""
        return self.arrays["b"]

    @property
    def Z(self) -> Array:  # noqa: N802
        """The class scores of the prototypes (scores × prototypes)."""
        return self.arrays["z"]

    def c_sizes(self) -> Mapping[str, int]:
        prototypes, dimensions = self.B.shape
        layout = nibbles.c_sizes("w", self.arrays, self.weights)
        return {"w_rows": dimensions, "prototypes": prototypes, **layout}

    def check(self) -> None:
        for key in ("b", "z"):
            if key not in self.arrays:
                raise InputError(f"A ProtoNN model needs the array {key!r}.")
            if self.arrays[key].dtype != self.weights or self.arrays[key].ndim != 2:
                raise InputError(f"The array {key!r} is not a matrix of {self.weights}.")
        dimensions, prototypes = self.W.shape[0], self.B.shape[0]
        if self.B.shape[1] != dimensions:
            raise InputError(
                f"W projects to {dimensions} dimensions, but the prototypes have {self.B.shape[1]}."
            )
        if self.Z.shape != (self.n_scores, prototypes):
            raise InputError(
                f"Z has shape {self.Z.shape}, not ({self.n_scores}, {prototypes}): scores × prototypes."
            )


@dataclass(frozen=True, eq=False)
class ProtoNNInt8(_ProtoNN):
    """ProtoNN in integers.

    z_i = clip((Σ_j W_ij·x_j) / 2^z_shift); d_j from the nearest prototype's on; s_j = 255·2^(-u/16) by table,
    u = (d_j - min d) / 2^exp_shift. Subtracting the least distance multiplies all similarities by one
    positive factor: the winner stays, and the nearest prototype always has full precision. Training chooses
    the scale s_z of z such that γ²·log2(e)·16·s_z² is 2^-exp_shift, so that no multiplication is needed.
    """

    weights: ClassVar[np.dtype[np.generic]] = np.dtype(np.int8)

    @classmethod
    def from_integers(  # noqa: PLR0917 -- in the order of the formula
        cls,
        W: npt.ArrayLike,
        B: npt.ArrayLike,
        Z: npt.ArrayLike,
        z_shift: int,
        exp_shift: int,
        inputs: InputScale,
        classes: Iterable[Any],
        *,
        name: str = "protonn",
        info: Mapping[str, Any] | None = None,
        paper_bytes: int = 0,
    ) -> ProtoNNInt8:
        """The model of these integers (all within ±127), W in its smallest layout."""
        w = np.asarray(W)
        return cls(
            numbers="int8",
            n_features=w.shape[-1] if w.ndim == 2 else 0,
            classes=tuple(classes),
            inputs=inputs,
            arrays={
                **encoding.encode("w", _integers("W", w)),
                **encoding.encode("b", _integers("B", B), encoding.Dense8),
                **encoding.encode("z", _integers("Z", Z), encoding.Dense8),
                "exp": EXP_TABLE,
            },
            constants={"z_shift": int(z_shift), "exp_shift": int(exp_shift)},
            name=name,
            info=info or {},
            paper_bytes=paper_bytes,
        )

    @staticmethod
    def flash_size(W: npt.ArrayLike, prototypes: int, scores: int) -> int:
        """flash_bytes of a model with this W, without building it."""
        dimensions = len(np.asarray(W))
        rest = prototypes * (dimensions + scores) + EXP_TABLE.nbytes + 2 * CONSTANT_BYTES
        return encoding.best_bytes(W) + rest

    def check(self) -> None:
        super().check()
        if not np.array_equal(self.arrays.get("exp", ()), EXP_TABLE):
            raise InputError("The table of the exponential is missing or altered.")
        for key, least, most in (("z_shift", 1, MAX_Z_SHIFT), ("exp_shift", 0, MAX_EXP_SHIFT)):
            value = self.constants.get(key)
            if not isinstance(value, int) or not least <= value <= most:
                raise InputError(f"{key} is {value}, not an integer from {least} to {most}.")
        if self.B.shape[1] > MAX_PROJECTIONS:
            raise InputError(
                f"{self.B.shape[1]} dimensions: their squares fit into 32 bits up to {MAX_PROJECTIONS}."
            )
        for key, matrix in (("W", self.W), ("B", self.B), ("Z", self.Z)):
            if matrix.size and int(matrix.min()) < -encoding.INT8_WEIGHT:
                raise InputError(f"{key} holds {int(matrix.min())}, beyond ±{encoding.INT8_WEIGHT}.")
        self._projection_bytes()
        sum_bytes("The score", self.Z, int(EXP_TABLE.max()))

    def c_sizes(self) -> Mapping[str, int]:
        return {**super().c_sizes(), "w_sum_bytes": self._projection_bytes()}

    def _projection_bytes(self) -> int:
        """How wide the sums of W·x and half a step must be; InputError if 32 bits are too few."""
        scale = nibbles.scale_in_sums("w", self.arrays)
        half = 1 << (int(self.constants["z_shift"]) - 1)
        return sum_bytes("The sum of projection row", self.W, scale * INT8_REACH, scale * half)

    def variants(self, *, streaming: bool) -> list[Self]:
        shift = int(self.constants["z_shift"])
        narrow = shift <= MAX_NARROW_SHIFT
        relaid = (nibbles if narrow else encoding).relaid("w", self.arrays, self.W, streaming=streaming)
        return [replace(self, arrays=arrays) for arrays in relaid]

    def stages(self, *, streaming: bool, encoded: Array | None = None) -> list[costs.Stage]:
        prototypes, dimensions = self.B.shape
        exp_shift = int(self.constants["exp_shift"])
        if dimensions > costs_protonn.MOST_DIMENSIONS or exp_shift > costs_protonn.MOST_EXP_SHIFT:
            return []  # distances of 32 bits, which only the compiler's loops have
        guessed = encoded is None and TYPICAL not in self.info
        z = self._likely() if encoded is None else self.projections(encoded[:JUDGED_BY])
        room = listing.room(self.B.shape, self.n_scores, streaming)
        counted = listing.count(z, self.B.astype(np.int64), EXP_SIXTEENTHS << exp_shift, room)
        width = self.c_sizes()["w_sum_bytes"]
        shift = int(self.constants["z_shift"]) + nibbles.scale_in_sums("w", self.arrays).bit_length() - 1
        # The list takes the place of the projection's sums.
        list_bytes = max(0, room.bytes - dimensions * width)
        prototype_stages = [
            costs_protonn.distances((prototypes, dimensions), list_bytes, room.number_bytes, counted),
            costs_protonn.similarities(room.number_bytes, exp_shift, counted),
            costs_protonn.weighted_scores(self.n_scores, prototypes, counted),
        ]
        return [
            nibbles.projection_stage("w", self.arrays, self.W.shape, width, streaming),
            costs.rounding(dimensions, width, shift),
            *(replace(stage, estimated=guessed) for stage in prototype_stages),
            costs.overhead(160),
        ]

    def typical(self, encoded: Array) -> Mapping[str, Any]:
        return {TYPICAL: self.projections(encoded).tolist()}

    def _likely(self) -> npt.NDArray[np.int64]:
        """Where samples lie: as training has noted it, or else, roughly, amid a prototype and its nearest."""
        noted = np.asarray(self.info.get(TYPICAL, ()))
        if noted.ndim == 2 and noted.shape[1] == self.B.shape[1] and noted.dtype.kind == "i":
            return noted.astype(np.int64)
        b = self.B.astype(np.int64)
        nearest = np.argsort(_squared_distances(b, b), axis=1, kind="stable")[:, :NEIGHBOURS]
        return np.asarray(b[nearest].mean(axis=1).astype(np.int64))

    def projections(self, encoded: Array) -> npt.NDArray[np.int64]:
        """z of encoded samples (n, dimensions)."""
        rounded = round_shift(integer_product(encoded, self.W), int(self.constants["z_shift"]))
        return np.clip(rounded, -Z_LIMIT, Z_LIMIT)

    def distances(self, encoded: Array) -> npt.NDArray[np.int64]:
        """Squared distances to the prototypes (n, prototypes)."""
        return _squared_distances(self.projections(encoded), self.B.astype(np.int64))

    def scores(self, encoded: Array) -> Array:
        d = self.distances(encoded)
        beyond = (d - d.min(axis=1, keepdims=True)) >> int(self.constants["exp_shift"])
        return integer_product(exp2_table(beyond), self.Z).astype(np.int32)


@dataclass(frozen=True, eq=False)
class ProtoNNFloat(_ProtoNN):
    """ProtoNN in float32, as the papers' unoptimised firmware: s_j = 2^(-decay·d_j), decay = γ²·log2(e)."""

    weights: ClassVar[np.dtype[np.generic]] = np.dtype("<f4")

    @classmethod
    def from_floats(  # noqa: PLR0917 -- in the order of the formula
        cls,
        W: npt.ArrayLike,
        B: npt.ArrayLike,
        Z: npt.ArrayLike,
        gamma: float,
        inputs: InputScale,
        classes: Iterable[Any],
        *,
        name: str = "protonn",
        info: Mapping[str, Any] | None = None,
        paper_bytes: int = 0,
    ) -> ProtoNNFloat:
        """The model of these floats, W in its smallest layout."""
        w = np.asarray(W, dtype=np.float64)
        return cls(
            numbers="float32",
            n_features=w.shape[-1] if w.ndim == 2 else 0,
            classes=tuple(classes),
            inputs=inputs,
            arrays={
                **encoding.encode("w", w),
                **encoding.encode("b", np.asarray(B, dtype=np.float64), encoding.Dense32),
                **encoding.encode("z", np.asarray(Z, dtype=np.float64), encoding.Dense32),
            },
            constants={"decay": float(np.float32(gamma**2 * np.log2(np.e)))},
            name=name,
            info=info or {},
            paper_bytes=paper_bytes,
        )

    def check(self) -> None:
        super().check()
        for key, matrix in (("W", self.W), ("B", self.B), ("Z", self.Z)):
            if not np.isfinite(matrix).all():
                raise InputError(f"{key} holds NaN or infinite values.")
        decay = self.constants.get("decay")
        if not isinstance(decay, float) or not 0 < decay < np.inf or decay != float(np.float32(decay)):
            raise InputError(
                f"The decay γ²·log2(e) is {decay}, not a positive float32.", "Choose γ within reason."
            )

    def scores(self, encoded: Array) -> Array:
        z = ordered_product(encoded, self.W)
        d = np.zeros((encoded.shape[0], self.B.shape[0]), dtype=np.float32)
        for i in range(self.B.shape[1]):
            difference = z[:, i, None] - self.B[None, :, i]
            d += difference * difference
        similarity = exp2_negative(np.float32(self.constants["decay"]) * d)
        return ordered_product(similarity, self.Z)


def _squared_distances(a: npt.NDArray[np.int64], b: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    squares = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1)
    return np.asarray(squares - 2 * integer_product(a, b), dtype=np.int64)


def _integers(name: str, matrix: npt.ArrayLike) -> Array:
    values = np.asarray(matrix)
    if values.dtype.kind not in "iu":
        raise InputError(f"{name} holds {values.dtype}, not integers.", "Round it first, then convert it.")
    return values
