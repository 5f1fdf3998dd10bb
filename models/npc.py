"""Nearest Prototype Classifiers (Wohlhart et al., CVPR 2013) as a scikit-learn classifier.

k prototypes a class, started by k-means, are moved by conjugate gradients to minimise a loss of the soft
classifier f_c(x) = Σ_j θ_jc·w_j(x) (eq. 2, 19), where w is a soft-max of the similarities sharpened by γ
(eq. 3–5). γ grows in steps until a sample has practically one prototype, so that the last stage optimises the
1-NN rule (eq. 1) itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from models.conjugate import minimise
from models.device import Array
from models.errors import InputError
from models.lmnn import learn_map
from models.nearest import Labels, NearestPrototypeClassifier, Prototypes
from models.prototypes import affordable, class_means
from models.search import Task
from models.soft_neighbours import SoftNeighbours, beyond, exponential_loss, hinge_loss

LOSSES = ("exponential", "hinge")
METRICS = ("euclidean", "lmnn")
CLEAR = 0.5
"""A sample is undecided while its first and second weight differ by less (section 2.2)."""
REST = 0.01
"""A sample has one prototype when all others together weigh less (section 2.2)."""
DECIDED = 0.95
"""The part of the samples that must have one prototype at the end: a few lie on borders for ever."""
SCHEDULE_SAMPLES = 3000


class NPCClassifier(NearestPrototypeClassifier):
    """1-nearest prototypes, learnt discriminatively.

    Parameters
    ----------
    n_per_class : prototypes a class, the paper's k.
    loss : "exponential" (NPC-e, eq. 8) or "hinge" (NPC-h, eq. 9).
    margin : δ of the hinge loss.
    metric : "euclidean" (eq. 5), or "lmnn" for a learnt linear map (eq. 6).
    n_components : dimensions that the learnt map keeps; None: all.
    undecided : part of the training samples that must be undecided at the first γ; the paper says at least
        80 %, and softer starts overfit less.
    steps : values of γ.
    max_iter : iterations of conjugate gradients at each γ.
    search : how neighbours are found: "exhaustive", "ball_tree" or "lsh".
    random_state : seed of k-means.
    verbose : print the loss after each iteration.
    """

    def __init__(
        self,
        n_per_class: int = 15,
        *,
        loss: str = "exponential",
        margin: float = 0.5,
        metric: str = "euclidean",
        n_components: int | None = None,
        undecided: float = 0.98,
        steps: int = 10,
        max_iter: int = 40,
        search: str = "exhaustive",
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_per_class = n_per_class
        self.loss = loss
        self.margin = margin
        self.metric = metric
        self.n_components = n_components
        self.undecided = undecided
        self.steps = steps
        self.max_iter = max_iter
        self.search = search
        self.random_state = random_state
        self.verbose = verbose

    def _learn(self, x: Array, labels: Labels, rng: np.random.Generator) -> Prototypes:
        for name, value, known in (("loss", self.loss, LOSSES), ("metric", self.metric, METRICS)):
            if value not in known:
                raise InputError(f"There is no {name} {value!r}.", f"Choose {', '.join(known)}.")
        self.n_iter_ = 0
        self.interrupted_ = False
        projection, bound = None, self.bound_
        if self.metric == "lmnn":
            projection = learn_map(x, labels, rng, components=self.n_components)
            x, bound = x @ projection.T, np.inf
        points, owners = class_means(x, labels, self.n_per_class, rng)
        loss = exponential_loss if self.loss == "exponential" else hinge_loss(self.margin)
        soft = SoftNeighbours(x, labels, owners, len(self.classes_), loss)
        some = rng.permutation(len(labels))[:SCHEDULE_SAMPLES]
        self.gammas_ = sharpness(x[some], points, undecided=self.undecided, steps=self.steps)
        for gamma in self.gammas_:

            def objective(P: Array, gamma: float = gamma) -> tuple[float, Array]:
                value, gradient = objective_gradient(soft, P, gamma)
                penalty, push = beyond(P, bound)
                return value + penalty, gradient + push

            found = minimise(
                objective,
                points,
                iterations=self.max_iter,
                tolerance=1e-4,
                after=self._after(f"npc, γ {gamma:.3g}"),
            )
            points, self.loss_ = found.point, found.value
            self.n_iter_ += found.iterations
            if found.interrupted:
                self.interrupted_ = True
                break
        return Prototypes(points, owners, projection)


def objective_gradient(soft: SoftNeighbours, P: Array, gamma: float) -> tuple[float, Array]:
    """The loss (eq. 7, 20; mean over samples) and its gradient in the prototypes (eq. 10–18)."""
    sharp = P.dtype.type(gamma)
    value, pull, weight = soft(2.0 * sharp * P, -sharp * np.einsum("ij,ij->i", P, P))
    return value, 2.0 * sharp * (pull - weight[:, None] * P)


def sharpness(x: Array, points: Array, *, undecided: float, steps: int) -> list[float]:
    """The values of γ of section 2.2 for samples x, on a logarithmic scale.

    The first is the largest at which the part `undecided` of the samples has its two highest weights within
    CLEAR of each other, the last the smallest at which nearly all samples have one prototype.
    """
    if len(points) < 2:
        return [1.0]
    away = np.einsum("ij,ij->i", points, points) - 2.0 * (x @ points.T)
    away -= away.min(axis=1, keepdims=True)
    typical = 1.0 / max(float(np.median(np.partition(away, 1, axis=1)[:, 1])), 1e-12)

    def weights(gamma: float) -> Array:
        found = np.exp(-np.float32(gamma) * away)
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def is_soft(gamma: float) -> bool:
        highest = np.partition(weights(gamma), -2, axis=1)[:, -2:]
        return bool(np.mean(highest[:, 1] - highest[:, 0] < CLEAR) >= undecided)

    def is_open(gamma: float) -> bool:
        return bool(np.mean(1.0 - weights(gamma).max(axis=1) < REST) < DECIDED)

    first, last = _edge(is_soft, typical), _edge(is_open, typical)
    return [float(gamma) for gamma in np.geomspace(first, max(first, last), steps)]


def _edge(below: Callable[[float], bool], around: float) -> float:
    """The γ up to which `below` holds, to a hundredth, within a factor of a thousand of `around`."""
    low, high = around / 1000.0, around * 1000.0
    while high > 1.01 * low:
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if below(middle) else (low, middle)
    return low


def exponential_candidates(task: Task, budget: int, effort: str) -> list[dict[str, Any]]:
    return _candidates(task, budget, effort, "exponential")


def hinge_candidates(task: Task, budget: int, effort: str) -> list[dict[str, Any]]:
    return _candidates(task, budget, effort, "hinge")


def _candidates(task: Task, budget: int, effort: str, loss: str) -> list[dict[str, Any]]:
    """As many prototypes as fit, with softer and harder starts; also behind learnt maps."""
    iterations = {"fast": 20, "normal": 40, "best": 100}[effort]
    common = {"loss": loss, "max_iter": iterations}
    found: list[dict[str, Any]] = []
    whole = affordable(task, budget) // task.n_classes
    if whole:
        found += [{"n_per_class": whole, "undecided": part, **common} for part in (0.98, 0.999, 0.8)]
    for share in (0.5, 0.3):
        rows = int(budget * share / (task.n_features + 4))
        each = affordable(task, budget, rows) // task.n_classes if rows else 0
        if 2 <= rows < task.n_features and each:
            found.append({"n_per_class": each, "metric": "lmnn", "n_components": rows, **common})
    return found
