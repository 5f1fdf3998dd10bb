"""Nodes that several others lead to, as bytes: decision jungles in the format of trees (models.tree_nodes).

A node's low side is the next byte, and its high side lies `skip` bytes further. So every node must come
before its children, and of a child only one parent can have it next to itself as its low side; the others
come to it by a jump, which is a node whose threshold is below all features that are ever sent: they all go
high. A leaf is a byte or two, shorter than a jump, and is simply written again.

The order is chosen such that few jumps are needed: a low side follows its parent where no other parent is
missing, and else a node is taken whose low side can follow.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from models.errors import InputError
from models.tree_nodes import Format, Tree


def write_shared(tree: Tree, form: Format) -> bytes:
    """The bytes of all nodes, each once; InputError where a skip is too long for its bytes."""
    writer = _Writer(tree, form)
    writer.run()
    return writer.data()


@dataclass
class _Writer:
    tree: Tree
    form: Format
    items: list[tuple[int, int]] = field(default_factory=list)
    """What is written: (feature, node it is or leads from); a leaf is (-1, value)."""
    at: int = 0
    places: dict[int, int] = field(default_factory=dict)
    """Where nodes begin."""
    leaves: dict[int, list[int]] = field(default_factory=dict)
    """Where leaves of each value begin."""
    asked: dict[int, int] = field(default_factory=dict)
    """Of values whose leaf is still to come: where the first node stands that leads to it."""
    jumps: dict[int, int] = field(default_factory=dict)
    """Where jumps stand, and to which node they lead."""

    def __post_init__(self) -> None:
        tree = self.tree
        depths = tree.depths()
        # Level by level, such that skips are short.
        self.inner = sorted((n for n in tree.order() if tree.feature[n] >= 0), key=lambda n: int(depths[n]))
        self.missing = np.zeros(len(tree.feature), dtype=np.int64)
        for node in self.inner:
            for child in (tree.left[node], tree.right[node]):
                self.missing[child] += 1

    def run(self) -> None:
        waiting = dict.fromkeys(self.inner)
        node: int | None = self.inner[0]
        while node is not None:
            del waiting[node]
            follows = self._place(node)
            if follows is None:
                self._owed(everything=not waiting)
                ready = [other for other in waiting if self.missing[other] == 0]
                follows = next((other for other in ready if self._flows(other)), ready[0] if ready else None)
            node = follows

    def _place(self, node: int) -> int | None:
        """Write a node, and its low side if that is a leaf or is to be jumped to; else say what follows."""
        tree, low, high = self.tree, int(self.tree.left[node]), int(self.tree.right[node])
        self.places[node] = self.at
        if tree.feature[high] < 0:
            self.asked.setdefault(int(tree.value[high]), self.at)
        self._add(int(tree.feature[node]), node, self.form.inner_bytes)
        self.missing[[low, high]] -= 1 if low != high else 2
        if tree.feature[low] < 0:
            self._leaf(int(tree.value[low]))
            return None
        if self.missing[low] == 0:
            return low
        self.jumps[self.at] = low
        self._add(int(tree.feature[node]), node, self.form.inner_bytes)
        return None

    def _flows(self, node: int) -> bool:
        """Whether its low side can follow a node."""
        low = int(self.tree.left[node])
        return bool(self.tree.feature[low] < 0 or self.missing[low] == 1)

    def _owed(self, *, everything: bool) -> None:
        """Write leaves that high sides lead to: all at the end, before only those that get too far away."""
        reach = 1 << 8 * self.form.skip_bytes - 1
        for value, first in list(self.asked.items()):
            if everything or self.at - first > reach:
                self._leaf(value)

    def _leaf(self, value: int) -> None:
        self.leaves.setdefault(value, []).append(self.at)
        self.asked.pop(value, None)
        self._add(-1, value, 1 + self.form.leaf_bytes)

    def _add(self, feature: int, about: int, size: int) -> None:
        self.items.append((feature, about))
        self.at += size

    def data(self) -> bytes:
        data = b""
        never = -(1 << 8 * self.form.threshold_bytes - 1)
        for feature, about in self.items:
            at = len(data)
            if feature < 0:
                data += self.form.leaf(about)
            elif at in self.jumps:
                data += self._test(feature, never, at, self.places[self.jumps[at]])
            else:
                data += self._test(feature, int(self.tree.threshold[about]), at, self._high(about, at))
        return data

    def _test(self, feature: int, threshold: int, at: int, target: int) -> bytes:
        skip = target - at - self.form.inner_bytes
        if skip >> 8 * self.form.skip_bytes:
            raise InputError(f"A shared node lies {skip} bytes away, too far for {self.form.skip_bytes}.")
        return self.form.test(feature, threshold, skip)

    def _high(self, node: int, at: int) -> int:
        high = int(self.tree.right[node])
        if self.tree.feature[high] >= 0:
            return self.places[high]
        return next(leaf for leaf in self.leaves[int(self.tree.value[high])] if leaf > at)
