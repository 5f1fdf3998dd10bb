"""Shapes of ProtoNN that are worth trying within a byte budget, best guess first.

The bytes are shared between the projection W and the prototypes with their scores; a shape is how many
dimensions and which share goes to W. What the prototypes leave is filled with as many weights of W as fit.
"""

from __future__ import annotations

from typing import Any

from models.arithmetic import EXP_TABLE
from models.search import Task

OVERHEAD = EXP_TABLE.nbytes + 8
EPOCHS = {"fast": 60, "normal": 100, "best": 200}
SHARES = (0.6, 0.45, 0.75, 0.3)
"""Shares of the bytes that go to W."""


def candidates(task: Task, budget: int, effort: str) -> list[dict[str, Any]]:
    """Parameters of ProtoNNClassifier."""
    found: list[dict[str, Any]] = []
    for decay in (4.0, 1.0):
        for share in SHARES:
            for dimensions in _dimensions(task, budget):
                shape = _shape(task, budget, dimensions, share)
                if shape and not any(_same(shape, other, decay) for other in found):
                    found.append({**shape, "budget": budget, "epochs": EPOCHS[effort], "weight_decay": decay})
    return found


def _dimensions(task: Task, budget: int) -> list[int]:
    middle = (budget / 12) ** 0.5
    sizes = [round(middle * factor) for factor in (1.0, 0.7, 1.4)]
    return [size for size in dict.fromkeys(sizes) if 2 <= size <= 2 * task.n_features]


def _shape(task: Task, budget: int, dimensions: int, share: float) -> dict[str, Any] | None:
    dense = dimensions * task.n_features
    for_w = min(share * (budget - OVERHEAD), dense)
    prototypes = int((budget - OVERHEAD - for_w) // (dimensions + task.n_scores))
    prototypes = min(prototypes, task.n_samples // 4)
    if prototypes < task.n_classes:
        return None
    return {"projection_dim": dimensions, "n_prototypes": prototypes}


def _same(shape: dict[str, Any], other: dict[str, Any], decay: float) -> bool:
    return bool(other["weight_decay"] == decay) and all(other[key] == value for key, value in shape.items())
