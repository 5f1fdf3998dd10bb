from __future__ import annotations

import numpy as np
import pytest

from models.protonn import ProtoNNClassifier
from models.protonn_search import candidates
from models.search import EFFORTS, Task


@pytest.mark.parametrize(("side", "moved"), [(8, False), (16, True), (28, True)])
@pytest.mark.parametrize("budget", [512, 16384])
def test_images_are_moved_by_their_size_whatever_the_budget(side: int, moved: bool, budget: int) -> None:
    proposals = candidates(Task(5000, side * side, 2, (side, side)), budget, "normal")
    assert (proposals[0]["image_shape"] is not None) == moved
    assert (proposals[1]["image_shape"] is not None) != moved  # the search tries the other way


def test_what_is_no_image_is_never_moved() -> None:
    assert {p["image_shape"] for p in candidates(Task(5000, 64, 2), 2048, "best")} == {None}


def test_a_search_varies_shape_decay_and_length() -> None:
    tried = candidates(Task(7000, 256, 10, (16, 16)), 4096, "normal")[: EFFORTS["normal"].candidates]
    for name in ("projection_dim", "n_prototypes", "weight_decay", "epochs"):
        assert len({params[name] for params in tried}) > 1


@pytest.mark.parametrize(("features", "classes", "budget"), [(16, 26, 4096), (64, 10, 700), (30, 2, 256)])
def test_candidates_keep_to_the_budget(features: int, classes: int, budget: int) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, features)), np.arange(400) % classes
    for params in candidates(Task(400, features, classes), budget, "fast")[:4]:
        model = ProtoNNClassifier(**{**params, "epochs": 1}, random_state=0).fit(X, y)
        assert model.to_device().flash_bytes <= budget
