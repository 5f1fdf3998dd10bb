"""Large Margin Nearest Neighbours (Weinberger and Saul, JMLR 2009): a linear map that makes kNN better.

In the mapped space a sample's neighbours of its own class ("targets", fixed in the beginning) come close, and
samples of other classes stay at least a unit further away than they:

    minimise Σ |L(x_i - x_j)|² + Σ max(0, 1 + |L(x_i - x_j)|² - |L(x_i - x_l)|²)

over targets j and, for each of them, the samples l of other classes. Only the nearest of those can matter;
they are looked up again as the map changes. The descent is Adam's on small batches, in place of semidefinite
programming: L itself is learnt, rectangular if wanted.
"""

from __future__ import annotations

from typing import Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from models import optim
from models.device import Array

Labels = npt.NDArray[np.int64]
TARGETS = 3
IMPOSTORS = 12
"""Nearest samples of other classes that are watched."""
REFRESH = 5
"""Epochs between two look-ups of them."""
SAMPLES = 20_000
"""Samples that are learnt from: a map has few parameters, and the look-ups take time with their square."""
BATCHES = 60
"""Batches an epoch has at most where data are few; with plenty of data batches have BATCH samples."""
BATCH = 256


class LMNN(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """The map as a scikit-learn transformer.

    Parameters
    ----------
    n_components : dimensions of the mapped space; None: as many as features.
    epochs : passes over the training samples.
    learning_rate : of the map, relative to its own size.
    random_state : seed of batches.
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        epochs: int = 30,
        learning_rate: float = 0.02,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.random_state = random_state

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        samples, given = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(given)
        _, labels = np.unique(given, return_inverse=True)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        self.unit_ = max(float(np.std(samples)), 1e-12)
        x = ((samples - samples.mean(axis=0)) / self.unit_).astype(np.float32)
        learnt = learn_map(
            x, labels, rng, components=self.n_components, epochs=self.epochs, rate=self.learning_rate
        )
        self.components_ = learnt.astype(np.float64) / self.unit_
        return self

    def transform(self, X: npt.ArrayLike) -> Array:
        check_is_fitted(self)
        samples = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        return np.asarray(samples @ self.components_.T)


def learn_map(
    x: Array,
    labels: Labels,
    rng: np.random.Generator,
    *,
    components: int | None = None,
    epochs: int = 30,
    rate: float = 0.02,
) -> Array:
    """L (components × features) for samples of about unit deviation.

    Ctrl-C ends the learning with what there is.
    """
    rows = min(components or x.shape[1], x.shape[1])
    if len(x) > SAMPLES:
        some = rng.permutation(len(x))[:SAMPLES]
        x, labels = x[some], labels[some]
    L = first_map(x, labels, rows)
    targets = _neighbours(x @ L.T, labels, TARGETS, own=True)
    # The margin is 1: scale the start such that it is the typical distance of a target.
    typical = float(np.mean(np.square((x[:, None] - x[targets]) @ L.T).sum(axis=2))) if targets.size else 1.0
    L /= np.float32(np.sqrt(max(typical, 1e-6)))
    params = {"L": L}
    adam = optim.Adam(params)
    average = optim.Average(params)
    batch_size = min(BATCH, max(16, len(x) // BATCHES))
    total = epochs * max(1, round(len(x) / batch_size))
    done = 0
    try:
        for epoch in range(epochs):
            if epoch % REFRESH == 0:
                impostors = _neighbours(x @ params["L"].T, labels, IMPOSTORS, own=False)
            if targets.shape[1] == 0 or impostors.shape[1] == 0:
                break
            for batch in optim.minibatches(len(x), batch_size, rng):
                _, slope = loss_gradient(params["L"], x, batch, targets[batch], impostors[batch])
                size = float(np.sqrt(np.mean(np.square(params["L"]))))
                adam.step({"L": slope}, optim.one_cycle(done / total, rate * size))
                done += 1
                if done > 0.8 * total:
                    average.update(params)
    except KeyboardInterrupt:
        pass
    return average.values["L"] if average.updates else params["L"]


def loss_gradient(
    L: Array, x: Array, batch: Labels, targets: Labels, impostors: Labels
) -> tuple[float, Array]:
    """The loss of some samples, a mean over them, and its gradient in L."""
    pull = x[batch][:, None] - x[targets]
    push = x[batch][:, None] - x[impostors]
    pulled, pushed = pull @ L.T, push @ L.T
    near = np.square(pulled).sum(axis=2)
    far = np.square(pushed).sum(axis=2)
    short = 1.0 + near[:, :, None] - far[:, None, :]
    active = short > 0.0
    value = float(near.sum(dtype=np.float64) + short[active].sum(dtype=np.float64)) / len(batch)
    near_weight = (1.0 + active.sum(axis=2)).astype(L.dtype)[:, :, None]
    far_weight = active.sum(axis=1).astype(L.dtype)[:, :, None]
    slope = np.tensordot(near_weight * pulled, pull, axes=((0, 1), (0, 1)))
    slope -= np.tensordot(far_weight * pushed, push, axes=((0, 1), (0, 1)))
    return value, slope * L.dtype.type(2.0 / len(batch))


def first_map(x: Array, labels: Labels, rows: int) -> Array:
    """The identity; for fewer rows than features orthogonal directions that tell the classes apart best
    (Fisher's), and once those are used up, directions of most variance."""
    if rows == x.shape[1]:
        return np.eye(rows, dtype=x.dtype)
    from scipy.linalg import eigh

    centred = (x - x.mean(axis=0)).astype(np.float64)
    means = np.stack([centred[labels == c].mean(axis=0) for c in np.unique(labels)])
    within = centred - means[np.unique(labels, return_inverse=True)[1]]
    spread = within.T @ within / len(x)
    spread += 0.05 * np.trace(spread) / len(spread) * np.eye(len(spread)) + 1e-9 * np.eye(len(spread))
    _, telling = eigh(means.T @ means, spread)
    _, principal = np.linalg.eigh(centred.T @ centred)
    fisher = min(rows, len(means) - 1)
    directions, _ = np.linalg.qr(
        np.concatenate([telling[:, ::-1][:, :fisher], principal[:, ::-1][:, :rows]], axis=1)
    )
    return np.ascontiguousarray(directions[:, :rows].T.astype(x.dtype))


def _neighbours(z: Array, labels: Labels, count: int, *, own: bool) -> Labels:
    """The nearest samples of the same class, or of other classes; fewer where there are not so many."""
    squares = np.einsum("ij,ij->i", z, z)
    sizes = np.bincount(labels)
    sizes = sizes[sizes > 0]
    count = min(count, int(sizes.min()) - 1 if own else len(z) - int(sizes.max()))
    found = np.empty((len(z), max(count, 0)), dtype=np.int64)
    if count <= 0:
        return found
    step = max(1, (1 << 22) // len(z))
    for first in range(0, len(z), step):
        part = slice(first, first + step)
        away = squares - 2.0 * (z[part] @ z.T)
        same = labels[part, None] == labels
        away[~same if own else same] = np.inf
        if own:
            rows = np.arange(len(away))
            away[rows, rows + first] = np.inf
        nearest = np.argpartition(away, count - 1, axis=1)[:, :count]
        found[part] = np.sort(nearest, axis=1)
    return found
