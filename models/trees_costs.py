"""What trees take of an AVR: cycles node by node, along the ways that samples take (models.costs).

The walk is assembly (firmware/lib/kernels/avr_trees.h) or machine code of our own (models.tree_code), so that
its cycles are counted, not estimated; how many nodes a sample passes is counted on samples where they are
given. Without them training has noted how many nodes its samples passed; of these every leaf is taken to be
equally likely.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from models import costs
from models.costs import Stage
from models.inputs import WIRE_TYPES, Array
from models.tree_nodes import Ints, Tree

if TYPE_CHECKING:
    from models.trees_device import Trees

Floats = npt.NDArray[np.float64]
NODE_FLOOR = {"int8": 4.5, "int16": 7.5}
"""Cycles a node in straight-line code, the mean of its sides."""
FEW_SLOTS = 128
"""Up to here a byte holds twice the name of a feature."""
UNROLLED = 3
"""Scores whose loop the compiler unrolls."""
CALLS = 60
"""What surrounds the kernel."""
TYPICAL = "typical_steps"
"""Under this name `info` has the nodes that training samples passed, all trees together."""


@dataclass(frozen=True)
class Walk:
    """The cycles of one tree's nodes to either side (of its leaves both are the same), and beside them."""

    tree: Tree
    low: Ints
    high: Ints
    once: int

    def worst(self) -> int:
        """Of the nodes on the slowest way."""
        most = self.low.copy()
        for node in reversed(self.tree.order()):
            if self.tree.feature[node] >= 0:
                low = self.low[node] + most[self.tree.left[node]]
                most[node] = max(low, self.high[node] + most[self.tree.right[node]])
        return int(most[0])

    def inner(self, low: Floats, high: Floats) -> float:
        """Of the inner nodes, with these parts of the samples going to each one's sides."""
        return float(low @ self.low + high @ self.high)

    def leaf(self, low: Floats, high: Floats) -> float:
        """Of the leaf that is reached."""
        inner = self.tree.feature >= 0
        reached = np.zeros(len(low))
        reached[0] = 1.0
        np.add.at(reached, self.tree.left[inner], low[inner])
        np.add.at(reached, self.tree.right[inner], high[inner])
        return float(reached[~inner] @ self.low[~inner])


def steps(model: Trees, encoded: Array) -> float:
    """Nodes on a sample's way through all trees, on average."""
    passed = [
        sum(float(side.sum()) for side in tree.visits(encoded.astype(np.int64))) for tree in model.trees
    ]
    return sum(passed) / len(encoded)


def stages(model: Trees, *, streaming: bool, encoded: Array | None = None) -> list[Stage]:
    walks = _code_walks(model) if "code" in model.arrays else _table_walks(model, streaming)
    sides = [_sides(walk.tree, encoded) for walk in walks]
    counted = sum(float(low.sum() + high.sum()) for low, high in sides)
    told = float(model.info.get(TYPICAL, counted)) if encoded is None else counted
    ways = list(zip(walks, sides, strict=True))
    inner, leaves = (sum(of(walk, *parts) for walk, parts in ways) for of in (Walk.inner, Walk.leaf))
    once = _begin(model) + sum(walk.once for walk in walks)
    worst = once + sum(walk.worst() for walk in walks)
    tests = sum(walk.tree.inner for walk in walks)
    how = "as code" if "code" in model.arrays else "as a table"
    walked = Stage(
        "trees",
        f"{len(walks)} {how}, {told:.0f} of {tests} nodes on the way, at most {worst} cycles",
        model.flash_bytes - (4 * model.n_scores if model.boosted else 0) - _list_bytes(model, streaming),
        model.tallies * model.c_sizes()["tally_bytes"],
        costs.whole(once + leaves + inner * told / max(counted, 1.0)),
        costs.whole(NODE_FLOOR[model.numbers] * told),
        estimated=encoded is None and TYPICAL not in model.info,
    )
    return [walked, *([_keeping(model)] if streaming else []), _scores(model), costs.overhead(CALLS)]


def _list_bytes(model: Trees, streaming: bool = True) -> int:
    """What of the flash the stage that keeps features has."""
    return model.arrays["kept"].nbytes if "kept" in model.arrays and streaming else 0


def _sides(tree: Tree, encoded: Array | None) -> tuple[Floats, Floats]:
    """The part of the samples that go low, and high, at each node."""
    if encoded is not None:
        low, high = tree.visits(encoded.astype(np.int64))
        return low / len(encoded), high / len(encoded)
    below = tree.leaves_below()
    each = np.where(tree.feature >= 0, tree.ways_to() / below[0], 0.0)
    return each * below[tree.left], each * below[tree.right]


def _table_walks(model: Trees, streaming: bool) -> list[Walk]:
    sizes = model.c_sizes()
    wide = model.numbers == "int16"
    listed = "kept" in sizes and not streaming
    find = 16 + 2 * wide if listed else 3 + wide * (1 if sizes["slots"] <= FEW_SLOTS else 2)
    compare = (9 + 6 * wide) + 3 * (int(model.constants["skip_bytes"]) - 1)
    low = 5 + find + compare + 2
    take = {1: 9, 2: 23, 4: 37}[sizes["tally_bytes"]]
    found = []
    for tree in model.trees:
        inner = tree.feature >= 0
        ways = np.where(inner, low, 6 + take), np.where(inner, low + 3, 6 + take)
        found.append(Walk(tree, ways[0], ways[1], 11 + 5))
    return found


def _code_walks(model: Trees) -> list[Walk]:
    end = 0 if not model.boosted else (2 if model.c_sizes()["tally_bytes"] == 2 else 7)
    return [Walk(coded.tree, coded.low, coded.high, end) for coded in model.coded]


def _begin(model: Trees) -> int:
    """What the walk of all trees takes beside them."""
    tallies = model.tallies * model.c_sizes()["tally_bytes"]
    if "code" not in model.arrays:
        return 40 + 5 * tallies
    saved = max(0, tallies - 6 + (2 if model.boosted else 0))
    return 24 + 3 * tallies + 4 * saved


def _keeping(model: Trees) -> Stage:
    """Features that nodes speak of, kept as they come. The loops are the compiler's."""
    sizes = model.c_sizes()
    width = WIRE_TYPES[model.numbers].itemsize
    slots, listed = sizes["slots"], "kept" in sizes
    frames = ceil(model.n_features / (costs.PIECE_FEATURES // width))
    each, frame, once = (25 + 5 * width, 113, -40) if listed else (4 + 4 * width, 60 + 10 * width, -55)
    return Stage(
        "features",
        f"{slots} of {model.n_features} kept",
        _list_bytes(model),
        slots * width + (2 if listed else 0),
        slots * each + frames * frame + once,
    )


def _scores(model: Trees) -> Stage:
    scores = model.n_scores
    if model.boosted:
        each, flash = (44 if model.c_sizes()["tally_bytes"] == 2 else 40), 4 * scores
    else:
        # A few votes are compared where they are converted.
        each, flash = (0 if scores == UNROLLED else 17), 0
    return Stage("scores", f"{scores} and the largest", flash, 0, each * scores + costs.argmax(scores))
