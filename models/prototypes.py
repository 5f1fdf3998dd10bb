"""The plain ways to compress a training set for 1-NN: what SNC and NPC are compared with, and start from.

Means of each class (k-means), a sample of the data, and the training-consistent subsets of Hart (CNN, 1968)
and Angiulli (FCNN, 2005), which take in what the subset so far gets wrong.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from models.device import Array
from models.hashing import Exhaustive
from models.nearest import Labels, NearestPrototypeClassifier, Prototypes, class_sample
from models.prototypes_device import PrototypesInt8
from models.search import Task


class KMeansPrototypes(NearestPrototypeClassifier):
    """The means that k-means finds in each class.

    Parameters
    ----------
    n_per_class : prototypes a class.
    search : how neighbours are found: "exhaustive", "ball_tree" or "lsh".
    random_state : seed of k-means.
    """

    def __init__(
        self,
        n_per_class: int = 15,
        *,
        search: str = "exhaustive",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_per_class = n_per_class
        self.search = search
        self.random_state = random_state

    def _learn(self, x: Array, labels: Labels, rng: np.random.Generator) -> Prototypes:
        points, owners = class_means(x, labels, self.n_per_class, rng)
        return Prototypes(points, owners)


class SampledPrototypes(NearestPrototypeClassifier):
    """A random part of the training set, in proportion to the classes.

    Parameters
    ----------
    n_prototypes : how many; None: `ratio` of the training set.
    ratio : the compression ratio.
    search : how neighbours are found: "exhaustive", "ball_tree" or "lsh".
    random_state : seed of the choice.
    """

    def __init__(
        self,
        n_prototypes: int | None = None,
        *,
        ratio: float = 0.04,
        search: str = "exhaustive",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_prototypes = n_prototypes
        self.ratio = ratio
        self.search = search
        self.random_state = random_state

    def _learn(self, x: Array, labels: Labels, rng: np.random.Generator) -> Prototypes:
        count = self.n_prototypes or round(self.ratio * len(labels))
        chosen = class_sample(labels, min(max(count, len(self.classes_)), len(labels)), rng)
        return Prototypes(x[chosen], labels[chosen])


class CondensedPrototypes(NearestPrototypeClassifier):
    """A subset of the training set whose 1-NN rule classifies all of it, or as much as `max_prototypes` can.

    Parameters
    ----------
    rule : "fcnn" (Angiulli) or "cnn" (Hart).
    max_prototypes : stop at so many; None: when the subset is consistent.
    search : how neighbours are found: "exhaustive", "ball_tree" or "lsh".
    random_state : seed of the order in which CNN meets the samples; FCNN has none.
    """

    def __init__(
        self,
        rule: str = "fcnn",
        *,
        max_prototypes: int | None = None,
        search: str = "exhaustive",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.rule = rule
        self.max_prototypes = max_prototypes
        self.search = search
        self.random_state = random_state

    def _learn(self, x: Array, labels: Labels, rng: np.random.Generator) -> Prototypes:
        if self.rule not in ("cnn", "fcnn"):
            raise ValueError(f"rule must be 'cnn' or 'fcnn', not {self.rule!r}")
        limit = max(self.max_prototypes or len(labels), len(self.classes_))
        chosen = hart(x, labels, rng, limit) if self.rule == "cnn" else fcnn(x, labels, limit)
        return Prototypes(x[chosen], labels[chosen])


def class_means(x: Array, labels: Labels, count: int, rng: np.random.Generator) -> tuple[Array, Labels]:
    """`count` means of each class by k-means, or all its samples where there are no more."""
    points, owners = [], []
    for c in np.unique(labels):
        own = x[labels == c]
        if len(own) > count:
            own = (
                KMeans(count, n_init=1, max_iter=50, random_state=int(rng.integers(2**31)))
                .fit(own)
                .cluster_centers_
            )
        points.append(own)
        owners.append(np.full(len(own), c, dtype=np.int64))
    return np.concatenate(points).astype(x.dtype), np.concatenate(owners)


class _Subset:
    """A growing subset, with the nearest of its members for every sample."""

    def __init__(self, x: Array) -> None:
        self._x = x
        self._squares = np.einsum("ij,ij->i", x, x)
        self._away = np.full(len(x), np.inf, dtype=x.dtype)
        self.nearest = np.zeros(len(x), dtype=np.int64)
        self.members: list[int] = []
        self.inside = np.zeros(len(x), dtype=bool)

    def add(self, new: Labels) -> None:
        step = max(1, (1 << 22) // len(self._x))
        for first in range(0, len(new), step):
            some = new[first : first + step]
            away = self._squares[some] - 2.0 * (self._x @ self._x[some].T) + self._squares[:, None]
            best = away.argmin(axis=1)
            least = away[np.arange(len(best)), best]
            closer = least < self._away
            self._away[closer] = least[closer]
            self.nearest[closer] = some[best[closer]]
        self._away[new], self.nearest[new] = -np.inf, new  # rounding must not send a member to another
        self.inside[new] = True
        self.members += [int(i) for i in new]


def hart(x: Array, labels: Labels, rng: np.random.Generator, limit: int) -> Labels:
    """Hart's condensed nearest neighbour rule, from one sample a class: take in each sample that the subset
    misclassifies when its turn comes, and go round until none is left."""
    subset = _Subset(x)
    order = rng.permutation(len(labels))
    subset.add(np.array([order[labels[order] == c][0] for c in np.unique(labels)]))
    grown = True
    while grown:
        grown = False
        for i in order:
            if len(subset.members) >= limit:
                return np.array(subset.members)
            if not subset.inside[i] and labels[subset.nearest[i]] != labels[i]:
                subset.add(np.array([i]))
                grown = True
    return np.array(subset.members)


def fcnn(x: Array, labels: Labels, limit: int) -> Labels:
    """Angiulli's FCNN1, from the samples nearest to the class means: each member takes in the nearest to it
    of the samples that it misclassifies, until none does."""
    subset = _Subset(x)
    classes = np.unique(labels)
    means = np.stack([x[labels == c].mean(axis=0) for c in classes])
    new = np.array(
        [
            np.flatnonzero(labels == c)[Exhaustive(x[labels == c]).nearest(mean[None])[0]]
            for c, mean in zip(classes, means, strict=True)
        ]
    )
    while len(new):
        subset.add(new[: limit - len(subset.members)])
        wrong = np.flatnonzero(~subset.inside & (labels[subset.nearest] != labels))
        cell = subset.nearest[wrong]
        away = np.square(x[wrong] - x[cell]).sum(axis=1)
        order = np.lexsort((wrong, away, cell))
        first = np.diff(cell[order], prepend=-1) != 0
        new = wrong[order][first] if len(subset.members) < limit else wrong[:0]
    return np.array(subset.members)


def affordable(task: Task, budget: int, map_rows: int = 0) -> int:
    """Prototypes that fit into the budget beside a map of so many rows; at most a quarter of the data."""
    each = map_rows or task.n_features
    empty = PrototypesInt8.flash_size(0, task.n_classes, task.n_features, map_rows)
    count = (budget - empty) // each
    if count > 255:
        # A class may have more than a byte can count; then all counts take two.
        count = (budget - empty - task.n_classes) // each
    return max(0, min(count, task.n_samples // 4))


def kmeans_candidates(task: Task, budget: int, effort: str) -> list[dict[str, Any]]:
    each = affordable(task, budget) // task.n_classes
    return [{"n_per_class": each}] if each else []


def sampled_candidates(task: Task, budget: int, effort: str) -> list[dict[str, Any]]:
    count = affordable(task, budget)
    return [{"n_prototypes": count}] if count >= task.n_classes else []


def cnn_candidates(task: Task, budget: int, effort: str) -> list[dict[str, Any]]:
    count = affordable(task, budget)
    return [{"rule": "cnn", "max_prototypes": count}] if count >= task.n_classes else []


def fcnn_candidates(task: Task, budget: int, effort: str) -> list[dict[str, Any]]:
    count = affordable(task, budget)
    return [{"rule": "fcnn", "max_prototypes": count}] if count >= task.n_classes else []
