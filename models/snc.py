"""Stochastic Neighbor Compression (Kusner et al., ICML 2014) as a scikit-learn classifier.

The training set is compressed to a few synthetic samples Z with fixed labels, placed such that the
stochastic 1-NN rule among them classifies the training set: minimise -Σ log p_i (eq. 5), where p_i is the
probability that sample i's neighbour is of its own class (eq. 2, 3), by conjugate gradients. (The gradient
printed as eq. (6) is that of the likelihood; descent needs its opposite, as finite differences confirm.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from models.conjugate import minimise
from models.device import Array
from models.errors import InputError
from models.nearest import Labels, NearestPrototypeClassifier, Prototypes, class_sample
from models.prototypes import affordable
from models.search import Task
from models.soft_neighbours import SoftNeighbours, beyond, log_loss

METRICS = ("scale", "diagonal", "linear")
FACTORS = (1.0, 0.5, 2.0)
"""Multiples of the likeliest γ² that cross-validation chooses from."""
TRIAL_SAMPLES = 6000
TRIAL_ITERATIONS = 40


class SNCClassifier(NearestPrototypeClassifier):
    """Stochastic Neighbor Compression.

    Parameters
    ----------
    n_prototypes : size of the compressed set; None: `ratio` of the training set.
    ratio : the compression ratio, 0.04 is the paper's 4 %.
    metric : A of eq. (7): "scale" (γ·I), "diagonal" (a learnt weight a feature) or "linear" (r × d).
    n_components : r of the linear metric; None: half the features, but at least two.
    gamma : γ² in units of the likeliest value for the start; None: by cross-validation.
    max_iter : iterations of conjugate gradients.
    search : how neighbours are found: "exhaustive", "ball_tree" or "lsh".
    random_state : seed of the start and of the folds.
    verbose : print the loss after each iteration.
    """

    def __init__(
        self,
        n_prototypes: int | None = None,
        *,
        ratio: float = 0.04,
        metric: str = "scale",
        n_components: int | None = None,
        gamma: float | None = None,
        max_iter: int = 150,
        search: str = "exhaustive",
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_prototypes = n_prototypes
        self.ratio = ratio
        self.metric = metric
        self.n_components = n_components
        self.gamma = gamma
        self.max_iter = max_iter
        self.search = search
        self.random_state = random_state
        self.verbose = verbose

    def _learn(self, x: Array, labels: Labels, rng: np.random.Generator) -> Prototypes:
        if self.metric not in METRICS:
            raise InputError(f"There is no metric {self.metric!r}.", f"Choose {', '.join(METRICS)}.")
        classes = len(self.classes_)
        count = self.n_prototypes or round(self.ratio * len(labels))
        chosen = class_sample(labels, min(max(count, classes), len(labels)), rng)
        self.n_iter_, self.loss_, self.interrupted_ = 0, np.inf, True
        try:
            self.gamma_ = likeliest_gamma(x, labels, chosen, rng)
            self.gamma_ *= self.gamma or self._cross_validated(x, labels, len(chosen) / len(labels), rng)
        except KeyboardInterrupt:
            return Prototypes(x[chosen], labels[chosen])
        space = _space(self.metric, x, self.gamma_, self.n_components)
        found = compress(
            x,
            labels,
            chosen,
            space,
            iterations=self.max_iter,
            bound=self.bound_ if self.metric == "scale" else np.inf,
            after=self._after("snc"),
        )
        self.n_iter_, self.loss_, self.interrupted_ = found.iterations, found.loss, found.interrupted
        return found.prototypes

    def _cross_validated(self, x: Array, labels: Labels, ratio: float, rng: np.random.Generator) -> float:
        """The multiple of the likeliest γ² whose compressed set has the least 1-NN error on held-out data."""
        some = rng.permutation(len(labels))[:TRIAL_SAMPLES]
        cut = len(some) * 3 // 4
        _, kept = np.unique(labels[some[:cut]], return_inverse=True)
        train, valid = some[:cut], some[cut:]
        if len(valid) == 0 or len(np.unique(labels[train])) < len(self.classes_):
            return FACTORS[0]
        count = max(len(self.classes_), round(ratio * cut))
        chosen = class_sample(kept, count, rng)
        likeliest = likeliest_gamma(x[train], labels[train], chosen, rng)
        errors = []
        for factor in FACTORS:
            space = Space(np.float32(np.sqrt(factor * likeliest)), fixed=True)
            found = compress(x[train], labels[train], chosen, space, iterations=TRIAL_ITERATIONS)
            errors.append(nearest_error(found.prototypes, x[valid], labels[valid]))
            if found.interrupted:
                raise KeyboardInterrupt
        return FACTORS[int(np.argmin(errors))]


@dataclass(frozen=True)
class Space:
    """A of eq. (7), as a number (γ·I), a row (diagonal) or a matrix, and whether it is learnt with Z."""

    A: Any
    fixed: bool

    @property
    def metric(self) -> Array:
        """AᵀA, as a number, a row or a matrix."""
        return np.asarray(self.A.T @ self.A if np.ndim(self.A) == 2 else np.square(self.A))

    def times(self, Z: Array) -> Array:
        """AᵀA·z of every row of Z."""
        return np.asarray(Z @ self.metric if np.ndim(self.A) == 2 else Z * self.metric)


@dataclass(frozen=True)
class Compressed:
    """What the optimisation ends with."""

    prototypes: Prototypes
    iterations: int
    loss: float
    interrupted: bool


def compress(
    x: Array,
    labels: Labels,
    chosen: Labels,
    space: Space,
    *,
    iterations: int,
    bound: float = np.inf,
    after: Callable[[int, float], None] | None = None,
) -> Compressed:
    """Algorithm 1: from the samples `chosen`, minimise eq. (5) over Z, and over A unless it is fixed.

    Coordinates of Z beyond ±bound are discouraged.
    """
    owners = labels[chosen]
    soft = SoftNeighbours(x, labels, owners, int(labels.max()) + 1, log_loss)
    shape = (len(chosen), x.shape[1])
    # A in units of its own size: one step then moves features and prototypes alike.
    unit = 1.0 if space.fixed else float(np.sqrt(np.mean(np.square(space.A))))
    start = x[chosen].ravel()
    if not space.fixed:
        start = np.concatenate([start, np.ravel(space.A).astype(x.dtype) / x.dtype.type(unit)])

    def unpack(point: Array) -> tuple[Array, Space]:
        Z = point[: shape[0] * shape[1]].reshape(shape)
        if space.fixed:
            return Z, space
        A = point[shape[0] * shape[1] :].reshape(np.shape(space.A)) * point.dtype.type(unit)
        return Z, Space(A, fixed=False)

    def objective(point: Array) -> tuple[float, Array]:
        Z, now = unpack(point)
        value, gradient_Z, gradient_A = objective_gradients(soft, Z, now)
        penalty, push = beyond(Z, bound)
        value, gradient_Z = value + penalty, gradient_Z + push
        if space.fixed:
            return value, gradient_Z.ravel()
        return value, np.concatenate([gradient_Z.ravel(), unit * gradient_A.ravel()]).astype(point.dtype)

    found = minimise(objective, start, iterations=iterations, tolerance=1e-5, after=after)
    Z, last = unpack(found.point)
    if np.ndim(last.A) == 0:
        prototypes = Prototypes(Z, owners)
    else:
        A = np.diag(last.A) if np.ndim(last.A) == 1 else last.A
        prototypes = Prototypes(Z @ A.T, owners, A)
    return Compressed(prototypes, found.iterations, found.value, found.interrupted)


def objective_gradients(soft: SoftNeighbours, Z: Array, space: Space) -> tuple[float, Array, Array]:
    """The loss (mean over samples), its gradient in Z (eq. 6, 9) and in A (eq. 8)."""
    MZ = space.times(Z)
    value, pull, weight = soft(2.0 * MZ, -np.einsum("ij,ij->i", Z, MZ))
    moved = pull - weight[:, None] * Z
    gradient_Z = 2.0 * space.times(moved)
    if np.ndim(space.A) == 2:
        outer = Z.T @ (2.0 * pull - weight[:, None] * Z)
        return value, gradient_Z, np.asarray(space.A @ (outer + outer.T))
    each = (Z * (2.0 * pull - weight[:, None] * Z)).sum(axis=0)
    along = 2.0 * space.A * (each if np.ndim(space.A) == 1 else each.sum())
    return value, gradient_Z, np.asarray(along)


def likeliest_gamma(x: Array, labels: Labels, chosen: Labels, rng: np.random.Generator) -> float:
    """γ² that minimises eq. (5) with Z fixed to the samples `chosen`, on other samples than those.

    The optimisation of γ² prior to learning, which the paper prefers to a joint one for its speed.
    """
    others = np.setdiff1d(np.arange(len(labels)), chosen)
    others = rng.permutation(others)[:2000] if len(others) else chosen
    Z = x[chosen]
    soft = SoftNeighbours(x[others], labels[others], labels[chosen], int(labels.max()) + 1, log_loss)
    squares = np.einsum("ij,ij->i", Z, Z)
    away = np.einsum("ij,ij->i", x[others], x[others])[:, None] - 2.0 * (x[others] @ Z.T) + squares
    near = float(np.median(away.min(axis=1)))
    begin = -np.log(max(near, 1e-6))

    def loss(log_gamma: float) -> float:
        gamma = x.dtype.type(np.exp(log_gamma))
        return soft(2.0 * gamma * Z, -gamma * squares)[0]

    bounds = (begin - 5.0, begin + 5.0)
    found = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 0.05})
    return float(np.exp(found.x))


def nearest_error(prototypes: Prototypes, x: Array, labels: Labels) -> float:
    """The 1-NN error."""
    from models.hashing import Exhaustive

    found = Exhaustive(prototypes.points).nearest(prototypes.place(x))
    return float(np.mean(prototypes.owners[found] != labels))


def candidates(task: Task, budget: int, effort: str) -> list[dict[str, Any]]:
    """As many prototypes as fit: whole ones first, then behind linear maps to ever fewer dimensions."""
    iterations = {"fast": 60, "normal": 150, "best": 300}[effort]
    found: list[dict[str, Any]] = []
    whole = affordable(task, budget)
    if whole >= task.n_classes:
        found += [
            {"n_prototypes": whole, "max_iter": iterations},
            {"n_prototypes": whole, "max_iter": iterations, "gamma": 0.25},
        ]
    for rows in _map_rows(task, budget):
        count = affordable(task, budget, rows)
        if count >= task.n_classes:
            found.append(
                {"n_prototypes": count, "metric": "linear", "n_components": rows, "max_iter": iterations}
            )
    return found


def _map_rows(task: Task, budget: int) -> list[int]:
    """Dimensions that leave the prototypes a half, two thirds or a quarter of the bytes."""
    rows = [int(budget * part / (task.n_features + 4)) for part in (0.5, 0.33, 0.75, 0.2)]
    return [r for r in dict.fromkeys(rows) if 2 <= r < task.n_features]


def _space(metric: str, x: Array, gamma: float, components: int | None) -> Space:
    """The start of A: γ·I, or for a rectangular one γ times the principal directions."""
    root = np.sqrt(gamma)
    if metric == "scale":
        return Space(x.dtype.type(root), fixed=True)
    if metric == "diagonal":
        return Space(np.full(x.shape[1], root, dtype=x.dtype), fixed=False)
    rows = min(components or max(2, x.shape[1] // 2), x.shape[1])
    centred = x[:: max(1, len(x) // 20_000)] - x.mean(axis=0)
    _, directions = np.linalg.eigh(centred.T @ centred)
    return Space((root * directions[:, ::-1][:, :rows].T).astype(x.dtype), fixed=False)
