"""Where ProtoNN's training starts: a projection of the data, k-means prototypes in it, and their labels."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from models.device import Array
from models.optim import Params

SAMPLES = 6000
"""The start needs no more samples than these, however large the data."""
LABEL_SCORE = 2.0
"""Score of a prototype for its own class: confident, but not so much that early errors dominate the loss."""


def start(
    x: Array,
    labels: npt.NDArray[np.int64],
    classes: int,
    *,
    W: Array,
    prototypes: int,
    gamma: float,
    rng: np.random.Generator,
) -> Params:
    """W, B and Z in units where γ is 1, for samples x (n, d) with class indices and a first projection W.

    `gamma` is γ times the median distance of a sample to its nearest prototype: 1 makes neighbouring
    prototypes overlap.
    """
    some = rng.permutation(len(x))[:SAMPLES]
    x, labels = x[some], labels[some]
    z = x @ W.T
    B, owners = class_centres(z, labels, classes, prototypes, rng)
    nearest = np.sqrt(squared_distances(z[:1000], B).min(axis=1))
    scale = np.float32(gamma / max(float(np.median(nearest)), 1e-6))
    rows = 1 if classes == 2 else classes
    Z = np.zeros((rows, len(B)), dtype=np.float32)
    if rows == 1:
        Z[0] = LABEL_SCORE * (2 * owners - 1)
    else:
        Z[owners, np.arange(len(B))] = LABEL_SCORE
    return {"W": W * scale, "B": B * scale, "Z": Z}


def projection(
    kind: str, x: Array, labels: npt.NDArray[np.int64], dimensions: int, rng: np.random.Generator
) -> Array:
    """A first W: "pca" follows the data, "lmnn" also the labels, "random" (Gaussian) neither."""
    some = rng.permutation(len(x))[:SAMPLES]
    if kind == "pca":
        return principal_directions(x[some], dimensions, rng)
    if kind == "lmnn":
        from models.lmnn import LMNN

        lmnn = LMNN(min(dimensions, x.shape[1]), random_state=int(rng.integers(2**31)))
        return filled(lmnn.fit(x[some], labels[some]).components_, dimensions, rng)
    if kind == "random":
        gaussian = rng.normal(size=(dimensions, x.shape[1])) / np.sqrt(x.shape[1])
        return np.asarray(gaussian, dtype=np.float32)
    raise ValueError(f"init is {kind!r}; it must be auto, pca, random or lmnn.")


def principal_directions(x: Array, dimensions: int, rng: np.random.Generator) -> Array:
    """Rows along the data's main directions, each shrunk by the root of its deviation.

    Halfway between plain PCA, where the first direction drowns the others, and whitening, where noise counts
    as much as signal.
    """
    covariance = np.cov(x, rowvar=False).reshape(x.shape[1], x.shape[1])
    values, vectors = np.linalg.eigh(covariance)
    count = min(dimensions, x.shape[1])
    main = vectors[:, ::-1][:, :count].T
    variance = np.maximum(values[::-1][:count], 1e-6 * max(float(values[-1]), 1e-12))
    return filled(main / variance[:, None] ** 0.25, dimensions, rng)


def filled(W: Array, dimensions: int, rng: np.random.Generator) -> Array:
    """W with random rows added up to so many."""
    extra = rng.normal(size=(dimensions - len(W), W.shape[1])) / np.sqrt(W.shape[1])
    return np.vstack([W, extra]).astype(np.float32)


def class_centres(
    z: Array, labels: npt.NDArray[np.int64], classes: int, prototypes: int, rng: np.random.Generator
) -> tuple[Array, npt.NDArray[np.int64]]:
    """k-means centres class by class, and the class of each; fewer where a class has few samples."""
    from sklearn.cluster import KMeans

    shares = np.full(classes, prototypes // classes)
    by_size = np.argsort(-np.bincount(labels, minlength=classes), kind="stable")
    shares[by_size[: prototypes - int(shares.sum())]] += 1
    centres, owners = [], []
    for c in range(classes):
        members = z[labels == c]
        k = min(int(shares[c]), len(np.unique(members, axis=0)))
        if k:
            seed = int(rng.integers(2**31))
            means = KMeans(k, n_init=1, max_iter=20, random_state=seed).fit(members).cluster_centers_
            centres.append(means)
            owners.append(np.full(k, c))
    return np.vstack(centres).astype(np.float32), np.concatenate(owners)


def squared_distances(z: Array, B: Array) -> Array:
    """|z_i - b_j|², never below zero."""
    products = np.square(z).sum(axis=1)[:, None] - 2.0 * (z @ B.T) + np.square(B).sum(axis=1)
    return np.asarray(np.maximum(products, 0.0))
