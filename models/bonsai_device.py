"""Bonsai on the device, in integers and as float32.

    z = Z·x + b        y(x) = Σ_k W_k·z' ∘ tanh(V_k·z')   over the nodes k on the path of x

z' is z and a constant. From node k the path goes on to 2k+2 if T_k·z' > 0, else to 2k+1. The kernels are
firmware/lib/kernels/bonsai.c and bonsai_float.c.

In integers, exactly (x are the features as sent, int8; `/ 2^s` rounds to nearest, halves up, if s > 0):

    a_i  = Σ_j Z_ij·x_j                                          int32
    z_i  = clip(a_i / 2^z_shift + b_i) to ±127                   int8; b int16; z'_d = 127 is the constant
    p_kc = (Σ_i W_kci·z'_i) / 2^w_shift                          sum int32, p int16 (w_shift makes it fit)
    t_kc = clip((Σ_i V_kci·z'_i) / 2^v_shift) to ±127            tanh(x) ≈ x within ±1, 127 being 1
    y_c  = Σ_k p_kc·t_kc                                         int32
    right of node k if Σ_i T_ki·z'_i > 0                         int32

Z lies dense or as sparse rows, of int8 or, where training made all its weights that small, of 4 bits
(models.nibbles); W, V and T dense, of int8 or 4 bits. Only the nodes on the path are computed: it takes
(2·scores·(depth + 1) + depth)·(dimensions + 1) multiplications on the tree, however many nodes it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from models import costs, costs_nodes, encoding, nibbles
from models.arithmetic import INT8_REACH, INT32_MAX, integer_product, ordered_product, round_shift, sum_bytes
from models.device import CONSTANT_BYTES, Array, DeviceModel, InputScale
from models.errors import InputError

UNIT = 127
"""The integer that stands for 1 in z' and in t; also where z is clipped."""
INT16_MAX = 32767
MAX_SHIFT = 30
CONSTANTS = ("z_shift", "w_shift", "v_shift")
WEIGHTS = ("Z", "b", "W", "V", "T")
TREE = {"W": "predictors", "V": "gates", "T": "branches"}
"""The names of the tree's arrays; Z is `w`, as every first matrix, and b is `b`."""


