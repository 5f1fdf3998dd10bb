from __future__ import annotations

import numpy as np

from models.augment import MOVES, Shifts, moved


def test_moved_images_repeat_their_border() -> None:
    image = np.arange(9).reshape(1, 3, 3)
    assert moved(image, 1, 0)[0].tolist() == [[0, 1, 2], [0, 1, 2], [3, 4, 5]]
    assert moved(image, 0, -1)[0].tolist() == [[1, 2, 2], [4, 5, 5], [7, 8, 8]]


def test_half_of_a_batch_is_moved_each_image_by_one_pixel() -> None:
    batch = np.random.default_rng(0).random((64, 20))
    seen = Shifts(4, 5)(batch, np.random.default_rng(1))
    assert np.array_equal(seen[32:], batch[32:])
    used = set()
    for before, after in zip(batch[:32], seen[:32], strict=True):
        fits = [m for m in MOVES if np.array_equal(moved(before.reshape(1, 4, 5), *m).ravel(), after)]
        assert len(fits) == 1
        used.update(fits)
    assert used == set(MOVES)


def test_the_batch_itself_is_left_alone() -> None:
    batch = np.random.default_rng(0).random((16, 9))
    kept = batch.copy()
    Shifts(3, 3)(batch, np.random.default_rng(0))
    assert np.array_equal(batch, kept)
