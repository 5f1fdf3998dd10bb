"""Cost-complexity pruning (Breiman et al., 1984): collapse the weakest link, again and again.

The weakest link is the inner node whose subtree lowers the risk least for each leaf it has beyond one.
scikit-learn can prune to a given alpha, but not to a number of leaves, which is what a byte budget asks for.
"""

from __future__ import annotations

import heapq

import numpy as np
import numpy.typing as npt

from models.tree_nodes import Tree

Floats = npt.NDArray[np.float64]
ROUNDING = 1e-12


def pruned(tree: Tree, risk: Floats, *, alpha: float = 0.0, leaves: int | None = None) -> tuple[Tree, Floats]:
    """The tree without links no stronger than alpha, and with at most so many leaves; and its nodes' risks.

    `risk` is the risk of each node if it were a leaf; `tree.value` is what an inner node would then answer.
    """
    parent, order = _parents(tree)
    inner = tree.feature >= 0
    count = np.ones(len(inner), dtype=np.int64)
    below = risk.astype(np.float64).copy()
    for node in reversed(order):
        if inner[node]:
            low, high = int(tree.left[node]), int(tree.right[node])
            count[node], below[node] = count[low] + count[high], below[low] + below[high]
    gone = np.zeros(len(inner), dtype=bool)
    queue = [(_link(risk, below, count, node), node, int(count[node])) for node in order if inner[node]]
    heapq.heapify(queue)
    while queue:
        strength, node, size = heapq.heappop(queue)
        if gone[node] or not inner[node] or size != count[node]:
            continue  # collapsed with an ancestor, or its subtree has changed since
        if strength > alpha + ROUNDING and (leaves is None or count[0] <= leaves):
            break
        _mark(tree, inner, gone, node)
        inner[node] = False
        fewer, worse = count[node] - 1, risk[node] - below[node]
        at = node
        while at >= 0:
            count[at] -= fewer
            below[at] += worse
            if inner[at]:
                heapq.heappush(queue, (_link(risk, below, count, at), at, int(count[at])))
            at = parent[at]
    kept = [node for node in order if not gone[node]]
    return _compact(tree, inner, kept), risk[kept]


def _link(risk: Floats, below: Floats, count: npt.NDArray[np.int64], node: int) -> float:
    return float(risk[node] - below[node]) / float(count[node] - 1)


def _parents(tree: Tree) -> tuple[list[int], list[int]]:
    """Each node's parent (-1 for the root), and the nodes from the root down."""
    parent = [-1] * len(tree.feature)
    order = [0]
    for node in order:
        if tree.feature[node] >= 0:
            for child in (int(tree.left[node]), int(tree.right[node])):
                parent[child] = node
                order.append(child)
    return parent, order


def _mark(tree: Tree, inner: npt.NDArray[np.bool_], gone: npt.NDArray[np.bool_], top: int) -> None:
    todo = [int(tree.left[top]), int(tree.right[top])]
    while todo:
        node = todo.pop()
        gone[node] = True
        if inner[node]:
            todo += [int(tree.left[node]), int(tree.right[node])]


def _compact(tree: Tree, inner: npt.NDArray[np.bool_], kept: list[int]) -> Tree:
    """The kept nodes alone, numbered in their order."""
    place = {node: number for number, node in enumerate(kept)}
    chosen = np.array(kept)
    is_inner = inner[chosen]
    left = [place[int(tree.left[n])] if i else 0 for n, i in zip(kept, is_inner, strict=True)]
    right = [place[int(tree.right[n])] if i else 0 for n, i in zip(kept, is_inner, strict=True)]
    return Tree(
        np.where(is_inner, tree.feature[chosen], -1),
        np.where(is_inner, tree.threshold[chosen], 0),
        np.array(left, dtype=np.int64),
        np.array(right, dtype=np.int64),
        tree.value[chosen],
    )
