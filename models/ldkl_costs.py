"""What LDKL takes of an AVR (models.costs).

Where the whole vector is at hand and the layout lets a row be read alone, only the rows on a sample's path
are summed. Sparse rows differ in length, so that the path matters: it is taken from samples where they are
given, else from what training has noted, or every branch is taken to be even.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from models import costs, costs_nodes, nibbles
from models.costs import Stage
from models.encoding import Dense8, Rows8
from models.inputs import Array
from models.nibbles import Dense4, Rows4

if TYPE_CHECKING:
    from models.ldkl_device import LdklInt8

Floats = npt.NDArray[np.float64]
TYPICAL = "typical_visits"
"""Under this name `info` has the part of training samples that reached each node."""
ALONE = (Dense8, Rows8, Dense4, Rows4)
"""Layouts whose rows can be read alone."""
FIND = {Dense8: 22, Dense4: 38, Rows8: 79, Rows4: 87}
PASS = 21
"""Cycles of calling for a row, and of passing over a sparse one on the way to it."""


def visits(model: LdklInt8, encoded: Array) -> Floats:
    """The part of the samples that reach each node."""
    branches = model.rows(encoded)[:, 2 * model.tree.rows :]
    sample, node = np.arange(len(encoded)), np.zeros(len(encoded), dtype=np.int64)
    reached = np.zeros(model.tree.nodes)
    reached[0] = 1.0
    for _ in range(model.tree.depth):
        node = 2 * node + 1 + (branches[sample, node] > 0)
        reached += np.bincount(node, minlength=model.tree.nodes) / len(encoded)
    return reached


def stages(model: LdklInt8, *, streaming: bool, encoded: Array | None = None) -> list[Stage]:
    width = model.c_sizes()["w_sum_bytes"]
    if streaming or nibbles.layout_of("w", model.arrays) not in ALONE:
        summed = nibbles.projection_stage("w", model.arrays, model.R.shape, width, streaming)
        return [summed, _nodes(model, width), costs.overhead(100)]
    if encoded is not None:
        reached = visits(model, encoded)
    else:
        reached = np.asarray(model.info.get(TYPICAL, _even(model)), dtype=np.float64)
    unknown = encoded is None and TYPICAL not in model.info
    return [_rows_on_path(model, width, reached, unknown), _nodes(model, width), costs.overhead(150)]


def _even(model: LdklInt8) -> Floats:
    """The part that reaches each node if every branch is even."""
    level = np.floor(np.log2(np.arange(model.tree.nodes) + 1))
    return np.asarray(0.5**level)


def _rows_on_path(model: LdklInt8, width: int, reached: Floats, estimated: bool) -> Stage:
    tree = model.tree
    cost, terms = _row_costs(model, width)
    inner = reached[: tree.branches]
    each = np.concatenate([np.repeat(reached, tree.scores), np.repeat(reached, tree.scores), inner])
    counts = model.arrays.get("w_counts")
    passed = 0.0 if counts is None else PASS * _passed(model)
    cycles = float(each @ cost) + passed
    layout = nibbles.layout_of("w", model.arrays)
    floor = (costs.SPARSE_FLOOR if counts is not None else costs.DENSE_FLOOR)[width]
    worst = costs.whole(_worst(model, cost) + passed)
    return Stage(
        "rows",
        f"{each.sum():.0f} on a path, of {len(each)} × {model.n_features} {layout.name}, "
        f"at most {worst} cycles",
        sum(model.arrays["w" + part].nbytes for part in layout.parts),
        4 * model.n_scores,
        costs.whole(cycles),
        costs.whole(floor * float(each @ terms)),
        estimated=estimated and counts is not None,
    )


def _passed(model: LdklInt8) -> float:
    """Rows before the last ones that the readers of predictors, gates and branches come to, on average."""
    tree = model.tree
    return 0.75 * (2 * (tree.nodes - 1) * tree.scores + max(0, tree.branches - 1))


def _row_costs(model: LdklInt8, width: int) -> tuple[Floats, Floats]:
    """Cycles of each row read alone, and its terms."""
    layout, features = nibbles.layout_of("w", model.arrays), model.n_features
    rows = len(model.R)
    if layout is Dense8:
        term = {2: 9, 3: 11, 4: 12}[width]
        cycles = features * term + (5 if width == 4 else 4) * ceil(features / 8) + FIND[layout]
        return np.full(rows, float(cycles)), np.full(rows, float(features))
    if layout is Dense4:
        rounds, rest = divmod(features // 2, 8)
        cycles = features // 2 * costs_nodes.PACKED[width] + 5 * rounds + 4 * rest + 14 * (features % 2)
        return np.full(rows, float(cycles + FIND[layout])), np.full(rows, float(features))
    counts = model.arrays["w_counts"].astype(np.float64)
    term = {2: 14, 3: 16, 4: 17}[width]
    return term * counts + 5 * (counts // 8) + 4 * (counts % 8) + FIND[layout], counts


def _worst(model: LdklInt8, cost: Floats) -> float:
    """The rows of the slowest path."""
    tree = model.tree
    node = cost[: 2 * tree.rows].reshape(2, tree.nodes, tree.scores).sum(axis=(0, 2))
    node[: tree.branches] += cost[2 * tree.rows :]
    for k in reversed(range(tree.branches)):
        node[k] += max(node[2 * k + 1], node[2 * k + 2])
    return float(node[0])


def _nodes(model: LdklInt8, width: int) -> Stage:
    """Rounding, offsets and gates along a path, and the largest score."""
    tree = model.tree
    scale = nibbles.scale_in_sums("w", model.arrays)
    shift = int(model.constants["v_shift"]) + scale.bit_length() - 1
    row = 32 + 4 * width + costs_nodes.places(width, shift)
    narrow = 0 if model.constants["w_shift"] == 0 else 30 + 10 * int(model.constants["w_shift"])
    levels = tree.depth + 1
    cycles = levels * tree.scores * (2 * row + narrow + 45) + tree.depth * (row + 15)
    return Stage(
        "nodes",
        f"{levels} on a path, {tree.scores} predictors and gates each, and the largest",
        model.arrays["b"].nbytes + 8,
        0,
        cycles + costs.argmax(tree.scores),
    )
