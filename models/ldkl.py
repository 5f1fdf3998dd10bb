"""LDKL (Jose et al., ICML 2013) as a scikit-learn classifier, and with L1 regularisation LDKL-L1.

A tree of linear branches on the features, all of whose nodes predict; the kernel that it learns is local and
composed along the path:

    y(x) = Σ_k I_k(x) · W_k·x ∘ tanh(V_k·x)     at node k to the right if T_k·x > 0

The paper's is for two classes; here each node has as many predictors as there are scores. It is Bonsai
without the projection, which is why it takes so many more bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from models.bonsai_net import TreeShape
from models.device import CONSTANT_BYTES, Array, DeviceModel, paper_bytes
from models.errors import InputError
from models.ldkl_device import CONSTANTS, LdklFloat, LdklInt8
from models.ldkl_net import LdklNetwork
from models.search import Task
from models.staged_estimator import StagedClassifier, schedule

L1_STRENGTH = 0.3
"""How far a weight goes to zero in each step, as a part of the longest step that it could take otherwise."""
EPOCHS = {"fast": 40, "normal": 80, "best": 160}


class LDKLClassifier(StagedClassifier):
    """LDKL for two or more classes.

    Parameters
    ----------
    depth : of the tree.
    penalty : "l2" or "l1"; l1 drives weights to zero while it learns (LDKL-L1).
    density : share of the weights that may be non-zero.
    budget : largest flash size of the int8 model in bytes; weights are pruned as far as it takes.
    bits : 4 or 8, the size of a weight.
    epochs, batch_size, learning_rate, weight_decay, label_smoothing : the schedule.
    image, jitter : see BonsaiClassifier.
    random_state : seed of everything random.
    verbose : print a line after each epoch.
    """

    def __init__(
        self,
        depth: int = 2,
        penalty: str = "l2",
        *,
        density: float = 1.0,
        budget: int | None = None,
        bits: int = 8,
        epochs: int = 60,
        batch_size: int = 128,
        learning_rate: float = 0.02,
        weight_decay: float = 0.1,
        label_smoothing: float = 0.0,
        image: tuple[int, int] | None = None,
        jitter: float = 0.0,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.depth = depth
        self.penalty = penalty
        self.density = density
        self.budget = budget
        self.bits = bits
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.label_smoothing = label_smoothing
        self.image = image
        self.jitter = jitter
        self.random_state = random_state
        self.verbose = verbose

    def to_device(self, numbers: str = "int8") -> DeviceModel:
        check_is_fitted(self)
        network = self._network
        R = network.integers("R")
        info = {"depth": self.depth, "nonzero": int(np.count_nonzero(R))}
        about: dict[str, Any] = {"paper_bytes": paper_bytes(R), "info": info}
        if numbers == "int8":
            return LdklInt8.from_integers(
                R,
                network.integers("b"),
                self.inputs_,
                self.classes_,
                v_shift=network.v_shift,
                limit=network.limits["R"],
                **about,
            )
        if numbers == "float32":
            floats = network.weights("R"), network.weights("b")
            return LdklFloat.from_floats(*floats, self.inputs_.float32(), self.classes_, **about)
        raise InputError(f"LDKL has no firmware for {numbers}.", "Choose int8 or float32.")

    def _start(self, x: Array, rng: np.random.Generator) -> LdklNetwork:
        if self.penalty not in ("l1", "l2"):
            raise InputError(f"LDKL has no penalty {self.penalty!r}.", "Choose l1 or l2.")
        self._check_least(depth=0, epochs=1)
        return LdklNetwork.start(
            TreeShape(self.depth, self._n_scores),
            x,
            rng,
            input_limit=self.inputs_.limit,
            weight_limit=self._limit(self.bits),
            afford=self._afford,
            l1=L1_STRENGTH if self.penalty == "l1" else 0.0,
        )

    def _afford(self, importance: Array) -> int:
        """With L1, what has gone to zero stays there."""
        count = super()._afford(importance)
        return min(count, max(1, int(np.count_nonzero(importance)))) if self.penalty == "l1" else count

    def _size(self, kept: Array) -> int:
        return LdklInt8.flash_size(kept, self._limit(self.bits))


def candidates(task: Task, budget: int, effort: str, penalty: str = "l2") -> list[dict[str, Any]]:
    """Shapes worth trying: trees whose rows get at least a few weights each."""
    found = []
    for depth in (2, 1, 3, 0, 4):
        tree = TreeShape(depth, task.n_scores)
        rows = 2 * tree.rows + tree.branches
        spare = budget - 3 * rows - CONSTANT_BYTES * len(CONSTANTS)
        if spare >= rows * max(1.0, 0.02 * task.n_features):
            found += [{"depth": depth, "bits": bits, "penalty": penalty} for bits in (4, 8)]
    return [{**shape, "budget": budget, **schedule(task, EPOCHS[effort])} for shape in found]


def candidates_l1(task: Task, budget: int, effort: str) -> list[dict[str, Any]]:
    return candidates(task, budget, effort, "l1")
