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
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1)), mode="edge")
    height, width = images.shape[1:]
    return padded[:, 1 - dy : 1 - dy + height, 1 - dx : 1 - dx + width]
