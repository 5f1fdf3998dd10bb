"""LDKL on the device, in integers and as float32: a tree whose nodes look at the features themselves.

    y(x) = Σ_k W_k·x' ∘ tanh(V_k·x')   over the nodes k on the path of x;   to the right if T_k·x' > 0

x' is x and a constant. The rows of W, V and T (in this order) are one matrix, so that a sample is read once,
feature after feature, and nothing of it need be kept. The kernels are firmware/lib/kernels/ldkl.c and
ldkl_float.c.

In integers, exactly (x are the features as sent, int8; `/ 2^s` rounds to nearest, halves up):

    a_i  = Σ_j R_ij·x_j                          int32
    r_i  = a_i / 2^v_shift + b_i                 int32; b int16
    p_kc = r_i / 2^w_shift for the rows of W     int16 (w_shift makes it fit; 0 leaves it as it is)
    t_kc = clip(r_i) to ±127 for the rows of V   tanh(x) ≈ x within ±1, 127 being 1
    y_c  = Σ_k p_kc·t_kc                         int32
    right of node k if r_i > 0 for its row of T
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from models import encoding, ldkl_costs, nibbles
from models.arithmetic import INT8_REACH, INT32_MAX, integer_product, ordered_product, round_shift, sum_bytes
from models.bonsai_device import INT16_MAX, MAX_SHIFT, UNIT, shifted
from models.bonsai_net import TreeShape
from models.costs import Stage
from models.device import CONSTANT_BYTES, Array, DeviceModel, InputScale
from models.errors import InputError

CONSTANTS = ("v_shift", "w_shift")


@dataclass(frozen=True, eq=False)
class _Ldkl(DeviceModel):
    """What both number formats share: the matrix `w`, its offsets `b`, and the tree they make."""

    family: ClassVar[str] = "ldkl"
    weights: ClassVar[np.dtype[np.generic]]

    @cached_property
    def R(self) -> Array:  # noqa: N802
        """All rows: predictors, gates, branches (rows × features)."""
        return nibbles.decode("w", self.arrays, self.n_features, self.weights)

    @property
    def tree(self) -> TreeShape:
        """2·nodes·scores rows and one more for each of the nodes // 2 branches."""
        nodes = (2 * self.R.shape[0] + 1) // (4 * self.n_scores + 1)
        return TreeShape((nodes + 1).bit_length() - 2, self.n_scores)

    def c_sizes(self) -> Mapping[str, int]:
        layout = nibbles.c_sizes("w", self.arrays, self.weights)
        return {"w_rows": int(self.R.shape[0]), "depth": self.tree.depth, **layout}

    def check(self) -> None:
        kind = np.dtype("<f4") if self.numbers == "float32" else np.dtype("<i2")
        b = self.arrays.get("b")
        if b is None or b.dtype != kind or b.shape != (self.R.shape[0],):
            raise InputError(f"An LDKL model needs the array 'b', one {kind} a row of weights.")
        rows = 2 * self.tree.rows + self.tree.branches
        if self.tree.depth < 0 or rows != self.R.shape[0]:
            raise InputError(
                f"There are {self.R.shape[0]} rows, not a full tree's with {self.n_scores} scores a node."
            )

    def _walk(self, predicted: Array, gates: Array, branches: Array) -> Array:
        """The sum over the nodes on each sample's path."""
        n = predicted.shape[0]
        cube = (n, self.tree.nodes, self.n_scores)
        votes = predicted.reshape(cube) * gates.reshape(cube)
        sample, node = np.arange(n), np.zeros(n, dtype=np.int64)
        total = np.zeros((n, self.n_scores), dtype=votes.dtype) + votes[sample, node]
        for _ in range(self.tree.depth):
            node = 2 * node + 1 + (branches[sample, node] > 0)
            total = total + votes[sample, node]
        return np.asarray(total)


