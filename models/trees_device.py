"""Decision trees, forests and boosted trees on the device, in integers.

A tree is a string of bytes, first the root:

    inner node   feature, threshold, skip     x[feature] <= threshold: the next byte, else `skip` further
    leaf         255 - class                  a vote for that class
                 255, value                   a value for a score (boosted trees)

The kernel is firmware/lib/kernels/trees.c. An inner node takes three bytes and a vote one: four bytes a leaf.
Features are integers and so are thresholds, hence host and device always go the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from models.arithmetic import INT32_MAX
from models.device import CONSTANT_BYTES, WIRE_TYPES, Array, DeviceModel, InputScale
from models.errors import InputError

LEAF = 255
MAX_BYTES = 65535
"""Trees are found by 16-bit offsets."""


@dataclass(frozen=True)
class Tree:
    """Nodes by index, the root first; a leaf has feature -1 and a value (a class, or a number)."""

    feature: npt.NDArray[np.int64]
    threshold: npt.NDArray[np.int64]
    left: npt.NDArray[np.int64]
    right: npt.NDArray[np.int64]
    value: npt.NDArray[np.int64]

    @property
    def leaves(self) -> int:
        return int(np.count_nonzero(self.feature < 0))

    def apply(self, x: Array) -> npt.NDArray[np.int64]:
        """The value of each sample's leaf."""
        at = np.zeros(len(x), dtype=np.int64)
        rows = np.arange(len(x))
        while (inner := self.feature[at] >= 0).any():
            low = x[rows, self.feature[at]] <= self.threshold[at]
            at = np.where(inner, np.where(low, self.left[at], self.right[at]), at)
        return self.value[at]


@dataclass(frozen=True)
class Format:
    """How nodes are written: bytes of a threshold, of a skip, and of a leaf's value (0: votes)."""

    threshold_bytes: int
    skip_bytes: int
    leaf_bytes: int

    @property
    def inner_bytes(self) -> int:
        return 1 + self.threshold_bytes + self.skip_bytes

    def size(self, leaves: int) -> int:
        """Bytes of a tree with so many leaves."""
        return (leaves - 1) * self.inner_bytes + leaves * (1 + self.leaf_bytes)

    def write(self, tree: Tree, node: int = 0) -> bytes:
        if tree.feature[node] < 0:
            return self._leaf(int(tree.value[node]))
        low, high = self.write(tree, int(tree.left[node])), self.write(tree, int(tree.right[node]))
        head = bytes([int(tree.feature[node])])
        head += int(tree.threshold[node]).to_bytes(self.threshold_bytes, "little", signed=True)
        return head + len(low).to_bytes(self.skip_bytes, "little") + low + high

    def _leaf(self, value: int) -> bytes:
        if not self.leaf_bytes:
            return bytes([LEAF - value])
        return bytes([LEAF]) + value.to_bytes(self.leaf_bytes, "little", signed=True)

    def read(self, data: bytes, first_leaf: int) -> Tree:
        """The tree again; InputError if a node leads outside of the bytes, or they are not used up."""
        rows: list[tuple[int, int, int, int, int]] = []
        index: dict[int, int] = {}
        at = 0
        while at < len(data):
            index[at] = len(rows)
            if data[at] >= first_leaf:
                value = LEAF - data[at]
                if self.leaf_bytes:
                    value = int.from_bytes(data[at + 1 : at + 1 + self.leaf_bytes], "little", signed=True)
                rows.append((-1, 0, 0, 0, value))
                at += 1 + self.leaf_bytes
            else:
                after = at + 1 + self.threshold_bytes
                threshold = int.from_bytes(data[at + 1 : after], "little", signed=True)
                skip = int.from_bytes(data[after : after + self.skip_bytes], "little")
                at += self.inner_bytes
                rows.append((data[at - self.inner_bytes], threshold, at, at + skip, 0))
        found = []
        for feature, threshold, low, high, value in rows:
            if feature >= 0 and (low not in index or high not in index):
                raise InputError("A node of a tree leads outside of it.")
            found.append((feature, threshold, index.get(low, 0), index.get(high, 0), value))
        if at != len(data):
            raise InputError("A tree ends in the middle of a node.")
        columns = np.array(found, dtype=np.int64).T
        return Tree(*columns)