@dataclass(frozen=True, eq=False)
class _Bonsai(DeviceModel):
    """What both number formats share: the projection (`w`), its offsets (`b`), and the tree."""

    family: ClassVar[str] = "bonsai"
    weights: ClassVar[np.dtype[np.generic]]

    @property
    def dimensions(self) -> int:
        return int(self.arrays["b"].size)

    @cached_property
    def Z(self) -> Array:  # noqa: N802
        """The projection (dimensions × features), out of its layout in flash."""
        return self._matrix("w", self.n_features)

    @cached_property
    def W(self) -> Array:  # noqa: N802
        """The predictors (nodes · scores × dimensions + 1), node after node."""
        return self._matrix("predictors", self.dimensions + 1)

    @cached_property
    def V(self) -> Array:  # noqa: N802
        """The gates, of the predictors' shape."""
        return self._matrix("gates", self.dimensions + 1)

    @cached_property
    def T(self) -> Array:  # noqa: N802
        """The branches (nodes with children × dimensions + 1)."""
        if self.depth == 0:
            return np.zeros((0, self.dimensions + 1), dtype=self.W.dtype)
        return self._matrix("branches", self.dimensions + 1)

    @property
    def depth(self) -> int:
        return int(self.W.shape[0] // self.n_scores + 1).bit_length() - 2

    def _matrix(self, name: str, columns: int) -> Array:
        return nibbles.decode(name, self.arrays, columns, self.weights)

    def c_sizes(self) -> Mapping[str, int]:
        sizes = {"w_rows": self.dimensions, "depth": self.depth}
        for name in ("w", *(name for name in TREE.values() if self.depth or name != "branches")):
            sizes.update(nibbles.c_sizes(name, self.arrays, self.weights))
        return sizes

    def check(self) -> None:
        kind = np.dtype("<f4") if self.numbers == "float32" else np.dtype("<i2")
        b = self.arrays.get("b")
        if b is None or b.dtype != kind or b.ndim != 1:
            raise InputError(f"A Bonsai model needs the array 'b', a row of {kind}.")
        if self.Z.shape[0] != self.dimensions:
            raise InputError(f"Z has {self.Z.shape[0]} rows, but there are {self.dimensions} offsets.")
        rows = self.W.shape[0]
        nodes = rows // self.n_scores
        if rows % self.n_scores or nodes & (nodes + 1) or nodes == 0:
            raise InputError(f"W has {rows} rows, not a full tree's with {self.n_scores} scores a node.")
        if self.V.shape != self.W.shape:
            raise InputError(f"V has shape {self.V.shape}, not that of W, {self.W.shape}.")
        if self.T.shape[0] != nodes // 2:
            raise InputError(f"There are {self.T.shape[0]} branches, not {nodes // 2} for {nodes} nodes.")

    def path(self, turns: npt.NDArray[np.bool_]) -> list[npt.NDArray[np.int64]]:
        """The nodes of each sample, from the root down, from the branches (n, branches) that go right."""
        node = np.zeros(turns.shape[0], dtype=np.int64)
        nodes = [node]
        for _ in range(self.depth):
            node = 2 * node + 1 + turns[np.arange(node.size), node]
            nodes.append(node)
        return nodes


@dataclass(frozen=True, eq=False)
class BonsaiInt8(_Bonsai):
    """Bonsai in integers, as the module says."""

    weights: ClassVar[np.dtype[np.generic]] = np.dtype(np.int8)

    @classmethod
    def from_integers(
        cls,
        weights: Mapping[str, npt.ArrayLike],
        inputs: InputScale,
        classes: Iterable[Any],
        *,
        z_shift: int,
        v_shift: int,
        limits: Mapping[str, int] | None = None,
        name: str = "bonsai",
        info: Mapping[str, Any] | None = None,
        paper_bytes: int = 0,
    ) -> BonsaiInt8:
        """The model of these integers Z, b, W, V, T. Those whose limit is 7 lie in 4 bits."""
        Z = np.asarray(weights["Z"])
        most = {"Z": 127, "W": 127, "V": 127, "T": 127, **(limits or {})}
        arrays = encoding.encode("w", Z, nibbles.smallest(Z, most["Z"]))
        for key, array in TREE.items():
            matrix = np.asarray(weights[key])
            if matrix.size:
                arrays.update(encoding.encode(array, matrix, dense(most[key])))
        return cls(
            numbers="int8",
            n_features=Z.shape[1],
            classes=tuple(classes),
            inputs=inputs,
            arrays={**arrays, "b": np.asarray(weights["b"]).astype("<i2")},
            constants={
                "z_shift": int(z_shift),
                "w_shift": narrowing(np.asarray(weights["W"])),
                "v_shift": int(v_shift),
            },
            name=name,
            info=info or {},
            paper_bytes=paper_bytes,
        )

    @staticmethod
    def flash_size(Z: Array, rows: int, branches: int, limits: Mapping[str, int]) -> int:
        """flash_bytes of a model whose Z has these zeros, without building it; rows are those of W."""
        dimensions = int(Z.shape[0])
        shapes = {"W": rows, "V": rows, "T": branches}
        tree = sum(dense(limits[key]).size(np.empty((n, dimensions + 1))) for key, n in shapes.items())
        return nibbles.flash_bytes(Z, limits["Z"]) + 2 * dimensions + tree + CONSTANT_BYTES * len(CONSTANTS)

    def check(self) -> None:
        super().check()
        for key, least in zip(CONSTANTS, (1, 0, 0), strict=True):
            value = self.constants.get(key)
            if not isinstance(value, int) or not least <= value <= MAX_SHIFT:
                raise InputError(f"{key} is {value}, not an integer from {least} to {MAX_SHIFT}.")
        for key, matrix in (("Z", self.Z), ("W", self.W), ("V", self.V), ("T", self.T)):
            if matrix.size and int(matrix.min()) < -encoding.INT8_WEIGHT:
                raise InputError(f"{key} holds {int(matrix.min())}, beyond ±{encoding.INT8_WEIGHT}.")
        self._projection_bytes()
        if self.constants["w_shift"] != narrowing(self.W):
            raise InputError(
                f"w_shift is {self.constants['w_shift']}, but these weights need {narrowing(self.W)}."
            )
        self._node_bytes()
        score = (self.depth + 1) * INT16_MAX * UNIT
        if score > INT32_MAX:
            raise InputError(f"A tree of depth {self.depth} has scores up to {score}, beyond 32 bits.")

    def c_sizes(self) -> Mapping[str, int]:
        widths = {"w_sum_bytes": self._projection_bytes(), "node_sum_bytes": self._node_bytes()}
        return {**super().c_sizes(), **widths}

    def _node_bytes(self) -> int:
        """How wide the sums of a node must be, 3 or 4 bytes; InputError if 32 bits are too few."""
        widest = 3
        for key, matrix, shift in (("W", self.W, "w_shift"), ("V", self.V, "v_shift"), ("T", self.T, "")):
            if not matrix.size:
                continue
            scale = nibbles.scale_in_sums(TREE[key], self.arrays)
            half = scale * (1 << int(self.constants[shift]) >> 1) if shift else 0
            widest = max(widest, sum_bytes(f"The sum of {key}'s row", matrix, scale * UNIT, half))
        return widest

    def _projection_bytes(self) -> int:
        """How wide the sums of Z·x must be; InputError if 32 bits are too few."""
        half = 1 << (int(self.constants["z_shift"]) - 1)
        scale = nibbles.scale_in_sums("w", self.arrays)
        return sum_bytes("The sum of projection row", self.Z, scale * INT8_REACH, scale * half)

    def variants(self, *, streaming: bool) -> list[Self]:
        relaid = nibbles.relaid("w", self.arrays, self.Z, streaming=streaming)
        return [replace(self, arrays=arrays) for arrays in relaid]

    def stages(self, *, streaming: bool, encoded: Array | None = None) -> list[costs.Stage]:
        sizes = self.c_sizes()
        rows = {
            name: costs_nodes.Rows(
                columns=self.dimensions + 1,
                packed=nibbles.scale_in_sums(name, self.arrays) > 1,
                sum_bytes=sizes["node_sum_bytes"],
                shift=self._shift(name, key),
                flash_bytes=sum(
                    self.arrays[name + part].nbytes for part in nibbles.layout_of(name, self.arrays).parts
                ),
            )
            for name, key in (("predictors", "w_shift"), ("gates", "v_shift"), ("branches", ""))
            if self.depth or name != "branches"
        }
        both = rows["predictors"], rows["gates"]
        return [
            nibbles.projection_stage("w", self.arrays, self.Z.shape, sizes["w_sum_bytes"], streaming),
            costs_nodes.offset_rounding(self.dimensions, sizes["w_sum_bytes"], self._shift("w", "z_shift")),
            costs_nodes.gated_scores(self.depth + 1, self.n_scores, both),
            *([costs_nodes.branching(self.depth, rows["branches"])] if self.depth else []),
            costs.overhead(120),
        ]

    def _shift(self, name: str, key: str) -> int:
        """By how much the kernel shifts a matrix's sums."""
        scale = nibbles.scale_in_sums(name, self.arrays)
        return int(self.constants[key]) + scale.bit_length() - 1 if key else 0

    def projections(self, encoded: Array) -> npt.NDArray[np.int64]:
        """z' of encoded samples (n, dimensions + 1)."""
        sums = integer_product(encoded, self.Z)
        z = np.clip(round_shift(sums, int(self.constants["z_shift"])) + self.arrays["b"], -UNIT, UNIT)
        return np.concatenate([z, np.full((z.shape[0], 1), UNIT, dtype=z.dtype)], axis=1)

    def scores(self, encoded: Array) -> Array:
        z = self.projections(encoded)
        cube = (z.shape[0], -1, self.n_scores)
        predicted = shifted(integer_product(z, self.W), int(self.constants["w_shift"])).reshape(cube)
        gates = shifted(integer_product(z, self.V), int(self.constants["v_shift"])).reshape(cube)
        gates = np.clip(gates, -UNIT, UNIT)
        sample = np.arange(z.shape[0])
        total = np.zeros((z.shape[0], self.n_scores), dtype=np.int64)
        for node in self.path(integer_product(z, self.T) > 0):
            total += predicted[sample, node] * gates[sample, node]
        return total.astype(np.int32)


@dataclass(frozen=True, eq=False)
class BonsaiFloat(_Bonsai):
    """Bonsai in float32, as the papers' unoptimised firmware; z and tanh are clipped to ±1 there too."""

    weights: ClassVar[np.dtype[np.generic]] = np.dtype("<f4")

    @classmethod
    def from_floats(
        cls,
        weights: Mapping[str, npt.ArrayLike],
        inputs: InputScale,
        classes: Iterable[Any],
        *,
        name: str = "bonsai",
        info: Mapping[str, Any] | None = None,
        paper_bytes: int = 0,
    ) -> BonsaiFloat:
        """The model of these floats."""
        Z = np.asarray(weights["Z"], dtype=np.float64)
        arrays = encoding.encode("w", Z)
        for key, array in TREE.items():
            matrix = np.asarray(weights[key], dtype=np.float64)
            if matrix.size:
                arrays.update(encoding.encode(array, matrix, encoding.Dense32))
        return cls(
            numbers="float32",
            n_features=Z.shape[1],
            classes=tuple(classes),
            inputs=inputs,
            arrays={**arrays, "b": np.asarray(weights["b"], dtype="<f4")},
            name=name,
            info=info or {},
            paper_bytes=paper_bytes,
        )

    def scores(self, encoded: Array) -> Array:
        one = np.float32(1)
        z = np.clip(ordered_product(encoded, self.Z) + self.arrays["b"], -one, one)
        z = np.concatenate([z, np.ones((z.shape[0], 1), dtype=np.float32)], axis=1)
        cube = (z.shape[0], -1, self.n_scores)
        predicted = ordered_product(z, self.W).reshape(cube)
        gates = np.clip(ordered_product(z, self.V), -one, one).reshape(cube)
        sample = np.arange(z.shape[0])
        total = np.zeros((z.shape[0], self.n_scores), dtype=np.float32)
        for node in self.path(ordered_product(z, self.T) > 0):
            total += predicted[sample, node] * gates[sample, node]
        return total


def dense(limit: int) -> type[encoding.Layout]:
    """How the tree's matrices of integers within ±limit lie in flash."""
    return nibbles.Dense4 if limit <= nibbles.LIMIT else encoding.Dense8


def narrowing(W: Array) -> int:
    """The least shift after which no sum of W·z' can leave int16."""
    worst = int(np.abs(np.asarray(W, dtype=np.int64)).sum(axis=1).max()) * UNIT
    shift = 0
    while worst + ((1 << shift) >> 1) >> shift > INT16_MAX:
        shift += 1
    return shift


def shifted(value: npt.NDArray[np.int64], shift: int) -> npt.NDArray[np.int64]:
    return round_shift(value, shift) if shift else value