@dataclass(frozen=True, eq=False)
class LdklInt8(_Ldkl):
    """LDKL in integers, as the module says."""

    weights: ClassVar[np.dtype[np.generic]] = np.dtype(np.int8)

    @classmethod
    def from_integers(
        cls,
        R: npt.ArrayLike,
        b: npt.ArrayLike,
        inputs: InputScale,
        classes: Iterable[Any],
        *,
        v_shift: int,
        limit: int = 127,
        name: str = "ldkl",
        info: Mapping[str, Any] | None = None,
        paper_bytes: int = 0,
    ) -> LdklInt8:
        """The model of these integers; if their limit is 7, they lie in 4 bits."""
        rows, offsets, labels = np.asarray(R), np.asarray(b, dtype=np.int64), tuple(classes)
        scores = 1 if len(labels) == 2 else len(labels)
        return cls(
            numbers="int8",
            n_features=rows.shape[1],
            classes=labels,
            inputs=inputs,
            arrays={
                **encoding.encode("w", rows, nibbles.smallest(rows, limit)),
                "b": offsets.astype("<i2"),
            },
            constants={"v_shift": int(v_shift), "w_shift": narrowing(rows, offsets, scores, int(v_shift))},
            name=name,
            info=info or {},
            paper_bytes=paper_bytes,
        )

    @staticmethod
    def flash_size(R: Array, limit: int) -> int:
        """flash_bytes of a model whose rows have these zeros, without building it."""
        return nibbles.flash_bytes(R, limit) + 2 * int(R.shape[0]) + CONSTANT_BYTES * len(CONSTANTS)

    def check(self) -> None:
        super().check()
        for key, least in zip(CONSTANTS, (1, 0), strict=True):
            value = self.constants.get(key)
            if not isinstance(value, int) or not least <= value <= MAX_SHIFT:
                raise InputError(f"{key} is {value}, not an integer from {least} to {MAX_SHIFT}.")
        if self.R.size and int(self.R.min()) < -encoding.INT8_WEIGHT:
            raise InputError(f"The weights hold {int(self.R.min())}, beyond ±{encoding.INT8_WEIGHT}.")
        self._sum_bytes()
        needed = narrowing(self.R, self.arrays["b"], self.n_scores, int(self.constants["v_shift"]))
        if self.constants["w_shift"] != needed:
            raise InputError(f"w_shift is {self.constants['w_shift']}, but these weights need {needed}.")
        score = (self.tree.depth + 1) * INT16_MAX * UNIT
        if score > INT32_MAX:
            raise InputError(f"A tree of depth {self.tree.depth} has scores up to {score}, beyond 32 bits.")

    def c_sizes(self) -> Mapping[str, int]:
        places = {"gates_at": self._row_at(self.tree.rows), "branches_at": self._row_at(2 * self.tree.rows)}
        return {**super().c_sizes(), "w_sum_bytes": self._sum_bytes(), **places}

    def variants(self, *, streaming: bool) -> list[Self]:
        relaid = nibbles.relaid("w", self.arrays, self.R, streaming=streaming)
        return [replace(self, arrays=arrays) for arrays in relaid]

    def stages(self, *, streaming: bool, encoded: Array | None = None) -> list[Stage]:
        return ldkl_costs.stages(self, streaming=streaming, encoded=encoded)

    def typical(self, encoded: Array) -> Mapping[str, Any]:
        return {ldkl_costs.TYPICAL: ldkl_costs.visits(self, encoded).tolist()}

    def rows(self, encoded: Array) -> npt.NDArray[np.int64]:
        """r of encoded samples (n, rows)."""
        sums = integer_product(encoded, self.R)
        return np.asarray(round_shift(sums, int(self.constants["v_shift"])) + self.arrays["b"])

    def _row_at(self, row: int) -> int:
        """The byte at which a sparse row begins; dense ones are found by their number."""
        counts = self.arrays.get("w_counts")
        if counts is None:
            return 0
        return int(counts[:row].sum(dtype=np.int64)) * (2 if "w_pairs" in self.arrays else 1)

    def _sum_bytes(self) -> int:
        half = 1 << (int(self.constants["v_shift"]) - 1)
        scale = nibbles.scale_in_sums("w", self.arrays)
        return sum_bytes("The sum of row", self.R, scale * INT8_REACH, scale * half)

    def scores(self, encoded: Array) -> Array:
        r, rows = self.rows(encoded), self.tree.rows
        predicted = shifted(r[:, :rows], int(self.constants["w_shift"]))
        gates = np.clip(r[:, rows : 2 * rows], -UNIT, UNIT)
        return self._walk(predicted, gates, r[:, 2 * rows :]).astype(np.int32)


@dataclass(frozen=True, eq=False)
class LdklFloat(_Ldkl):
    """LDKL in float32; tanh is clipped there too."""

    weights: ClassVar[np.dtype[np.generic]] = np.dtype("<f4")

    @classmethod
    def from_floats(
        cls,
        R: npt.ArrayLike,
        b: npt.ArrayLike,
        inputs: InputScale,
        classes: Iterable[Any],
        *,
        name: str = "ldkl",
        info: Mapping[str, Any] | None = None,
        paper_bytes: int = 0,
    ) -> LdklFloat:
        rows = np.asarray(R, dtype=np.float64)
        return cls(
            numbers="float32",
            n_features=rows.shape[1],
            classes=tuple(classes),
            inputs=inputs,
            arrays={**encoding.encode("w", rows), "b": np.asarray(b, dtype="<f4")},
            name=name,
            info=info or {},
            paper_bytes=paper_bytes,
        )

    def scores(self, encoded: Array) -> Array:
        r = ordered_product(encoded, self.R) + self.arrays["b"]
        rows = self.tree.rows
        gates = np.clip(r[:, rows : 2 * rows], np.float32(-1), np.float32(1))
        return self._walk(r[:, :rows], gates, r[:, 2 * rows :])


def narrowing(R: Array, b: Array, scores: int, v_shift: int) -> int:
    """The least shift after which no predictor can leave int16."""
    nodes = (2 * R.shape[0] + 1) // (4 * scores + 1)
    rows = slice(0, nodes * scores)
    reach = np.abs(R[rows].astype(np.int64)).sum(axis=1) * INT8_REACH
    worst = int(((reach >> v_shift) + 1 + np.abs(b[rows].astype(np.int64))).max(initial=0))
    shift = 0
    while worst + ((1 << shift) >> 1) >> shift > INT16_MAX:
        shift += 1
    return shift
