"""Shapes of ProtoNN that are worth trying within a byte budget, best guess first.

The bytes are shared between the projection W and the prototypes with their scores; a shape is how many
dimensions and which share goes to W. What the prototypes leave is filled with as many weights of W as fit.
First comes the usual choice of everything, then what differs from it in one respect, then in two.

The usual choices were settled on quarters held out of the training data of digits, usps-2, usps-10, letter-26
(two to six splits each, 0.5 to 16 kB) and mnist-2 (two splits, 2 kB). 0.7 or 1.4 times the dimensions, or a
share of 0.45 or 0.75, won 0.3 % at most on any of them and lost more on others; only digits in 1 kB liked 0.7
times the dimensions better by 0.8 %. Nothing was varied on mnist-10 but moved images, on one split. The
search tries all of these.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

from models.arithmetic import EXP_TABLE
from models.device import CONSTANT_BYTES
from models.protonn_train import usual_decay, usual_epochs
from models.search import Task

OVERHEAD = EXP_TABLE.nbytes + 2 * CONSTANT_BYTES
STEPS = {"fast": 2500, "normal": 8000, "best": 16000}
"""What an effort may cost. Twice as many steps still gain 0.2 % on usps, except in 512 bytes."""
EPOCHS = {"fast": 60, "normal": 120, "best": 240}
"""The most epochs, where STEPS would take more."""
SHIFTS_FROM = 12
"""Pixels of an image's shorter side from which moved images help. By a pixel, that is: much of a small image.
On validation data they gain up to 0.5 % on usps and mnist (nothing in the smallest budgets), and lose 0.5 to
1.3 % on digits."""

Choice = dict[str, float]
USUAL: Choice = {
    "dimensions": 1.0,
    "share": 0.6,
    "decay": 1.0,
    "rate": 1.0,
    "smoothing": 0.0,
    "epochs": 1.0,
    "other_shifts": 0.0,
}
CHANGES: tuple[Choice, ...] = (
    {"other_shifts": 1.0},
    {"decay": 3.0},
    {"epochs": 0.5},
    {"dimensions": 1.4},
    {"decay": 0.3},
    {"share": 0.45},
    {"dimensions": 0.7},
    {"share": 0.75},
    {"rate": 2.0},
    {"smoothing": 0.05},
)


def candidates(task: Task, budget: int, effort: str) -> list[dict[str, Any]]:
    """Parameters of ProtoNNClassifier."""
    changes = [c for c in CHANGES if task.image or "other_shifts" not in c]
    choices = [USUAL, *({**USUAL, **c} for c in changes)]
    choices += [{**USUAL, **a, **b} for a, b in combinations(changes, 2) if not a.keys() & b.keys()]
    found: list[dict[str, Any]] = []
    for choice in choices:
        params = _params(task, budget, effort, choice)
        if params is not None and params not in found:
            found.append(params)
    return found


def _usual_dimensions(task: Task, budget: int, factor: float) -> int:
    """10 in half a kilobyte, 34 in sixteen; few features need no more."""
    wanted: float = 1.13 * budget**0.35
    most = min(wanted, 1.25 * task.n_features)
    return max(2, round(factor * most))


def _params(task: Task, budget: int, effort: str, choice: Choice) -> dict[str, Any] | None:
    dimensions = _usual_dimensions(task, budget, choice["dimensions"])
    for_w = min(choice["share"] * (budget - OVERHEAD), dimensions * task.n_features)
    prototypes = int((budget - OVERHEAD - for_w) // (dimensions + task.n_scores))
    prototypes = min(prototypes, task.n_samples // 4)
    if prototypes < task.n_classes:
        return None
    shifts = task.image is not None and (min(task.image) >= SHIFTS_FROM) != bool(choice["other_shifts"])
    return {
        "projection_dim": dimensions,
        "n_prototypes": prototypes,
        "budget": budget,
        "epochs": round(usual_epochs(task.n_samples, STEPS[effort], EPOCHS[effort]) * choice["epochs"]),
        "weight_decay": usual_decay(task.n_features) * choice["decay"],
        "learning_rate": (0.01 if task.image else 0.02) * choice["rate"],
        "label_smoothing": choice["smoothing"],
        "image_shape": task.image if shifts else None,
    }
