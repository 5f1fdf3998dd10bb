"""Shapes of Bonsai that are worth trying within a byte budget, best guess first.

The bytes are shared between the projection Z and the tree. A guess is a depth and how many bytes a row of Z
should have; that gives the number of dimensions, and what is left is filled with as many weights of Z as fit.

The lists, their order and every constant here were chosen on validation splits of the training data of usps-2
(512, 1024 and 2048 bytes), usps-10 (4 and 16 kB), digits (1 and 2 kB), letter-26 (16 kB), and of 27,000
training images of mnist-2 (2 kB) and mnist-10 (16 kB): three quarters to learn from, one to judge by.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from models.bonsai_device import CONSTANTS
from models.bonsai_net import TreeShape
from models.device import CONSTANT_BYTES
from models.search import Task
from models.staged_estimator import schedule

EPOCHS = {"fast": 40, "normal": 100, "best": 200}
LARGE = 30000
"""Samples from which a training takes so long that fewer guesses are tried."""
ON_LARGE = {"fast": 2, "normal": 3, "best": 8}
LEARNING_RATE = 0.02
STEADY_DIMENSIONS = 30
"""One score that is the sum of more dimensions swings too far at that rate: on 3,000 training images
of mnist-2 held back, half of it was better by 0.3 % with 107 dimensions."""
TREE_BITS = 4
OFFSET_AND_COUNT = 3
"""Bytes of a dimension beside its weights."""
MOST_DIMENSIONS = 191
"""z and the sums that it is rounded from must fit into a small chip's RAM."""


@dataclass(frozen=True)
class Guess:
    depth: int
    row: float
    """Bytes of a row of Z as a share of the features; half a byte a feature is a row without zeros."""
    decay: float = 1.0
    """Weight decay, as a multiple of the usual one."""
    rate: float = 1.0
    """The learning rate likewise."""


TWO_CLASSES = (
    Guess(1, 0.18),
    Guess(2, 0.18),
    Guess(3, 0.12),
    Guess(3, 0.18),
    Guess(2, 0.27),
    Guess(1, 0.18, decay=3.0),
    Guess(2, 0.12),
    Guess(1, 0.18, decay=0.3),
    Guess(1, 0.27),
    Guess(3, 0.27),
    Guess(2, 0.18, decay=3.0),
    Guess(1, 0.12),
)
MANY_CLASSES = (
    Guess(0, 0.18),
    Guess(1, 0.18),
    Guess(0, 0.3),
    Guess(2, 0.18),
    Guess(1, 0.3),
    Guess(0, 0.18, decay=3.0),
    Guess(1, 0.5),
    Guess(0, 0.18, decay=0.3),
    Guess(0, 0.5),
    Guess(2, 0.5),
    Guess(2, 0.3),
    Guess(3, 0.5),
)
FEW_FEATURES = (
    Guess(3, 0.5, rate=0.5),
    Guess(3, 0.5),
    Guess(4, 0.5),
    Guess(3, 0.5, decay=2.0),
    Guess(4, 0.5, rate=0.5),
    Guess(3, 0.5, decay=0.5, rate=0.5),
    Guess(2, 0.5),
    Guess(1, 0.5),
    Guess(4, 0.5, decay=0.5),
    Guess(0, 0.5),
)
"""Fewer features than twice the classes: the projection costs next to nothing, the tree has nearly all."""


def candidates(task: Task, budget: int, effort: str) -> list[dict[str, Any]]:
    """Parameters of BonsaiClassifier."""
    found: list[dict[str, Any]] = []
    for guess in _guesses(task):
        shape = _shape(task, budget, guess)
        if shape is not None and shape not in found:
            found.append(shape)
    # So few dimensions hardly tell the classes apart: only where nothing else fits.
    found.sort(key=lambda shape: shape["projection_dim"] < 0.6 * task.n_scores)
    if task.n_samples >= LARGE:
        found = found[: ON_LARGE[effort]]
    return [{**shape, "budget": budget, **schedule(task, EPOCHS[effort])} for shape in found]


def _few_features(task: Task) -> bool:
    return task.n_features < 2 * task.n_classes


def _guesses(task: Task) -> tuple[Guess, ...]:
    if _few_features(task):
        return FEW_FEATURES
    return TWO_CLASSES if task.n_classes == 2 else MANY_CLASSES


def _shape(task: Task, budget: int, guess: Guess) -> dict[str, Any] | None:
    """As many dimensions as there is room for, if each is to have that many weights."""
    z_bits, decay = (8, 0.03) if _few_features(task) else (4, 0.1)
    tree = TreeShape(guess.depth, task.n_scores)
    room = budget - CONSTANT_BYTES * len(CONSTANTS)
    column = (2 * tree.rows + tree.branches) * TREE_BITS / 8
    row = max(2.0, guess.row * z_bits / 4 * task.n_features)
    dimensions = min(int((room - column) / (column + OFFSET_AND_COUNT + row)), MOST_DIMENSIONS)
    if dimensions % 2 == 0:
        dimensions -= 1  # With the constant an even number of weights a row, which fills whole bytes.
    if dimensions < 2:
        return None
    slower = (STEADY_DIMENSIONS / dimensions) ** 0.5 if task.n_scores == 1 else 1.0
    return {
        "depth": guess.depth,
        "projection_dim": dimensions,
        "tree_bits": TREE_BITS,
        "z_bits": z_bits,
        "weight_decay": decay * guess.decay,
        "learning_rate": LEARNING_RATE * guess.rate * min(1.0, slower),
        "saturate": True,
    }
