"""Nearest-prototype classifiers on the device, in integers: SNC, NPC, k-means and the like.

    d_j = |x - b_j|²   or, with a learnt linear map,   z = A·x + a,   d_j = |z - b_j|²
    class of the nearest prototype, the first of equals

The kernel is firmware/lib/kernels/prototypes.c. The prototypes lie sorted by class, so that a count a class
stands for all their labels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from models import encoding, prototypes_costs
from models.arithmetic import INT8_REACH, INT32_MAX, integer_product, round_shift, sum_bytes
from models.costs import Stage
from models.device import CONSTANT_BYTES, Array, DeviceModel, InputScale
from models.errors import InputError

Z_LIMIT = 127
MAX_SHIFT = 30
SPAN = INT8_REACH + Z_LIMIT
"""The largest difference of a feature and a prototype's coordinate; it fits 8 bits without sign."""


@dataclass(frozen=True)
class IntegerMap:
    """z_i = clip((Σ_j W_ij·x_j + bias_i) / 2^shift, ±127), rounded to nearest: W int8, bias int32."""

    W: Array
    bias: Array
    shift: int

    def __call__(self, encoded: Array) -> npt.NDArray[np.int64]:
        total = integer_product(encoded, self.W) + self.bias.astype(np.int64)
        return np.clip(round_shift(total, self.shift), -Z_LIMIT, Z_LIMIT)


