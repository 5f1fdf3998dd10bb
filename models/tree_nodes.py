"""A decision tree of integers, and its nodes as bytes, first the root:

    inner node   feature, threshold, skip     x[feature] <= threshold: the next byte, else `skip` further
    leaf         255 - class                  a vote for that class
                 255, value                   a value for a score (boosted trees)

An inner node takes three bytes and a vote one: four bytes a leaf. models.tree_code has the same as machine
code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from models.errors import InputError
from models.inputs import WIRE_TYPES, Array

LEAF = 255
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Tree:
    """Nodes by index, the root first; a leaf has feature -1 and a value (a class, or a number)."""

    feature: Ints
    threshold: Ints
    left: Ints
    right: Ints
    value: Ints

    @property
    def leaves(self) -> int:
        return int(np.count_nonzero(self.feature < 0))

    def apply(self, x: Array) -> Ints:
        """The value of each sample's leaf."""
        at = np.zeros(len(x), dtype=np.int64)
        rows = np.arange(len(x))
        while (inner := self.feature[at] >= 0).any():
            low = x[rows, self.feature[at]] <= self.threshold[at]
            at = np.where(inner, np.where(low, self.left[at], self.right[at]), at)
        return self.value[at]

    def order(self) -> list[int]:
        """The nodes that can be reached, each before its children."""
        found, todo = [], [0]
        while todo:
            node = todo.pop()
            found.append(node)
            if self.feature[node] >= 0:
                todo += [int(self.right[node]), int(self.left[node])]
        return found

    def leaves_below(self) -> Ints:
        """Of each node."""
        count = np.ones(len(self.feature), dtype=np.int64)
        for node in reversed(self.order()):
            if self.feature[node] >= 0:
                count[node] = count[self.left[node]] + count[self.right[node]]
        return count

    def depth(self) -> int:
        """Inner nodes on the longest way down."""
        depth = np.zeros(len(self.feature), dtype=np.int64)
        for node in self.order():
            if self.feature[node] >= 0:
                depth[self.left[node]] = depth[self.right[node]] = depth[node] + 1
        return int(depth.max())

    def visits(self, x: Array) -> tuple[Ints, Ints]:
        """How many of the samples go low, and how many high, at each node."""
        low, high = np.zeros(len(self.feature), dtype=np.int64), np.zeros(len(self.feature), dtype=np.int64)
        reached = {0: np.arange(len(x))}
        for node in self.order():
            samples = reached.pop(node)
            if self.feature[node] >= 0:
                below = x[samples, self.feature[node]] <= self.threshold[node]
                reached[int(self.left[node])], reached[int(self.right[node])] = (
                    samples[below],
                    samples[~below],
                )
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
        if alike or tree.threshold[node] >= most:
            same[node] = low
        elif tree.threshold[node] < least:
            same[node] = high
    rows: list[list[int]] = []
    todo = [(same[0], -1, 0)]
    while todo:
        node, parent, side = todo.pop()
        if parent >= 0:
            rows[parent][side] = len(rows)
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


def smallest_format(trees: Sequence[Tree], numbers: str, leaf_bytes: int) -> Format:
    """One-byte skips where every left subtree is short enough."""
    small = Format(WIRE_TYPES[numbers].itemsize, 1, leaf_bytes)
    longest = 1
    for tree in trees:
        left = tree.left[tree.feature >= 0]
        longest = max(longest, int(tree.leaves_below()[left].max(initial=1)))
    return small if small.size(longest) <= LEAF else Format(small.threshold_bytes, 2, leaf_bytes)
