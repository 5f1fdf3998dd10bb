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
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from models import bonsai_paper, nibbles, staged
from models.bonsai_device import WEIGHTS, BonsaiFloat, BonsaiInt8
from models.bonsai_net import TreeShape
from models.bonsai_train import BonsaiNetwork
from models.device import Array, DeviceModel, InputScale, paper_bytes
from models.errors import BudgetError, InputError

Labels = npt.NDArray[np.int64]
SOLVERS = ("default", "paper")
BITS = {4: nibbles.LIMIT, 8: 127}


class BonsaiClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Bonsai for two or more classes.

    Parameters
    ----------
    depth : of the tree; 0 is a single node.
    projection_dim : dimensions that a sample is projected to.
    z_density : share of Z's entries that may be non-zero.
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
        z_density: float = 1.0,
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
        self.z_density = z_density
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

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> BonsaiClassifier:
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("Bonsai needs samples of at least two classes; there is only one class.")
        if self.solver not in SOLVERS:
            raise InputError(f"Bonsai has no solver {self.solver!r}.", f"Choose {' or '.join(SOLVERS)}.")
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        self.inputs_ = InputScale.for_data(X, "int8")
        x = self.inputs_.encode(X).astype(np.float32) / np.float32(self.inputs_.limit)
        scores = 1 if len(self.classes_) == 2 else len(self.classes_)
        self.tree_ = TreeShape(self.depth, scores)
        train = self._fit_paper if self.solver == "paper" else self._fit_default
        self._network = train(x, labels, rng)
        return self

    def decision_function(self, X: npt.ArrayLike) -> Array:
        """Scores of the device's integers, in the units of training."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        model = self.to_device("int8")
        found = model.scores(model.encode(X)).astype(np.float64) * self._score_step()
        return np.asarray(found[:, 0] if len(self.classes_) == 2 else found)

    def predict(self, X: npt.ArrayLike) -> Array:
        """Labels by the integer model, which is what was trained."""
        found = self.decision_function(X)
        chosen = (found > 0).astype(int) if len(self.classes_) == 2 else found.argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    def to_device(self, numbers: str = "int8") -> DeviceModel:
        """The fitted model for firmware: int8 or float32."""
        check_is_fitted(self)
        network = self._network
        about: dict[str, Any] = {"paper_bytes": self._paper_bytes(), "info": self.shape_}
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
        return {"depth": self.depth, "projection_dim": Z.shape[0], "z_nonzero": int(np.count_nonzero(Z))}

    def _fit_default(self, x: Array, labels: Labels, rng: np.random.Generator) -> BonsaiNetwork:
        network = BonsaiNetwork.start(
            self.tree_,
            x,
            rng,
            dimensions=self.projection_dim,
            input_limit=self.inputs_.limit,
            weight_limits=self._limits(),
            afford={"Z": self._afford},
            saturate=self.saturate,
            sharpness=(1.0, self.sharpness),
        )
        schedule = staged.Schedule(
            self.epochs, self.batch_size, rate=self.learning_rate, decay=self.weight_decay
        )
        staged.train(
            network,
            x,
            staged.targets(labels, len(self.classes_), self.label_smoothing),
            schedule,
            rng,
            relative=frozenset({"Z"}),
            augment=staged.augmentation(self.image, self.jitter, x, rng),
            progress=print if self.verbose else None,
        )
        return network

    def _fit_paper(self, x: Array, labels: Labels, rng: np.random.Generator) -> BonsaiNetwork:
        options = bonsai_paper.Options(**(self.paper or {}))
        params = bonsai_paper.train(
            self.tree_,
            x,
            labels,
            rng,
            dimensions=self.projection_dim,
            options=options,
            afford=self._afford,
            progress=print if self.verbose else None,
        )
        network = BonsaiNetwork(
            self.tree_,
            params,
            input_limit=self.inputs_.limit,
            weight_limits=self._limits(),
            afford={},
            spread=x.std(axis=0),
        )
        network.steps = network.calibrate(x[: staged.CALIBRATION])
        return network

    def _limits(self) -> dict[str, int]:
        for bits in (self.z_bits, self.tree_bits):
            if bits not in BITS:
                raise InputError(f"A weight has {bits} bits.", "Choose 4 or 8.")
        return {"Z": BITS[self.z_bits], **dict.fromkeys("WVT", BITS[self.tree_bits])}

    def _afford(self, importance: Array) -> int:
        """How many weights of Z there is room for: by density, and by what the tree leaves of the budget."""
        allowed = int(np.ceil(self.z_density * importance.size))
        if self.budget is None:
            return allowed
        limits = self._limits()

        def size(kept: Array) -> int:
            return BonsaiInt8.flash_size(kept, self.tree_.rows, self.tree_.branches, limits)

        count = staged.affordable(importance, size, self.budget)
        if count < 1:
            raise BudgetError(
                f"The tree alone exceeds {self.budget} bytes.",
                "Take a lower tree, fewer dimensions, or more bytes.",
            )
        return min(allowed, count)

    def _score_step(self) -> float:
        """What 1 means in a score of the device."""
        network = self._network
        device = self.to_device("int8")
        return float(network.steps["W"]) * 2.0 ** int(device.constants["w_shift"]) / 127**2

    def _paper_bytes(self) -> int:
        return paper_bytes(*(self._network.integers(name) for name in "ZWVT"))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_network")
