"""The stochastic nearest neighbour that SNC and NPC share.

A sample belongs to prototype j with the probability

    w_j(x) = exp(a_j·x + c_j) / Σ_k exp(a_k·x + c_k)

which is SNC's eq. (3) and (7) and NPC's eq. (3)–(6): in exp(-|A(x - z_j)|²) the term |Ax|² cancels, and what
is left is affine in x, with a_j = 2AᵀA z_j and c_j = -|A z_j|². A loss looks at the probabilities of the
classes, q_c = Σ w_j over the prototypes of class c. Since every row of the gradient in the exponents sums to
zero, the whole gradient, also that of A, follows from two sums over the samples, and a pass costs two matrix
products.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from models.device import Array
from models.optim import one_hot

Labels = npt.NDArray[np.int64]
PooledLoss = Callable[[Array, Labels], tuple[float, Array]]
"""From class probabilities (n, classes) and true classes: the sum of the losses, and its gradient."""

BLOCK = 1 << 19
"""Probabilities computed at a time: few enough to stay in the cache."""
TINY = 1e-37
"""Below this a float32 probability is no normal number any more."""


class SoftNeighbours:
    """A loss of the soft assignment to labelled prototypes, as a function of the affine exponents."""

    def __init__(self, X: Array, labels: Labels, owners: Labels, n_classes: int, loss: PooledLoss) -> None:
        self._X = np.concatenate([X, np.ones((len(X), 1), dtype=X.dtype)], axis=1)
        self._labels = labels
        self._classes = one_hot(owners, n_classes).astype(X.dtype)
        self._loss = loss

    def __call__(self, slopes: Array, offsets: Array) -> tuple[float, Array, Array]:
        """The mean loss, and its gradients in a (prototypes × features) and c (prototypes)."""
        exponents = np.concatenate([slopes, offsets[:, None]], axis=1).T
        total = 0.0
        sums = np.zeros((len(slopes), self._X.shape[1]), dtype=self._X.dtype)
        rows = max(1, BLOCK // len(slopes))
        for first in range(0, len(self._X), rows):
            part = slice(first, first + rows)
            weights = softmax(self._X[part] @ exponents)
            pooled = weights @ self._classes
            value, slope = self._loss(pooled, self._labels[part])
            total += value
            slope -= (slope * pooled).sum(axis=1, keepdims=True)
            weights *= slope @ self._classes.T
            sums += weights.T @ self._X[part]
        sums /= len(self._X)
        return total / len(self._X), sums[:, :-1], sums[:, -1]

    def weights(self, slopes: Array, offsets: Array, rows: Labels) -> Array:
        """w of some of the samples."""
        return softmax(self._X[rows] @ np.concatenate([slopes, offsets[:, None]], axis=1).T)


def softmax(exponents: Array) -> Array:
    """The probabilities of each row; `exponents` is overwritten, since it is the largest array there is."""
    exponents -= exponents.max(axis=1, keepdims=True)
    np.exp(exponents, out=exponents)
    exponents /= exponents.sum(axis=1, keepdims=True)
    return exponents


def log_loss(pooled: Array, labels: Labels) -> tuple[float, Array]:
    """SNC, eq. (4)–(5): -log of the true class's probability."""
    rows = np.arange(len(labels))
    own = np.maximum(pooled[rows, labels], TINY)
    slope = np.zeros_like(pooled)
    slope[rows, labels] = -1.0 / own
    return -float(np.log(own, dtype=np.float64).sum()), slope


def exponential_loss(pooled: Array, labels: Labels) -> tuple[float, Array]:
    """NPC, eq. (8) summed over the classes as in (20), with f_c = 2q_c - 1; less what cannot be avoided.

    No sample's loss is below e⁻¹ a class. Taking that off changes no gradient, and a value that goes to zero
    says how much is left to gain.
    """
    signs = _signs(pooled, labels)
    losses = np.exp(-signs * (2.0 * pooled - 1.0))
    total = float(losses.sum(dtype=np.float64)) - pooled.size * float(np.exp(-1.0))
    return total, -2.0 * signs * losses


def hinge_loss(margin: float) -> PooledLoss:
    """NPC, eq. (9) summed over the classes, with the margin δ."""

    def loss(pooled: Array, labels: Labels) -> tuple[float, Array]:
        signs = _signs(pooled, labels)
        short = margin - signs * (2.0 * pooled - 1.0)
        return float(np.maximum(short, 0.0).sum(dtype=np.float64)), -2.0 * signs * (short > 0.0)

    return loss


def beyond(points: Array, bound: float) -> tuple[float, Array]:
    """A penalty on coordinates outside of ±bound, a mean over the points, and its gradient.

    On data that can be separated the losses above go to zero only as prototypes go to infinity, and there
    int8 cannot follow.
    """
    excess = points - np.clip(points, -bound, bound)
    return float(np.square(excess).sum(dtype=np.float64)) / len(points), excess * (2.0 / len(points))


def _signs(pooled: Array, labels: Labels) -> Array:
    """y_ic: 1 for a sample's own class, -1 for the others (section 2.5)."""
    signs = np.full_like(pooled, -1.0)
    signs[np.arange(len(labels)), labels] = 1.0
    return signs
