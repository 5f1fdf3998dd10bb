"""Bonsai (Kumar et al., ICML 2017) as a scikit-learn classifier.

A sparse projection Z to a few dimensions and one shallow tree there, all of whose nodes predict; a point's
scores are the sum over the nodes on its path, and everything is learnt together:

    y(x) = Σ_k I_k(x) · W_k·z ∘ tanh(V_k·z)     z = Z·x + b     at node k to the right if T_k·z > 0

`solver="default"` trains for the integers the device computes with; `solver="paper"` is the paper's
algorithm, rounded afterwards. `to_device("int8")` is the integer model, `to_device("float32")` float firmware
of its shape.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from models import bonsai_paper, staged
from models.bonsai_device import WEIGHTS, BonsaiFloat, BonsaiInt8
from models.bonsai_net import TreeShape
from models.bonsai_train import BonsaiNetwork
from models.device import Array, DeviceModel, paper_bytes
from models.errors import InputError
from models.staged_estimator import Labels, StagedClassifier

SOLVERS = ("default", "paper")


class BonsaiClassifier(StagedClassifier):
    """Bonsai for two or more classes.

    Parameters
    ----------
    depth : of the tree; 0 is a single node.
    projection_dim : dimensions that a sample is projected to.
    density : share of Z's entries that may be non-zero.
    budget : largest flash size of the int8 model in bytes; Z is pruned as far as it takes. None: no limit.
    z_bits, tree_bits : 4 or 8, the size of a weight of Z, and of one of W, V and T.
    saturate : train with z clipped to ±1 from the start, which makes switching units of the projections.
    solver : "default" or "paper".
    sharpness : σ_I at the end, when points have settled for one path each.
    epochs, batch_size, learning_rate, weight_decay, label_smoothing : the schedule of the default solver.
    image : height and width if the features are pixels; training then jitters the images.
    jitter : strength of that; or of the noise, as a part of a feature's spread, for other features.
    paper : options of the paper's solver, see models.bonsai_paper.Options.
    random_state : seed of everything random.
    verbose : print a line after each epoch.
    """

    def __init__(
        self,
        depth: int = 2,
        projection_dim: int = 10,
        *,
        density: float = 1.0,
        budget: int | None = None,
        z_bits: int = 4,
        tree_bits: int = 8,
        saturate: bool = False,
        solver: str = "default",
        sharpness: float = 20.0,
        epochs: int = 60,
        batch_size: int = 128,
        learning_rate: float = 0.02,
        weight_decay: float = 0.1,
        label_smoothing: float = 0.0,
        image: tuple[int, int] | None = None,
        jitter: float = 0.0,
        paper: Mapping[str, Any] | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.depth = depth
        self.projection_dim = projection_dim
        self.density = density
        self.budget = budget
        self.z_bits = z_bits
        self.tree_bits = tree_bits
        self.saturate = saturate
        self.solver = solver
        self.sharpness = sharpness
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.label_smoothing = label_smoothing
        self.image = image
        self.jitter = jitter
        self.paper = paper
        self.random_state = random_state
        self.verbose = verbose

    def to_device(self, numbers: str = "int8") -> DeviceModel:
        check_is_fitted(self)
        network = self._network
        about: dict[str, Any] = {
            "paper_bytes": paper_bytes(*(network.integers(name) for name in "ZWVT")),
            "info": self.shape_,
        }
        if numbers == "int8":
            return BonsaiInt8.from_integers(
                {name: network.integers(name) for name in WEIGHTS},
                self.inputs_,
                self.classes_,
                z_shift=network.z_shift,
                v_shift=network.v_shift,
                limits=network.limits,
                **about,
            )
        if numbers == "float32":
            floats = {name: network.weights(name) for name in WEIGHTS}
            return BonsaiFloat.from_floats(floats, self.inputs_.float32(), self.classes_, **about)
        raise InputError(f"Bonsai has no firmware for {numbers}.", "Choose int8 or float32.")

    @property
    def shape_(self) -> dict[str, int]:
        """What was learnt, in numbers: depth, dimensions, non-zero weights of the projection."""
        Z = self._network.integers("Z")
        return {"depth": self.depth, "projection_dim": Z.shape[0], "nonzero": int(np.count_nonzero(Z))}

    @property
    def _tree(self) -> TreeShape:
        return TreeShape(self.depth, self._n_scores)

    def _trained(self, x: Array, labels: Labels, rng: np.random.Generator) -> BonsaiNetwork:
        if self.solver not in SOLVERS:
            raise InputError(f"Bonsai has no solver {self.solver!r}.", f"Choose {' or '.join(SOLVERS)}.")
        self._check_least(depth=0, projection_dim=1, epochs=1)
        if self.solver == "paper":
            return self._trained_as_in_the_paper(x, labels, rng)
        network: BonsaiNetwork = super()._trained(x, labels, rng)
        return network

    def _start(self, x: Array, rng: np.random.Generator) -> BonsaiNetwork:
        return BonsaiNetwork.start(
            self._tree,
            x,
            rng,
            dimensions=self.projection_dim,
            input_limit=self.inputs_.limit,
            weight_limits=self._limits(),
            afford={"Z": self._afford},
            saturate=self.saturate,
            sharpness=(1.0, self.sharpness),
        )

    def _trained_as_in_the_paper(self, x: Array, labels: Labels, rng: np.random.Generator) -> BonsaiNetwork:
        params = bonsai_paper.train(
            self._tree,
            x,
            labels,
            rng,
            dimensions=self.projection_dim,
            options=bonsai_paper.Options(**(self.paper or {})),
            afford=self._afford,
            progress=print if self.verbose else None,
        )
        network = BonsaiNetwork(
            self._tree,
            params,
            input_limit=self.inputs_.limit,
            weight_limits=self._limits(),
            afford={},
            spread=x.std(axis=0),
        )
        network.steps = network.calibrate(x[: staged.CALIBRATION])
        network.anneal(1.0)
        return network

    def _limits(self) -> dict[str, int]:
        return {"Z": self._limit(self.z_bits), **dict.fromkeys("WVT", self._limit(self.tree_bits))}

    def _size(self, kept: Array) -> int:
        return BonsaiInt8.flash_size(kept, self._tree.rows, self._tree.branches, self._limits())
