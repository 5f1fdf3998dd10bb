"""Nearest Prototype Classifiers (Wohlhart et al., CVPR 2013) as a scikit-learn classifier.

k prototypes a class, started by k-means, are moved by conjugate gradients to minimise a loss of the soft
classifier f_c(x) = Σ_j θ_jc·w_j(x) (eq. 2, 19), where w is a soft-max of the similarities sharpened by γ
(eq. 3–5). γ grows in steps until a sample has practically one prototype, so that the last stage optimises the
1-NN rule (eq. 1) itself.

The defaults were settled on quarters held out of the training data, 50 prototypes a class. usps-10, three
splits: an error of 2.16 % by conjugate gradients, 1.94 % by adam without jitter, 1.57, 1.45 and 1.59 % with a
jitter of 0.7, 1.5 and 2.5; half and twice the learning rate have 1.55 and 1.63 %. letter-26, two splits:
3.73 % by conjugate gradients, 3.75 % by adam.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from models.device import Array
from models.errors import InputError
from models.jitter import Jitter
from models.lmnn import learn_map
from models.nearest import Labels, NearestPrototypeClassifier, Prototypes
from models.npc_train import Samples, conjugate, sharpness, stochastic
from models.prototypes import affordable, class_means
from models.search import Task
from models.soft_neighbours import exponential_loss, hinge_loss

LOSSES = ("exponential", "hinge")
METRICS = ("euclidean", "lmnn")
SOLVERS = ("auto", "cg", "adam")
SCHEDULE_SAMPLES = 3000
PLAIN = 0.25
"""The part of the batches that is not jittered."""


class NPCClassifier(NearestPrototypeClassifier):
    """1-nearest prototypes, learnt discriminatively.

    Parameters
    ----------
    n_per_class : prototypes a class, the paper's k.
    loss : "exponential" (NPC-e, eq. 8) or "hinge" (NPC-h, eq. 9).
    margin : δ of the hinge loss.
    metric : "euclidean" (eq. 5), or "lmnn" for a learnt linear map (eq. 6).
    n_components : dimensions that the learnt map keeps; None: all.
    solver : "cg", the paper's conjugate gradients, "adam" for stochastic descent, or "auto": adam for images,
        cg for everything else.
    undecided : part of the training samples that must be undecided at the first γ; the paper says at least
        80 %, and softer starts overfit less.
    steps : values of γ (cg).
    max_iter : iterations of conjugate gradients at each γ.
    epochs, learning_rate : the schedule of adam.
    image : height and width if the features are pixels; adam then learns from jittered images.
    jitter : strength of that; 0 learns from the images as they are.
    search : how neighbours are found: "exhaustive", "ball_tree" or "lsh".
    random_state : seed of k-means and batches.
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
        solver: str = "auto",
        undecided: float = 0.98,
        steps: int = 10,
        max_iter: int = 40,
        epochs: int = 60,
        learning_rate: float = 0.06,
        image: tuple[int, int] | None = None,
        jitter: float = 1.5,
        search: str = "exhaustive",
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_per_class = n_per_class
        self.loss = loss
        self.margin = margin
        self.metric = metric
        self.n_components = n_components
        self.solver = solver
        self.undecided = undecided
        self.steps = steps
        self.max_iter = max_iter
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.image = image
        self.jitter = jitter
        self.search = search
        self.random_state = random_state
        self.verbose = verbose

    def _learn(self, x: Array, labels: Labels, rng: np.random.Generator) -> Prototypes:
        self._check_words()
        projection, bound = None, self.bound_
        if self.metric == "lmnn":
            projection, bound = learn_map(x, labels, rng, components=self.n_components), np.inf
        mapped = x if projection is None else x @ projection.T
        points, owners = class_means(mapped, labels, self.n_per_class, rng)
        loss = exponential_loss if self.loss == "exponential" else hinge_loss(self.margin)
        some = rng.permutation(len(labels))[:SCHEDULE_SAMPLES]
        self.gammas_ = sharpness(mapped[some], points, undecided=self.undecided, steps=self.steps)
        n_classes = len(self.classes_)
        if self.solver == "cg" or (self.solver == "auto" and self.image is None):
            samples = Samples(mapped, labels, owners, n_classes, loss, bound)
            found = conjugate(
                samples, points, self.gammas_, iterations=self.max_iter, after=self._after("npc")
            )
        else:
            samples = Samples(x, labels, owners, n_classes, loss, bound)
            found = stochastic(
                samples,
                points,
                self.gammas_[0],
                epochs=self.epochs,
                rate=self.learning_rate * float(mapped.std(dtype=np.float64)),
                rng=rng,
                variant=self._variant(projection, rng),
                after=self._after("npc"),
            )
        self.n_iter_, self.loss_, self.interrupted_ = found.iterations, found.loss, found.interrupted
        return Prototypes(found.points, owners, projection)

    def _variant(self, projection: Array | None, rng: np.random.Generator) -> Callable[[Array], Array] | None:
        """Jitter in the space of the pixels, then the map."""
        move = None
        if self.image is not None and self.jitter > 0.0:
            move = Jitter.of_strength(self.image, self.jitter).augmenter(rng)
        if move is None and projection is None:
            return None

        def altered(x: Array) -> Array:
            # Some batches stay as they are: the true images are the ones to be told apart.
            seen = move(x, rng) if move is not None and rng.random() >= PLAIN else x
            return seen if projection is None else seen @ projection.T

        return altered

    def _check_words(self) -> None:
        for name, value, known in (
            ("loss", self.loss, LOSSES),
            ("metric", self.metric, METRICS),
            ("solver", self.solver, SOLVERS),
        ):
            if value not in known:
                raise InputError(f"There is no {name} {value!r}.", f"Choose {', '.join(known)}.")


def exponential_candidates(task: Task, budget: int, effort: str) -> list[dict[str, Any]]:
    return _candidates(task, budget, effort, "exponential")


def hinge_candidates(task: Task, budget: int, effort: str) -> list[dict[str, Any]]:
    return _candidates(task, budget, effort, "hinge")


def _candidates(task: Task, budget: int, effort: str, loss: str) -> list[dict[str, Any]]:
    """As many prototypes as fit, with softer and harder starts; also behind learnt maps."""
    epochs = {"fast": 30, "normal": 60, "best": 120}[effort]
    common: dict[str, Any] = {"loss": loss, "solver": "adam", "epochs": epochs}
    jitters: tuple[float, ...] = (0.0,)
    if task.image is not None:
        jitters = (0.7, 1.5, 0.0)
        common |= {"image": task.image, "jitter": jitters[0]}
    found: list[dict[str, Any]] = []
    whole = affordable(task, budget) // task.n_classes
    if whole:
        found += [{"n_per_class": whole, **common, "jitter": strength} for strength in jitters]
        found.append({"n_per_class": whole, **common, "undecided": 0.8})
    for share in (0.5, 0.3, 0.7):
        rows = int(budget * share / (task.n_features + 4))
        each = affordable(task, budget, rows) // task.n_classes if rows else 0
        if 2 <= rows < task.n_features and each:
            found.append({"n_per_class": each, "metric": "lmnn", "n_components": rows, **common})
    return found
