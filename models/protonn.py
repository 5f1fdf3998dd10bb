"""ProtoNN (Gupta et al., ICML 2017) as a scikit-learn classifier.

A sparse projection W to a few dimensions, prototypes B there, and their class scores Z, learnt together:

    score(x) = Σ_j z_j · exp(-γ²·|Wx - b_j|²)

By default the model is trained for the integers the device computes with; `to_device("int8")` is that model,
and `to_device("float32")` is float firmware of the same shape. solver="paper" is the paper's Algorithm 1, on
floats, rounded afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from models import encoding, protonn_init, protonn_math, protonn_paper, protonn_train
from models.augment import Shifts
from models.device import Array, DeviceModel, InputScale, paper_bytes
from models.errors import BudgetError, InputError
from models.optim import Params, largest, logistic_loss, one_hot, softmax_loss
from models.protonn_device import ProtoNNFloat, ProtoNNInt8
from models.protonn_math import Grid

SCALE_SAMPLES = 20_000
"""Samples that decide on the scale of the inputs."""
CHUNK = 4096
"""Samples encoded at once: encoding works in double precision, which large data would not fit into twice."""
GD_SAMPLES = 20_000
"""The paper's solver uses all samples in each step up to here, and batches of 512 beyond."""


class ProtoNNClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """ProtoNN for two or more classes.

    Parameters
    ----------
    projection_dim : dimensions that a sample is projected to.
    n_prototypes : prototypes of all classes together.
    solver : "default" trains all matrices at once for int8; "paper" is Algorithm 1.
    w_density : share of W's entries that may be non-zero.
    b_density, z_density : the same of B and Z, for the paper's solver; the default one keeps both dense.
    budget : largest flash size of the int8 model in bytes; the default solver prunes W as far as it takes.
    gamma : width of the kernel at the start. Default solver: a multiple of what makes neighbouring
        prototypes overlap. Paper's: a multiple of 2.5 / median distance.
    init : where W starts: "pca", "random" (Gaussian), "lmnn" (the paper's choice for many classes), or
        "auto": pca by default, random for the paper's solver.
    epochs : passes over the data (default: 60, fewer for large data); for the paper's solver, epochs in each
        block (default 20, or 5 on more than 20,000 samples).
    trained : which of "W", "B" and "Z" the paper's solver improves, as in "WZ"; the others stay fixed.
    rounds, n_init : alternating rounds of the paper's solver, and random starts of which the best is kept.
    batch_size : None grows with the data from 128 to 512.
    learning_rate, weight_decay, label_smoothing : of the default solver. A decay of None follows the number
        of features: few of them need larger weights to tell samples apart.
    image_shape : (height, width) if the features are pixels; training then also sees images moved by a pixel.
    random_state : seed of everything random.
    verbose : print the loss as training goes on.
    """

    def __init__(
        self,
        projection_dim: int = 10,
        n_prototypes: int = 20,
        *,
        solver: str = "default",
        w_density: float = 1.0,
        b_density: float = 0.8,
        z_density: float = 0.8,
        budget: int | None = None,
        gamma: float = 1.0,
        init: str = "auto",
        epochs: int | None = None,
        trained: str = "WBZ",
        rounds: int = 150,
        n_init: int = 1,
        batch_size: int | None = None,
        learning_rate: float = 0.01,
        weight_decay: float | None = None,
        label_smoothing: float = 0.0,
        image_shape: tuple[int, int] | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.projection_dim = projection_dim
        self.n_prototypes = n_prototypes
        self.solver = solver
        self.w_density = w_density
        self.b_density = b_density
        self.z_density = z_density
        self.budget = budget
        self.gamma = gamma
        self.init = init
        self.epochs = epochs
        self.trained = trained
        self.rounds = rounds
        self.n_init = n_init
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.label_smoothing = label_smoothing
        self.image_shape = image_shape
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> ProtoNNClassifier:
        """Train. Ctrl-C ends training early and keeps what has been learnt so far."""
        samples, given = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(given)
        self.classes_, labels = np.unique(given, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("ProtoNN needs samples of at least two classes; there is only one class.")
        solvers: dict[str, Callable[[Array, Array, float, np.random.Generator], None]] = {
            "default": self._fit_default,
            "paper": self._fit_paper,
        }
        if self.solver not in solvers:
            raise ValueError(f"solver is {self.solver!r}; it must be one of {', '.join(solvers)}.")
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        # The paper standardises every feature; by default the data decide.
        some = (
            samples
            if len(samples) <= SCALE_SAMPLES
            else samples[rng.permutation(len(samples))[:SCALE_SAMPLES]]
        )
        self.inputs_ = InputScale.for_data(some, "int8", True if self.solver == "paper" else None)
        x, x_unit = self._encoded(samples)
        # The matrices are too small to share among cores: threads would mostly wait for each other.
        with threadpool_limits(1):
            solvers[self.solver](x, labels, x_unit, rng)
        return self

    def decision_function(self, X: npt.ArrayLike) -> Array:
        """Scores of the float model, up to a positive factor a sample."""
        check_is_fitted(self)
        samples = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        x = (samples - self.inputs_.offset) / self.inputs_.step * self.grid_.x_unit
        found = protonn_math.scores(self._params, x)
        return found[:, 0] if len(self.classes_) == 2 else found

    def predict(self, X: npt.ArrayLike) -> Array:
        """Labels by the float model; the device's own are `to_device().predict(X)`."""
        found = self.decision_function(X)
        chosen = (found > 0).astype(int) if len(self.classes_) == 2 else found.argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    def to_device(self, numbers: str = "int8") -> DeviceModel:
        """The fitted model for firmware: int8 or float32."""
        check_is_fitted(self)
        return device_model(
            numbers,
            self._params,
            self.grid_,
            self.inputs_,
            classes=self.classes_,
            paper_size=self.paper_bytes_,
        )

    @property
    def shape_(self) -> dict[str, int]:
        """What was learnt, in numbers: dimensions, prototypes, non-zero weights."""
        return shape_of(self._params)

    def _encoded(self, samples: Array) -> tuple[Array, float]:
        """The integers the device is sent, as floats of unit deviation, and what one of them is in these."""
        x = np.empty(samples.shape, dtype=np.float32)
        for begin in range(0, len(samples), CHUNK):
            x[begin : begin + CHUNK] = self.inputs_.encode(samples[begin : begin + CHUNK])
        x_unit = 1.0 / max(float(x.std()), 1e-6)
        x *= np.float32(x_unit)
        return x, x_unit

    def _fit_default(self, x: Array, labels: Array, x_unit: float, rng: np.random.Generator) -> None:
        two = len(self.classes_) == 2
        start = protonn_init.start(
            x,
            labels,
            len(self.classes_),
            W=self._first_projection(x, labels, "pca", rng),
            prototypes=max(2, self.n_prototypes),
            gamma=self.gamma,
            rng=rng,
        )
        smoothing = self.label_smoothing
        targets = one_hot(labels, len(self.classes_), smoothing)
        learned = protonn_train.train(
            x,
            targets[:, 1:] if two else targets,
            start,
            x_unit=x_unit,
            loss_of=logistic_loss if two else softmax_loss,
            afford=self._afford,
            recipe=protonn_train.Recipe(
                epochs=protonn_train.usual_epochs(len(x)) if self.epochs is None else self.epochs,
                batch_size=self.batch_size or protonn_train.usual_batch(len(x)),
                learning_rate=self.learning_rate,
                weight_decay=(
                    protonn_train.usual_decay(x.shape[1]) if self.weight_decay is None else self.weight_decay
                ),
            ),
            rng=rng,
            augment=Shifts(*self.image_shape) if self.image_shape else None,
            progress=self._print if self.verbose else None,
        )
        self.n_iter_, self.loss_, self.grid_ = learned.epochs, learned.loss, learned.grid
        self._params = learned.params
        self.paper_bytes_ = paper_bytes(*learned.params.values())

    def _fit_paper(self, x: Array, labels: Array, x_unit: float, rng: np.random.Generator) -> None:
        if not self.trained or not set(self.trained) <= set(protonn_paper.ORDER):
            raise ValueError(f"trained is {self.trained!r}; it must be one or more of W, B and Z.")
        Y = one_hot(labels, len(self.classes_))
        small = len(x) <= GD_SAMPLES
        found = protonn_paper.fit(
            x,
            labels,
            Y,
            first_projection=lambda: self._first_projection(x, labels, "random", rng),
            prototypes=max(2, self.n_prototypes),
            gamma_factor=self.gamma,
            starts=self.n_init,
            recipe=protonn_paper.PaperRecipe(
                rounds=self.rounds,
                epochs=(20 if small else 5) if self.epochs is None else self.epochs,
                batch_size=self.batch_size or (None if small else 512),
                w_density=self.w_density,
                b_density=self.b_density,
                z_density=self.z_density,
                trained=self.trained,
            ),
            rng=rng,
            progress=self._print if self.verbose else None,
        )
        self.n_iter_, self.loss_ = found.rounds, found.loss
        self.paper_bytes_ = paper_bytes(*found.params.values())
        self._params = found.unit_gamma()
        if len(self.classes_) == 2:
            # Two classes need one score on the device: above zero where the second is the larger.
            self._params["Z"] = self._params["Z"][1:] - self._params["Z"][:1]
        self.grid_ = Grid.for_weights(self._params, x[:2000] @ self._params["W"].T, x_unit)

    def _first_projection(self, x: Array, labels: Array, auto: str, rng: np.random.Generator) -> Array:
        kind = auto if self.init == "auto" else self.init
        return protonn_init.projection(kind, x, labels, self.projection_dim, rng)

    def _afford(self, params: Params) -> dict[str, int]:
        W = params["W"]
        allowed = int(np.ceil(self.w_density * W.size))
        if self.budget is not None:
            nothing = np.zeros(W.shape, dtype=int)
            scores, prototypes = params["Z"].shape
            rest = ProtoNNInt8.flash_size(nothing, prototypes, scores) - encoding.best_bytes(nothing)
            allowed = min(allowed, weights_within(W, self.budget - rest))
        return {"W": allowed}

    def _print(self, step: int, loss: float) -> None:
        print(f"{'round' if self.solver == 'paper' else 'epoch'} {step}: loss {loss:.4f}")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_params")


def device_model(
    numbers: str, params: Params, grid: Grid, inputs: InputScale, *, classes: Any, paper_size: int
) -> DeviceModel:
    """Weights in units where γ is 1, as firmware."""
    about: dict[str, Any] = {"paper_bytes": paper_size, "info": shape_of(params)}
    if numbers == "int8":
        found = grid.integers(params)
        return ProtoNNInt8.from_integers(
            found["W"], found["B"], found["Z"], grid.z_shift, grid.exp_shift, inputs, classes, **about
        )
    if numbers == "float32":
        # Float firmware is sent features within ±1 where the integers had ±limit.
        W = params["W"] * (grid.x_unit * inputs.limit)
        return ProtoNNFloat.from_floats(W, params["B"], params["Z"], 1.0, inputs.float32(), classes, **about)
    raise InputError(f"ProtoNN has no firmware for {numbers}.", "Choose int8 or float32.")


def shape_of(params: Params) -> dict[str, int]:
    prototypes, dimensions = params["B"].shape
    nonzero = int(np.count_nonzero(params["W"]))
    return {"projection_dim": dimensions, "n_prototypes": prototypes, "w_nonzero": nonzero}


def weights_within(W: Array, spare: int) -> int:
    """How many of W's largest weights can be stored in so many bytes, in whatever layout is smallest."""
    if encoding.best_bytes(np.ones(W.shape, dtype=np.int8)) <= spare:
        return int(W.size)
    low, high = 0, W.size
    while low < high:
        middle = (low + high + 1) // 2
        if encoding.best_bytes(largest(W, middle).astype(np.int8)) <= spare:
            low = middle
        else:
            high = middle - 1
    if low == 0:
        raise BudgetError(
            "The prototypes alone exceed the byte budget.",
            "Take fewer prototypes or dimensions, or more bytes.",
        )
    return low
