"""Decision trees, forests and boosted trees on the device, in integers.

Features are integers and so are thresholds, hence host and device always go the same way. The nodes lie in
flash as bytes (models.tree_nodes) or as straight-line code (models.tree_code), which is faster and larger and
takes whole vectors. The kernel is firmware/lib/kernels/trees.c.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from models import tree_code, trees_costs
from models.arithmetic import INT32_MAX
from models.costs import Stage
from models.device import CONSTANT_BYTES, WIRE_TYPES, Array, DeviceModel, InputScale
from models.errors import InputError
from models.tree_code import CodedTree, CodeFormat
from models.tree_nodes import LEAF, Format, Tree, merged, smallest_format

MAX_BYTES = 65535
"""Trees are found by 16-bit offsets."""
KINDS = {"nodes": "|u1", "starts": "<u2", "base": "<i4", "kept": "<u2", "code": "<u2"}


@dataclass(frozen=True, eq=False)
class Trees(DeviceModel):
    """A decision tree or forest (each tree votes for a class) or boosted trees (each adds to one score).

    Scores: the votes of each class; with two classes the votes for class 1 less those for class 0. Of boosted
    trees: base_s plus the leaf values of the trees s, s + n_scores, s + 2·n_scores…

    Arrays: nodes (the bytes of all trees) and starts (where each begins) or code; base (boosted trees only)
    and, where there are more features than a byte of `nodes` can name beside the leaves, kept: the features
    that nodes speak of.
    """

    family: ClassVar[str] = "trees"

    @classmethod
    def from_trees(
        cls,
        trees: Sequence[Tree],
        inputs: InputScale,
        classes: Iterable[Any],
        *,
        n_features: int,
        base: npt.ArrayLike | None = None,
        leaf_bytes: int = 0,
        name: str = "trees",
        info: Mapping[str, Any] | None = None,
        paper_bytes: int = 0,
    ) -> Trees:
        """The model of these trees over encoded features; `base` makes them boosted trees."""
        labels = tuple(classes)
        range_of = np.iinfo(WIRE_TYPES[inputs.numbers])
        found = [merged(tree, range_of.min, range_of.max) for tree in trees]
        arrays, written = _table(found, inputs.numbers, n_features, len(labels), leaf_bytes)
        if base is not None:
            arrays["base"] = np.asarray(base).astype("<i4")
        return cls(
            numbers=inputs.numbers,
            n_features=n_features,
            classes=labels,
            inputs=inputs,
            arrays=arrays,
            constants={"skip_bytes": written.skip_bytes, "leaf_bytes": leaf_bytes},
            name=name,
            info=info or {},
            paper_bytes=paper_bytes,
        )

    @property
    def format(self) -> Format:
        return Format(
            WIRE_TYPES[self.numbers].itemsize,
            int(self.constants["skip_bytes"]),
            int(self.constants["leaf_bytes"]),
        )

    @property
    def boosted(self) -> bool:
        return "base" in self.arrays

    @property
    def tallies(self) -> int:
        """What is counted while the trees are walked: votes of each class, or sums of each score."""
        return self.n_scores if self.boosted else self.n_classes

    @cached_property
    def coded(self) -> list[CodedTree]:
        """The trees out of their code, which they must be in."""
        y, z = int(self.constants["code_y"]), int(self.constants["code_z"])
        return tree_code.decode(self.arrays["code"], self._code_format(y, z))

    @cached_property
    def trees(self) -> tuple[Tree, ...]:
        """The trees, out of their bytes or code."""
        if "code" in self.arrays:
            return tuple(coded.tree for coded in self.coded)
        data = self.arrays["nodes"].tobytes()
        edges = [*self.arrays["starts"].tolist(), len(data)]
        first_leaf = LEAF if self.boosted else LEAF + 1 - self.n_classes
        read = [self.format.read(data[a:b], first_leaf) for a, b in pairwise(edges)]
        kept = self.arrays.get("kept")
        for number, tree in enumerate(read):
            slots = self.n_features if kept is None else len(kept)
            if int(tree.feature.max()) >= slots:
                raise InputError(f"Tree {number} asks for feature {int(tree.feature.max())} of {slots}.")
        return tuple(read if kept is None else (_renamed(tree, kept.astype(np.int64)) for tree in read))

    def c_sizes(self) -> Mapping[str, int]:
        kept = self.arrays.get("kept")
        sizes = {"trees": len(self.trees), "slots": self.n_features if kept is None else len(kept)}
        sizes |= {"tallies": self.tallies, "tally_bytes": self._tally_bytes()}
        switches = {"boosted": self.boosted, "kept": kept is not None, "code": "code" in self.arrays}
        return {**sizes, **{key: 1 for key, on in switches.items() if on}}

    def variants(self, *, streaming: bool) -> list[Self]:
        if any(tree.shared for tree in self.trees):
            return [self]  # the code of a node cannot be shared, and its bytes are laid out already
        leaf_bytes = int(self.constants["leaf_bytes"])
        base = {"base": self.arrays["base"]} if self.boosted else {}
        found: list[Self] = []
        if self._nameable():
            arrays, written = _table(self.trees, self.numbers, self.n_features, self.n_classes, leaf_bytes)
            constants = {"skip_bytes": written.skip_bytes, "leaf_bytes": leaf_bytes}
            found.append(replace(self, arrays={**arrays, **base}, constants=constants))
        width = WIRE_TYPES[self.numbers].itemsize
        y, z = tree_code.windows(self.trees, self.n_features, width)
        if not streaming and tree_code.suits(self.trees, self._code_format(y, z)):
            code = tree_code.encode(self.trees, self._code_format(y, z))
            constants = {"leaf_bytes": leaf_bytes, "code_y": y, "code_z": z}
            found.append(replace(self, arrays={"code": code, **base}, constants=constants))
        return found

    def stages(self, *, streaming: bool, encoded: Array | None = None) -> list[Stage]:
        return trees_costs.stages(self, streaming=streaming, encoded=encoded)

    def typical(self, encoded: Array) -> Mapping[str, Any]:
        return {trees_costs.TYPICAL: trees_costs.steps(self, encoded)}

    def check(self) -> None:
        if self.numbers not in ("int8", "int16"):
            raise InputError(f"Trees have no firmware for {self.numbers}.", "Choose int8 or int16.")
        self._check_arrays()
        for number, tree in enumerate(self.trees):
            if int(tree.feature.max()) >= self.n_features:
                raise InputError(
                    f"Tree {number} asks for feature {int(tree.feature.max())} of {self.n_features}."
                )
            values = tree.value[tree.feature < 0]
            if not self.boosted and not 0 <= int(values.min()) <= int(values.max()) < self.n_classes:
                raise InputError(f"Tree {number} votes for a class that is none of {self.n_classes}.")
        if self.boosted:
            if self.arrays["base"].size != self.n_scores or len(self.trees) % self.n_scores:
                raise InputError(
                    f"{len(self.trees)} boosted trees do not share {self.n_scores} scores evenly."
                )
            worst = self._reach() + np.abs(self.arrays["base"].astype(np.int64))
            if int(worst.max()) > INT32_MAX:
                raise InputError(f"A score can reach {int(worst.max())}, beyond the {INT32_MAX} of 32 bits.")

    def _check_arrays(self) -> None:
        for key, array in self.arrays.items():
            if array.dtype.str != KINDS.get(key) or array.ndim != 1 or array.size == 0:
                raise InputError(
                    f"The array {key!r} of a tree model is {array.dtype} of shape {array.shape}."
                )
        wanted: dict[str, Sequence[int]] = {"leaf_bytes": (1, 2) if self.boosted else (0,)}
        if "code" in self.arrays:
            most = self.n_features * WIRE_TYPES[self.numbers].itemsize
            wanted |= {"code_y": range(most), "code_z": range(most)}
        else:
            wanted |= {"skip_bytes": (1, 2)}
        for key, allowed in wanted.items():
            if self.constants.get(key) not in allowed:
                shown = allowed if isinstance(allowed, tuple) else f"0 to {len(allowed) - 1}"
                raise InputError(f"{key} is {self.constants.get(key)}, not one of {shown}.")
        if "code" not in self.arrays:
            self._check_table()

    def _check_table(self) -> None:
        if "nodes" not in self.arrays or "starts" not in self.arrays:
            raise InputError("A tree model needs the arrays 'nodes' and 'starts', or 'code'.")
        starts = self.arrays["starts"].astype(np.int64)
        if starts[0] != 0 or (np.diff(starts) <= 0).any() or starts[-1] >= self.arrays["nodes"].size:
            raise InputError("The trees do not begin one after the other.")
        kept = self.arrays.get("kept")
        if kept is not None and ((np.diff(kept.astype(int)) <= 0).any() or int(kept[-1]) >= self.n_features):
            raise InputError(f"The kept features are not in order, or beyond {self.n_features}.")
        slots = self.n_features if kept is None else len(kept)
        if slots > codes(self.n_classes, int(self.constants["leaf_bytes"])):
            raise InputError(f"A byte cannot name {slots} features beside the leaves.")

    def _reach(self) -> npt.NDArray[np.int64]:
        """The largest magnitude that the leaf values of each score can add up to, in any order."""
        reach = np.zeros(self.n_scores, dtype=np.int64)
        for number, tree in enumerate(self.trees):
            reach[number % self.n_scores] += int(np.abs(tree.value[tree.feature < 0]).max())
        return reach

    def _tally_bytes(self) -> int:
        """The width of what is counted: proven to be enough."""
        if not self.boosted:
            return 1 if len(self.trees) <= tree_code.MOST_TREES else 2
        if "code" in self.arrays:
            return tree_code.SUM_BYTES[int(self.constants["leaf_bytes"])]
        return 2 if int(self._reach().max()) < 2**15 else 4

    def _code_format(self, y: int, z: int) -> CodeFormat:
        sum_bytes = tree_code.SUM_BYTES[int(self.constants["leaf_bytes"])]
        return CodeFormat(WIRE_TYPES[self.numbers].itemsize, sum_bytes, self.tallies, y, z)

    def _nameable(self) -> bool:
        used = np.unique(np.concatenate([tree.feature for tree in self.trees]))
        most = codes(self.n_classes, int(self.constants["leaf_bytes"]))
        return min(self.n_features, int((used >= 0).sum())) <= most

    def scores(self, encoded: Array) -> Array:
        x = encoded.astype(np.int64)
        if self.boosted:
            total = np.repeat(self.arrays["base"][None].astype(np.int64), len(x), axis=0)
            for number, tree in enumerate(self.trees):
                total[:, number % self.n_scores] += tree.apply(x)
            return total.astype(np.int32)
        votes = np.zeros((len(x), self.n_classes), dtype=np.int64)
        for tree in self.trees:
            votes[np.arange(len(x)), tree.apply(x)] += 1
        if self.n_scores == 1:
            votes = votes[:, 1:] - votes[:, :1]
        return votes.astype(np.int32)


def codes(classes: int, leaf_bytes: int) -> int:
    """Features that one byte can name beside the codes of leaves."""
    return LEAF if leaf_bytes else LEAF + 1 - classes


def flash_size(trees: Sequence[Tree], numbers: str, leaf_bytes: int, scores: int, extra: int = 0) -> int:
    """flash_bytes of these trees at most; `extra` is what the list of kept features takes."""
    written = smallest_format(trees, numbers, leaf_bytes)
    size = sum(written.length(tree) + 2 for tree in trees) + 2 * CONSTANT_BYTES + extra
    return size + (4 * scores if leaf_bytes else 0)


def _table(
    trees: Sequence[Tree], numbers: str, n_features: int, classes: int, leaf_bytes: int
) -> tuple[dict[str, Array], Format]:
    """The arrays of trees as bytes, and how they are written."""
    kept: npt.NDArray[np.int64] | None = None
    most = codes(classes, leaf_bytes)
    if n_features > most:
        used = np.unique(np.concatenate([t.feature[t.feature >= 0] for t in trees]))
        # An array of the firmware has at least one entry, even where all trees are leaves.
        kept = used if len(used) else np.zeros(1, dtype=np.int64)
        if len(kept) > most:
            raise InputError(
                f"The trees use {len(kept)} features, and a byte can name {most} of them beside the leaves.",
                "Train on fewer features.",
            )
        slots = np.zeros(n_features, dtype=np.int64)
        slots[kept] = np.arange(len(kept))
        trees = [_renamed(tree, slots) for tree in trees]
    written = smallest_format(trees, numbers, leaf_bytes)
    strings = [written.write(tree) for tree in trees]
    sizes = np.array([len(s) for s in strings])
    if int(sizes.sum()) > MAX_BYTES:
        raise InputError(
            f"The trees take {int(sizes.sum())} bytes, and the kernel finds its way in {MAX_BYTES}.",
            "Use fewer trees or leaves.",
        )
    arrays: dict[str, Array] = {
        "nodes": np.frombuffer(b"".join(strings), dtype=np.uint8),
        "starts": (np.cumsum(sizes) - sizes).astype("<u2"),
    }
    if kept is not None:
        arrays["kept"] = kept.astype("<u2")
    return arrays, written


def _renamed(tree: Tree, names: npt.NDArray[np.int64]) -> Tree:
    feature = np.where(tree.feature >= 0, names[tree.feature], -1)
    return replace(tree, feature=feature.astype(np.int64))
