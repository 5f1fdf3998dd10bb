"""A decision tree of integers, and its nodes as bytes, first the root:

    inner node   feature, threshold, skip     x[feature] <= threshold: the next byte, else `skip` further
    leaf         255 - class                  a vote for that class
                 255, value                   a value for a score (boosted trees)

An inner node takes three bytes and a vote one: four bytes a leaf. Nodes that several others lead to are
written once (models.tree_sharing). models.tree_code has the same as machine code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from models.errors import InputError
from models.inputs import WIRE_TYPES, Array

LEAF = 255
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Tree:
    """Nodes by index, the root first; a leaf has feature -1 and a value (a class, or a number).

    Several nodes may lead to one, as in a decision jungle: then it is no tree, but is walked like one.
    """

    feature: Ints
    threshold: Ints
    left: Ints
    right: Ints
    value: Ints

    @property
    def leaves(self) -> int:
        return int(np.count_nonzero(self.feature < 0))

    @property
    def inner(self) -> int:
        """Nodes that are no leaves."""
        return int(np.count_nonzero(self.feature >= 0))

    @property
    def shared(self) -> bool:
        """Whether a node is led to by more than one other."""
        asked = self.feature >= 0
        return bool((np.bincount(np.concatenate([self.left[asked], self.right[asked]])) > 1).any())

    def apply(self, x: Array) -> Ints:
        """The value of each sample's leaf."""
        at = np.zeros(len(x), dtype=np.int64)
        rows = np.arange(len(x))
        while (inner := self.feature[at] >= 0).any():
            low = x[rows, self.feature[at]] <= self.threshold[at]
            at = np.where(inner, np.where(low, self.left[at], self.right[at]), at)
        return self.value[at]

    def order(self) -> list[int]:
        """The nodes that can be reached, each once and before its children; the low side first of two."""
        found: list[int] = []
        seen: set[int] = set()
        todo = [(0, False)]
        while todo:
            node, done = todo.pop()
            if done:
                found.append(node)
            elif node not in seen:
                seen.add(node)
                todo.append((node, True))
                if self.feature[node] >= 0:
                    # The high side is done first, because the list is turned round at last.
                    todo += [(int(self.left[node]), False), (int(self.right[node]), False)]
        return found[::-1]

    def leaves_below(self) -> Ints:
        """Of each node: the ways that lead from it to a leaf."""
        count = np.ones(len(self.feature), dtype=np.int64)
        for node in reversed(self.order()):
            if self.feature[node] >= 0:
                count[node] = count[self.left[node]] + count[self.right[node]]
        return count

    def ways_to(self) -> Ints:
        """Of each node: the ways that lead to it from the root, one in a tree."""
        count = np.zeros(len(self.feature), dtype=np.int64)
        count[0] = 1
        for node in self.order():
            if self.feature[node] >= 0:
                count[self.left[node]] += count[node]
                count[self.right[node]] += count[node]
        return count

    def depths(self) -> Ints:
        """Of each node: the nodes before it on the longest way."""
        depth = np.zeros(len(self.feature), dtype=np.int64)
        for node in self.order():
            if self.feature[node] >= 0:
                for child in (self.left[node], self.right[node]):
                    depth[child] = max(depth[child], depth[node] + 1)
        return depth

    def depth(self) -> int:
        """Inner nodes on the longest way down."""
        return int(self.depths().max())

    def visits(self, x: Array) -> tuple[Ints, Ints]:
        """How many of the samples go low, and how many high, at each node."""
        low, high = np.zeros(len(self.feature), dtype=np.int64), np.zeros(len(self.feature), dtype=np.int64)
        reached: dict[int, list[Ints]] = {0: [np.arange(len(x))]}
        for node in self.order():
            samples = np.concatenate(reached.pop(node))
            if self.feature[node] >= 0:
                below = x[samples, self.feature[node]] <= self.threshold[node]
                for child, some in ((self.left[node], samples[below]), (self.right[node], samples[~below])):
                    reached.setdefault(int(child), []).append(some)
                low[node], high[node] = np.count_nonzero(below), np.count_nonzero(~below)
        return low, high


def merged(tree: Tree, least: int, most: int) -> Tree:
    """The same answers for features from `least` to `most` by fewer nodes.

    A node whose two sides answer alike says nothing, nor does one that no such feature can pass on one side.
    Forests have many of the former: a split may sharpen the odds and leave the vote as it was.
    """
    same: dict[int, int] = {}  # what stands in a node's place
    for node in reversed(tree.order()):
        same[node] = node
        if tree.feature[node] < 0:
            continue
        low, high = same[int(tree.left[node])], same[int(tree.right[node])]
        alike = tree.feature[low] < 0 and tree.feature[high] < 0 and tree.value[low] == tree.value[high]
        if low == high or alike or tree.threshold[node] >= most:
            same[node] = low
        elif tree.threshold[node] < least:
            same[node] = high
    rows: list[list[int]] = []
    place: dict[int, int] = {}
    todo = [(same[0], -1, 0)]
    while todo:
        node, parent, side = todo.pop()
        if parent >= 0:
            rows[parent][side] = place.get(node, len(rows))
        if node in place:
            continue
        place[node] = len(rows)
        rows.append([int(tree.feature[node]), int(tree.threshold[node]), 0, 0, int(tree.value[node])])
        if tree.feature[node] >= 0:
            todo += [
                (same[int(tree.right[node])], len(rows) - 1, 3),
                (same[int(tree.left[node])], len(rows) - 1, 2),
            ]
    return Tree(*np.array(rows, dtype=np.int64).T)


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

    def length(self, tree: Tree) -> int:
        """Bytes of this very tree."""
        return len(self.write(_unnamed(tree))) if tree.shared else self.size(tree.leaves)

    def write(self, tree: Tree, node: int = 0) -> bytes:
        """The bytes; InputError where a skip of a shared node is too long."""
        if node == 0 and tree.shared:
            from models.tree_sharing import write_shared

            return write_shared(tree, self)
        if tree.feature[node] < 0:
            return self.leaf(int(tree.value[node]))
        low, high = self.write(tree, int(tree.left[node])), self.write(tree, int(tree.right[node]))
        return self.test(int(tree.feature[node]), int(tree.threshold[node]), len(low)) + low + high

    def test(self, feature: int, threshold: int, skip: int) -> bytes:
        """An inner node."""
        head = bytes([feature]) + threshold.to_bytes(self.threshold_bytes, "little", signed=True)
        return head + skip.to_bytes(self.skip_bytes, "little")

    def leaf(self, value: int) -> bytes:
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


def smallest_format(trees: Sequence[Tree], numbers: str, leaf_bytes: int) -> Format:
    """One-byte skips where all are short enough."""
    small = Format(WIRE_TYPES[numbers].itemsize, 1, leaf_bytes)
    return small if all(_short(tree, small) for tree in trees) else replace(small, skip_bytes=2)


def _short(tree: Tree, form: Format) -> bool:
    """Whether a byte holds every skip: of a tree, those over the left sides."""
    if tree.shared:
        try:
            form.write(_unnamed(tree))
        except InputError:
            return False
        return True
    left = tree.left[tree.feature >= 0]
    return form.size(int(tree.leaves_below()[left].max(initial=1))) <= LEAF


def _unnamed(tree: Tree) -> Tree:
    """The same shape with features that a byte can name."""
    return replace(tree, feature=np.minimum(tree.feature, 0))
