"""Samples by a few thresholds a feature, so that all splits of many nodes are counted in one pass."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from models.device import Array
from models.tree_nodes import Ints

QUANTILE_SAMPLES = 5000
"""Of which the thresholds are the quantiles."""


@dataclass(frozen=True)
class Binned:
    """Samples by the thresholds that their features are beyond: bin b is edges[b - 1] < x <= edges[b]."""

    bins: npt.NDArray[np.uint8]
    edges: Ints
    """Thresholds (thresholds × features), ascending; some may be equal."""
    labels: Ints
    classes: int

    @staticmethod
    def of(x: Array, labels: Ints, classes: int, thresholds: int, rng: np.random.Generator) -> Binned:
        some = x[rng.permutation(len(x))[:QUANTILE_SAMPLES]]
        shares = np.arange(1, thresholds + 1) / (thresholds + 1)
        edges = np.quantile(some, shares, axis=0, method="lower").astype(x.dtype)
        bins = np.zeros(x.shape, dtype=np.uint8)
        for edge in edges:
            bins += x > edge
        return Binned(bins, edges.astype(np.int64), labels, classes)

    def low_sides(self, rows: Ints, at: Ints, features: Ints) -> Ints:
        """Class counts of what goes low of some samples, for all splits of the nodes they are at.

        `at` is the node of each row, `features` (nodes × several) what each node may ask for; the answer is
        nodes × splits × classes, split s being feature s // thresholds at threshold s % thresholds.
        """
        nodes, several = features.shape
        bins = self.bins[rows[:, None], features[at]].astype(np.int64)
        shape = (nodes, several, len(self.edges) + 1, self.classes)
        cell = (at[:, None] * several + np.arange(several)) * shape[2] + bins
        cell = cell * self.classes + self.labels[rows][:, None]
        counts = np.bincount(cell.ravel(), minlength=int(np.prod(shape))).reshape(shape)
        below = np.cumsum(counts, axis=2)[:, :, :-1]
        return np.asarray(below.reshape(nodes, -1, self.classes))

    def part(self, rows: Ints) -> Binned:
        return Binned(self.bins[rows], self.edges, self.labels[rows], self.classes)