@dataclass(frozen=True, eq=False)
class Trees(DeviceModel):
    """A decision tree or forest (each tree votes for a class) or boosted trees (each adds to one score).

    Scores: the votes of each class; with two classes the votes for class 1 less those for class 0. Of boosted
    trees: base_s plus the leaf values of the trees s, s + n_scores, s + 2·n_scores…

    Arrays: nodes (the bytes of all trees), starts (where each begins), base (boosted trees only) and, where
    there are more features than a byte can name beside the leaves, kept: the features that nodes speak of.
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
        kept: npt.NDArray[np.int64] | None = None
        if n_features > codes(len(labels), leaf_bytes):
            kept = np.unique(np.concatenate([t.feature[t.feature >= 0] for t in trees] + [np.zeros(1, int)]))
            if len(kept) > codes(len(labels), leaf_bytes):
                raise InputError(
                    f"The trees use {len(kept)} features, and a byte can name "
                    f"{codes(len(labels), leaf_bytes)} of them beside the leaves.",
                    "Train on fewer features.",
                )
            trees = [_renamed(tree, kept) for tree in trees]
        written = _format(trees, inputs.numbers, leaf_bytes)
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
        if base is not None:
            arrays["base"] = np.asarray(base).astype("<i4")
        if kept is not None:
            arrays["kept"] = kept.astype("<u2")
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

    @cached_property
    def trees(self) -> tuple[Tree, ...]:
        """The trees, out of their bytes; features as nodes name them."""
        data = self.arrays["nodes"].tobytes()
        edges = [*self.arrays["starts"].tolist(), len(data)]
        first_leaf = LEAF if self.boosted else LEAF + 1 - self.n_classes
        return tuple(self.format.read(data[a:b], first_leaf) for a, b in pairwise(edges))

    def c_sizes(self) -> Mapping[str, int]:
        kept = self.arrays.get("kept")
        sizes = {"trees": len(self.arrays["starts"]), "slots": self.n_features if kept is None else len(kept)}
        return {**sizes, **({"boosted": 1} if self.boosted else {}), **({} if kept is None else {"kept": 1})}

    def check(self) -> None:
        if self.numbers not in ("int8", "int16"):
            raise InputError(f"Trees have no firmware for {self.numbers}.", "Choose int8 or int16.")
        self._check_arrays()
        slots = self.c_sizes()["slots"]
        if slots > codes(self.n_classes, int(self.constants["leaf_bytes"])):
            raise InputError(f"A byte cannot name {slots} features beside the leaves.")
        for number, tree in enumerate(self.trees):
            if int(tree.feature.max()) >= slots:
                raise InputError(f"Tree {number} asks for feature {int(tree.feature.max())} of {slots}.")
        if self.boosted:
            worst = np.abs(self.arrays["base"].astype(np.int64))
            for number, tree in enumerate(self.trees):
                worst[number % self.n_scores] += int(np.abs(tree.value).max())
            if int(worst.max()) > INT32_MAX:
                raise InputError(f"A score can reach {int(worst.max())}, beyond 32 bits.")

    def _check_arrays(self) -> None:
        kinds = {"nodes": "|u1", "starts": "<u2", "base": "<i4", "kept": "<u2"}
        for key, array in self.arrays.items():
            if array.dtype.str != kinds.get(key) or array.ndim != 1 or array.size == 0:
                raise InputError(
                    f"The array {key!r} of a tree model is {array.dtype} of shape {array.shape}."
                )
        if "nodes" not in self.arrays or "starts" not in self.arrays:
            raise InputError("A tree model needs the arrays 'nodes' and 'starts'.")
        wanted = {"skip_bytes": (1, 2), "leaf_bytes": (1, 2) if self.boosted else (0,)}
        for key, allowed in wanted.items():
            if self.constants.get(key) not in allowed:
                raise InputError(f"{key} is {self.constants.get(key)}, not one of {allowed}.")
        starts = self.arrays["starts"].astype(np.int64)
        if starts[0] != 0 or (np.diff(starts) <= 0).any() or starts[-1] >= self.arrays["nodes"].size:
            raise InputError("The trees do not begin one after the other.")
        if self.boosted and (self.arrays["base"].size != self.n_scores or len(starts) % self.n_scores):
            raise InputError(f"{len(starts)} boosted trees do not share {self.n_scores} scores evenly.")
        kept = self.arrays.get("kept")
        if kept is not None and ((np.diff(kept.astype(int)) <= 0).any() or int(kept[-1]) >= self.n_features):
            raise InputError(f"The kept features are not in order, or beyond {self.n_features}.")

    def scores(self, encoded: Array) -> Array:
        kept = self.arrays.get("kept")
        x = (encoded if kept is None else encoded[:, kept]).astype(np.int64)
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
    """flash_bytes of these trees; `extra` is what the list of kept features takes."""
    written = _format(trees, numbers, leaf_bytes)
    size = sum(written.size(tree.leaves) + 2 for tree in trees) + 2 * CONSTANT_BYTES + extra
    return size + (4 * scores if leaf_bytes else 0)


def _format(trees: Sequence[Tree], numbers: str, leaf_bytes: int) -> Format:
    """One-byte skips where every left subtree is short enough."""
    small = Format(WIRE_TYPES[numbers].itemsize, 1, leaf_bytes)
    longest = max(small.size(_most_left_leaves(tree)) for tree in trees)
    return small if longest <= 255 else Format(small.threshold_bytes, 2, leaf_bytes)


def _most_left_leaves(tree: Tree) -> int:
    """Leaves of the largest subtree that a skip passes over."""
    count = np.ones(len(tree.feature), dtype=np.int64)
    for node in np.argsort(-_depths(tree), kind="stable"):
        if tree.feature[node] >= 0:
            count[node] = count[tree.left[node]] + count[tree.right[node]]
    inner = tree.feature >= 0
    return int(count[tree.left[inner]].max(initial=1))


def _depths(tree: Tree) -> npt.NDArray[np.int64]:
    depth = np.zeros(len(tree.feature), dtype=np.int64)
    todo = [0]
    while todo:
        node = todo.pop()
        if tree.feature[node] >= 0:
            for child in (int(tree.left[node]), int(tree.right[node])):
                depth[child] = depth[node] + 1
                todo.append(child)
    return depth


def _renamed(tree: Tree, kept: npt.NDArray[np.int64]) -> Tree:
    slot = np.where(tree.feature >= 0, np.searchsorted(kept, tree.feature), -1)
    return Tree(slot.astype(np.int64), tree.threshold, tree.left, tree.right, tree.value)
