"""Shapes of Bonsai that are worth trying within a byte budget, best guess first.

The bytes are shared between the projection Z and the tree; a shape is a depth and a number of dimensions, and
what the tree leaves is filled with as many weights of Z as fit.
"""

from __future__ import annotations

from typing import Any

from models.bonsai_device import CONSTANTS
from models.bonsai_net import TreeShape
from models.device import CONSTANT_BYTES
from models.search import Task
from models.staged_estimator import schedule

LEAST_DENSITY = 0.18
"""Where more dimensions would leave each fewer weights than this share, they have not paid."""
EPOCHS = {"fast": 40, "normal": 100, "best": 200}


def candidates(task: Task, budget: int, effort: str) -> list[dict[str, Any]]:
    """Parameters of BonsaiClassifier."""
    found: list[dict[str, Any]] = []
    for guess in _guesses(task):
        shape = _shape(task, budget, guess)
        if shape is not None and shape not in found:
            found.append(shape)
    # So few dimensions hardly tell the classes apart: only where nothing else fits.
    found.sort(key=lambda shape: shape["projection_dim"] < 0.6 * task.n_scores)
    return [{**shape, "budget": budget, **schedule(task, EPOCHS[effort])} for shape in found]


Guess = tuple[int, int, float, bool]
"""Depth, bits of a tree's weight, the share of the bytes for the tree, and whether z saturates."""

TWO_CLASSES: tuple[Guess, ...] = (
    (2, 4, 0.18, True),
    (2, 8, 0.28, False),
    (2, 4, 0.28, True),
    (3, 4, 0.28, True),
    (1, 4, 0.15, True),
    (3, 4, 0.4, True),
    (2, 4, 0.18, False),
    (2, 8, 0.28, True),
    (4, 4, 0.4, True),
    (1, 8, 0.2, False),
)
MANY_CLASSES: tuple[Guess, ...] = (
    (2, 4, 0.4, True),
    (2, 4, 0.16, True),
    (1, 4, 0.4, True),
    (0, 4, 0.25, True),
    (2, 4, 0.3, False),
    (3, 4, 0.5, True),
    (1, 4, 0.2, True),
    (1, 4, 0.55, False),
    (2, 4, 0.55, True),
    (3, 4, 0.5, False),
    (0, 8, 0.3, True),
    (1, 8, 0.4, True),
)
FEW_FEATURES: tuple[Guess, ...] = (
    (4, 4, 0.92, True),
    (3, 4, 0.92, True),
    (4, 4, 0.8, True),
    (3, 4, 0.8, True),
    (3, 8, 0.92, True),
    (4, 4, 0.92, False),
    (2, 4, 0.8, True),
)
"""Fewer features than classes: the projection costs next to nothing, so the tree may have nearly all."""


def _few_features(task: Task) -> bool:
    return task.n_features < 2 * task.n_classes


def _guesses(task: Task) -> tuple[Guess, ...]:
    if _few_features(task):
        return FEW_FEATURES + MANY_CLASSES
    return TWO_CLASSES if task.n_classes == 2 else MANY_CLASSES


def _shape(task: Task, budget: int, guess: Guess) -> dict[str, Any] | None:
    """As many dimensions as the tree's share allows, none of them so sparse that it sees next to nothing."""
    depth, tree_bits, share, saturate = guess
    tree = TreeShape(depth, task.n_scores)
    room = budget - CONSTANT_BYTES * len(CONSTANTS)
    column = (2 * tree.rows + tree.branches) * tree_bits / 8
    by_tree = int((share * room - column) / (column + 2))
    least = max(2.0, LEAST_DENSITY * task.n_features)
    by_projection = int((room - column) / (column + 3 + least))
    dimensions = min(by_tree, by_projection, max(64, task.n_features // 4))
    if tree_bits == 4 and dimensions % 2 == 0:
        dimensions -= 1  # With the constant an even number of weights a row, which fills whole bytes.
    if dimensions < 2:
        return None
    return {
        "depth": depth,
        "projection_dim": dimensions,
        "tree_bits": tree_bits,
        "z_bits": 8 if _few_features(task) else 4,
        "weight_decay": 0.02 if _few_features(task) else 0.1,
        "saturate": saturate,
    }
