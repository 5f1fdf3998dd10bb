"""Slightly moved, turned and stretched copies of training images, made while training.

A class does not change when its picture moves by half a pixel, but a small model does not know; telling it
so with the training data's own images is worth more than a larger model. Test data are never touched.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from models.device import Array

Map = Any
"""A sparse matrix (pixels × pixels): each row the weights of the four pixels that a new pixel is mixed of."""
POOL = 256
"""Different maps in one training."""
PARTS = 4
"""Different maps in one batch: one serves a part of it, which keeps it cheap."""


@dataclass(frozen=True)
class Jitter:
    """How far images may be moved, turned and stretched."""

    height: int
    width: int
    shift: float = 0.7
    """Pixels."""
    turn: float = 0.1
    """Radians."""
    stretch: float = 0.07
    """Logarithm of the scale, each way on its own."""
    shear: float = 0.1

    @classmethod
    def of_strength(cls, image: tuple[int, int], strength: float) -> Jitter:
        """Small images are moved by less: what matters is the part of the picture."""
        height, width = image
        reach = strength * (0.35 + 0.02 * max(height, width))
        return cls(height, width, reach, 0.12 * strength, 0.08 * strength, 0.12 * strength)

    def augmenter(self, rng: np.random.Generator) -> Callable[[Array, np.random.Generator], Array]:
        """A function that jitters a batch of images, each given row by row."""
        pool = [self.map(rng) for _ in range(POOL)]

        def jittered(X: Array, rng: np.random.Generator) -> Array:
            parts = np.array_split(X, min(PARTS, X.shape[0]))
            # Pixel by pixel: scipy then adds whole runs of samples, four times as fast as gathering pixels.
            return np.concatenate([pool[rng.integers(POOL)] @ part.T for part in parts], axis=1).T

        return jittered

    def map(self, rng: np.random.Generator) -> Map:
        """A random affine map; beyond the border, the picture repeats its last pixel."""
        angle, shear = rng.uniform(-self.turn, self.turn), rng.uniform(-self.shear, self.shear)
        wide, high = np.exp(rng.uniform(-self.stretch, self.stretch, size=2))
        down, right = rng.uniform(-self.shift, self.shift, size=2)
        cosine, sine = np.cos(angle), np.sin(angle)
        matrix = np.array([[cosine, -sine], [sine, cosine]]) @ np.array([[wide, shear], [0.0, high]])
        middle_y, middle_x = (self.height - 1) / 2, (self.width - 1) / 2
        y, x = np.mgrid[0 : self.height, 0 : self.width].astype(np.float64)
        x, y = x - middle_x, y - middle_y
        from_x = matrix[0, 0] * x + matrix[0, 1] * y + middle_x + right
        from_y = matrix[1, 0] * x + matrix[1, 1] * y + middle_y + down
        left, top = np.floor(from_x), np.floor(from_y)
        part_x, part_y = from_x - left, from_y - top
        corners, weights = [], []
        for below, beside in ((0, 0), (0, 1), (1, 0), (1, 1)):
            row = np.clip(top + below, 0, self.height - 1)
            column = np.clip(left + beside, 0, self.width - 1)
            corners.append((row * self.width + column).ravel())
            share = (part_y if below else 1 - part_y) * (part_x if beside else 1 - part_x)
            weights.append(share.ravel())
        pixels = self.height * self.width
        ends = np.arange(0, 4 * pixels + 1, 4, dtype=np.int32)
        columns = np.array(corners).T.ravel().astype(np.int32)
        shares = np.array(weights).T.ravel().astype(np.float32)
        return sparse.csr_array((shares, columns, ends), shape=(pixels, pixels))
