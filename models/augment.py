"""More training images out of the ones there are: the same picture, moved by one pixel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.device import Array

MOVES = tuple((dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if (dy, dx) != (0, 0))


@dataclass(frozen=True)
class Shifts:
    """Moves half of a batch of images by one pixel, in all eight directions; border pixels are repeated.

    A batch is in random order, so a run of neighbours is a random choice, and moving a run is a plain copy.
    """

    height: int
    width: int
    share: float = 0.5

    def __call__(self, batch: Array, rng: np.random.Generator) -> Array:
        images = batch.reshape(len(batch), self.height, self.width).copy()
        first = rng.integers(len(MOVES))
        for number, run in enumerate(np.array_split(images[: round(self.share * len(images))], len(MOVES))):
            dy, dx = MOVES[(first + number) % len(MOVES)]
            run[...] = moved(run, dy, dx)
        return images.reshape(batch.shape)


def moved(images: Array, dy: int, dx: int) -> Array:
    """Images (n, height, width), moved down by dy and right by dx pixels (-1, 0 or 1 each)."""
    result = np.empty_like(images)
    result[:, _INTO[dy], _INTO[dx]] = images[:, _OUT_OF[dy], _OUT_OF[dx]]
    if dy:
        edge = 0 if dy > 0 else -1
        result[:, edge] = result[:, edge + dy]
    if dx:
        edge = 0 if dx > 0 else -1
        result[:, :, edge] = result[:, :, edge + dx]
    return result


_INTO = {-1: slice(None, -1), 0: slice(None), 1: slice(1, None)}
_OUT_OF = {-1: slice(1, None), 0: slice(None), 1: slice(None, -1)}
