"""ProtoNN for label sets: squared loss, judged by how many of the k best-scored labels are right.

The targets are the labels, mixed with what larger ProtoNN models predict for samples they were not trained
on. Such predictions are estimates of each label's probability, which say more than a bare yes or no.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from models import protonn_init, protonn_math, protonn_train
from models.device import Array, paper_bytes
from models.optim import Params

FOLDS = 3
"""Larger models, each of which learns from all folds but one and predicts that one."""
TEACHER_FACTOR = 2
"""Dimensions and prototypes of a larger model, as a multiple of the model's own."""
RIDGE = 1e-2
"""Penalty of the regression that the "labels" start comes from, relative to the mean variance."""


class ProtoNNMultilabel(BaseEstimator):  # type: ignore[misc]
    """ProtoNN for samples with any number of labels, given as 0/1 rows.

    Parameters
    ----------
    projection_dim, n_prototypes : the shape; as in the paper, about two prototypes a label.
    z_density : share of Z's entries that may be non-zero.
    scale : "standard" (every feature) or "unit" (every sample has length 1, as in the paper).
    init : where W starts: "pca", or "labels": the directions that predict the labels best linearly.
    distill : weight of the larger models' predictions in the targets; 0 uses the labels alone.
    epochs, batch_size, learning_rate, weight_decay : the schedule; None chooses by the data.
    random_state : seed of everything random.
    """

    def __init__(
        self,
        projection_dim: int = 30,
        n_prototypes: int = 200,
        *,
        z_density: float = 0.1,
        scale: str = "standard",
        init: str = "pca",
        distill: float = 0.5,
        epochs: int = 25,
        batch_size: int = 256,
        learning_rate: float = 0.01,
        weight_decay: float | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.projection_dim = projection_dim
        self.n_prototypes = n_prototypes
        self.z_density = z_density
        self.scale = scale
        self.init = init
        self.distill = distill
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.random_state = random_state

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> ProtoNNMultilabel:
        """Train on label rows y (samples × labels), or on one class a sample.

        Ctrl-C ends training early and keeps what there is; while the larger models learn, that is the start.
        """
        samples, given = validate_data(self, X, y, dtype=[np.float64, np.float32], multi_output=True)
        self.labels_ = label_names(given)
        labels = label_rows(given, self.labels_)
        if len(samples) < 2:
            raise ValueError("ProtoNN needs more than one sample; there is n_samples = 1.")
        if self.scale not in ("standard", "unit") or self.init not in ("pca", "labels"):
            raise ValueError("scale must be standard or unit, and init pca or labels.")
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        self.offset_, self.step_ = samples.mean(axis=0), np.maximum(samples.std(axis=0), 1e-6)
        x = self._scaled(samples)
        with threadpool_limits(1):
            targets: Array = labels
            epochs = self.epochs
            if self.distill > 0 and len(x) >= 2 * FOLDS:
                try:
                    targets = (1 - self.distill) * labels + self.distill * self._taught(x, labels, rng)
                except KeyboardInterrupt:
                    epochs = 0
            shape = self.projection_dim, self.n_prototypes, self.z_density
            self._params = self._learn(x, targets, *shape, epochs=epochs, rng=rng).params
        self.paper_bytes_ = paper_bytes(*self._params.values())
        return self

    def decision_function(self, X: npt.ArrayLike) -> Array:
        """A score for each label; the higher, the likelier."""
        check_is_fitted(self)
        samples = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        return protonn_math.scores(self._params, self._scaled(samples))

    def predict(self, X: npt.ArrayLike) -> Array:
        """Label rows: the labels that are likelier than not."""
        return (self.decision_function(X) > 0.5).astype(np.int64)

    def score(self, X: npt.ArrayLike, y: npt.ArrayLike) -> float:
        """Precision at 1."""
        return precision_at(1, self.decision_function(X), label_rows(np.asarray(y), self.labels_))

    def _scaled(self, samples: Array) -> Array:
        if self.scale == "unit":
            lengths = np.linalg.norm(samples, axis=1, keepdims=True)
            spread = float(np.sqrt(samples.shape[1]))
            return np.asarray(samples / np.maximum(lengths, 1e-9) * spread, dtype=np.float32)
        return np.asarray((samples - self.offset_) / self.step_, dtype=np.float32)

    def _taught(self, x: Array, labels: Array, rng: np.random.Generator) -> Array:
        """What larger models predict, each for the fold it has not seen. Raises if one was stopped."""
        fold = rng.permutation(len(x)) % FOLDS
        taught = np.zeros_like(labels)
        for number in range(FOLDS):
            unseen = fold == number
            shape = TEACHER_FACTOR * self.projection_dim, TEACHER_FACTOR * self.n_prototypes
            teacher = self._learn(x[~unseen], labels[~unseen], *shape, 1.0, epochs=self.epochs, rng=rng)
            if teacher.stopped:
                raise KeyboardInterrupt
            taught[unseen] = protonn_math.scores(teacher.params, x[unseen])
        return taught

    def _learn(
        self,
        x: Array,
        targets: Array,
        dimensions: int,
        prototypes: int,
        z_density: float,
        *,
        epochs: int,
        rng: np.random.Generator,
    ) -> protonn_train.Learned:
        some = rng.permutation(len(x))[: 2 * protonn_init.SAMPLES]
        if self.init == "labels":
            W = label_directions(x[some], targets[some], dimensions, rng)
        else:
            W = protonn_init.principal_directions(x[some], dimensions, rng)
        decay = protonn_train.usual_decay(x.shape[1]) if self.weight_decay is None else self.weight_decay
        return protonn_train.train(
            x,
            targets,
            _start(x, targets, W, prototypes, rng),
            x_unit=1.0,
            loss_of=squared_loss,
            afford=lambda params: {"Z": int(np.ceil(z_density * params["Z"].size))},
            recipe=protonn_train.Recipe(
                epochs=epochs,
                batch_size=self.batch_size,
                learning_rate=self.learning_rate,
                weight_decay=decay,
                quantize_from=protonn_train.NEVER,
            ),
            rng=rng,
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_params")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags


def label_names(given: Array) -> Array:
    """What a label is called: its column in label rows, or the class where each sample has just one."""
    rows = given.reshape(len(given), -1)
    return np.arange(rows.shape[1]) if rows.shape[1] > 1 else np.unique(rows)


def label_rows(given: Array, names: Array) -> Array:
    """0/1 rows as they are; one class a sample as rows with a single label."""
    rows = given.reshape(len(given), -1)
    if rows.shape[1] == 1:
        return np.asarray(rows == names, dtype=np.float32)
    if not np.isin(rows, (0, 1)).all():
        raise ValueError("Label rows must hold 0 and 1 only.")
    return rows.astype(np.float32)


def squared_loss(found: Array, targets: Array) -> tuple[float, Array]:
    """The paper's loss: mean over the samples of |y - scores|², and its gradient in the scores."""
    error = found - targets
    return float(np.square(error).sum()) / len(error), error * np.float32(2.0 / len(error))


def precision_at(k: int, found: Array, labels: Array) -> float:
    """Share of right labels among the k with the highest scores, over all samples."""
    best = np.argsort(-found, axis=1, kind="stable")[:, :k]
    return float(np.take_along_axis(labels, best, axis=1).mean())


def label_directions(x: Array, targets: Array, dimensions: int, rng: np.random.Generator) -> Array:
    """Rows along which x predicts the targets best: the main part of a ridge regression's weights."""
    gram = x.T @ x / len(x)
    gram += RIDGE * float(np.trace(gram)) / len(gram) * np.eye(len(gram), dtype=x.dtype)
    weights = np.linalg.solve(gram, x.T @ (targets - targets.mean(axis=0)) / len(x))
    left, size, _ = np.linalg.svd(weights, full_matrices=False)
    count = min(dimensions, len(size))
    rows = (left[:, :count] * size[:count] / max(float(size[0]), 1e-9)).T
    return protonn_init.filled(rows, dimensions, rng)


def _start(x: Array, targets: Array, W: Array, prototypes: int, rng: np.random.Generator) -> Params:
    """Prototypes are samples, as in the paper; each begins with the mean labels of its nearest samples."""
    z = x @ W.T
    B = z[rng.permutation(len(z))[:prototypes]]
    distances = protonn_init.squared_distances(z, B)
    nearest = distances.argmin(axis=1)
    sums = np.zeros((len(B), targets.shape[1]), dtype=np.float32)
    np.add.at(sums, nearest, targets)
    means = sums / np.maximum(np.bincount(nearest, minlength=len(B)), 1)[:, None]
    median = float(np.median(np.sqrt(distances.min(axis=1))))
    scale = np.float32(1.0 / max(median, 1e-6))
    return {"W": W * scale, "B": B * scale, "Z": np.ascontiguousarray(means.T, dtype=np.float32)}