@dataclass(frozen=True, eq=False)
class PrototypesInt8(DeviceModel):
    """int8 features and prototypes, squared distances in 32 bits.

    Scores: -min d_j over the prototypes of a class, so that the largest score is the nearest prototype's
    class, and of equals the first class. Two classes have one score, the nearest of class 0 less the nearest
    of class 1. Arrays: b (prototypes × dimensions), counts (prototypes a class, sorted by class), and with a
    map w, w_bias and the constant z_shift.
    """

    family: ClassVar[str] = "prototypes"

    @classmethod
    def from_integers(
        cls,
        B: npt.ArrayLike,
        counts: npt.ArrayLike,
        inputs: InputScale,
        classes: Iterable[Any],
        *,
        mapping: IntegerMap | None = None,
        name: str = "prototypes",
        info: Mapping[str, Any] | None = None,
        paper_bytes: int = 0,
    ) -> PrototypesInt8:
        """The model of these integers (within ±127), the map's W in its smallest layout."""
        b, own = np.asarray(B), np.asarray(counts)
        if own.size and not 0 < int(own.min()) <= int(own.max()) <= 65535:
            raise InputError(
                f"A class has {int(own.min())} prototypes and another {int(own.max())}.",
                "Give each class at least one and at most 65535.",
            )
        arrays = {
            **encoding.encode("b", b, encoding.Dense8),
            "counts": own.astype(np.uint8 if own.size and own.max() <= 255 else "<u2"),
        }
        constants = {}
        if mapping is not None:
            arrays |= {**encoding.encode("w", mapping.W), "w_bias": mapping.bias.astype("<i4")}
            constants["z_shift"] = int(mapping.shift)
        return cls(
            numbers="int8",
            n_features=b.shape[1] if mapping is None else mapping.W.shape[1],
            classes=tuple(classes),
            inputs=inputs,
            arrays=arrays,
            constants=constants,
            name=name,
            info=info or {},
            paper_bytes=paper_bytes,
        )

    @staticmethod
    def flash_size(prototypes: int, classes: int, features: int, map_rows: int = 0) -> int:
        """flash_bytes with so many prototypes (in even parts) and a dense map, without building it."""
        count_bytes = 1 if -(-prototypes // classes) <= 255 else 2
        size = prototypes * (map_rows or features) + count_bytes * classes
        return size + (map_rows * (features + 4) + CONSTANT_BYTES if map_rows else 0)

    @property
    def B(self) -> Array:  # noqa: N802
        """The prototypes (prototypes × dimensions)."""
        return self.arrays["b"]

    @property
    def mapped(self) -> bool:
        return "w_bias" in self.arrays

    @cached_property
    def mapping(self) -> IntegerMap:
        """The linear map; only where `mapped`."""
        W = encoding.decode("w", self.arrays, self.n_features, np.int8)
        return IntegerMap(W, self.arrays["w_bias"], int(self.constants["z_shift"]))

    def c_sizes(self) -> Mapping[str, int]:
        prototypes, dimensions = self.B.shape
        sizes = {"prototypes": prototypes, "dimensions": dimensions}
        sizes["count_bytes"] = self.arrays["counts"].dtype.itemsize
        if self.mapped:
            sizes |= {"w_rows": dimensions, "w_sum_bytes": self._sum_bytes()}
            sizes |= encoding.c_sizes("w", self.arrays, np.int8)
        return sizes

    def check(self) -> None:
        for key, kinds in (("b", ("|i1",)), ("counts", ("|u1", "<u2"))):
            if key not in self.arrays or self.arrays[key].dtype.str not in kinds:
                raise InputError(f"A prototype model needs the array {key!r} of {' or '.join(kinds)}.")
        counts = self.arrays["counts"]
        if counts.shape != (self.n_classes,) or self.B.ndim != 2:
            raise InputError(
                f"There are {counts.size} counts for {self.n_classes} classes, "
                f"and the prototypes have shape {self.B.shape}."
            )
        if int(counts.min()) < 1 or int(counts.sum()) != len(self.B):
            raise InputError(
                f"The counts {counts.tolist()} do not share {len(self.B)} prototypes among the classes."
            )
        if self.B.size and int(self.B.min()) < -encoding.INT8_WEIGHT:
            raise InputError(f"A prototype holds {int(self.B.min())}, beyond ±{encoding.INT8_WEIGHT}.")
        dimensions = self.B.shape[1]
        if dimensions * SPAN**2 > INT32_MAX:
            raise InputError(
                f"{dimensions} dimensions: their squares fit into 31 bits up to {INT32_MAX // SPAN**2}."
            )
        if self.mapped:
            self._check_map()
        elif dimensions != self.n_features:
            raise InputError(f"The prototypes have {dimensions} of the {self.n_features} features.")

    def _check_map(self) -> None:
        shift = self.constants.get("z_shift")
        if not isinstance(shift, int) or not 1 <= shift <= MAX_SHIFT:
            raise InputError(f"z_shift is {shift}, not an integer from 1 to {MAX_SHIFT}.")
        rows, bias = len(self.mapping.W), self.mapping.bias
        if rows != self.B.shape[1] or bias.shape != (rows,) or bias.dtype.str != "<i4":
            raise InputError(
                f"The map has {rows} rows and {bias.size} biases, "
                f"but the prototypes have {self.B.shape[1]} dimensions."
            )
        self._sum_bytes()

    def _sum_bytes(self) -> int:
        """The width of the map's sums, with their bias and what rounding adds."""
        extra = np.abs(self.mapping.bias.astype(np.int64)) + (1 << (self.mapping.shift - 1))
        return sum_bytes("The sum of map row", self.mapping.W, INT8_REACH, extra)

    def stages(self, *, streaming: bool, encoded: Array | None = None) -> list[Stage]:
        return prototypes_costs.stages(self, streaming=streaming, encoded=encoded)

    def variants(self, *, streaming: bool) -> list[Self]:
        if not self.mapped:
            return [self]
        relaid = encoding.relaid("w", self.arrays, self.mapping.W, streaming=streaming)
        return [replace(self, arrays=arrays) for arrays in relaid]

    def typical(self, encoded: Array) -> Mapping[str, Any]:
        return {prototypes_costs.TYPICAL: prototypes_costs.rounds(self, self.coordinates(encoded))}

    def coordinates(self, encoded: Array) -> npt.NDArray[np.int64]:
        """What the prototypes are compared with: the features, or what the map makes of them."""
        return self.mapping(encoded) if self.mapped else encoded.astype(np.int64)

    def distances(self, encoded: Array) -> npt.NDArray[np.int64]:
        """Squared distances to the prototypes (n, prototypes)."""
        z = self.coordinates(encoded)
        b = self.B.astype(np.int64)
        squares = (z**2).sum(axis=1)[:, None] + (b**2).sum(axis=1)
        return np.asarray(squares - 2 * integer_product(z, b), dtype=np.int64)

    def scores(self, encoded: Array) -> Array:
        starts = np.cumsum(self.arrays["counts"], dtype=np.int64) - self.arrays["counts"]
        least = np.minimum.reduceat(self.distances(encoded), starts, axis=1)
        if self.n_scores == 1:
            return (least[:, :1] - least[:, 1:]).astype(np.int32)
        return (-least).astype(np.int32)
