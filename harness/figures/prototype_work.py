"""Trials that look into a training: NPC's annealing, SNC's kernel of two widths, ProtoNN's three matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from models import protonn_init, protonn_paper
from models.datasets import Dataset
from models.device import Array, InputScale
from models.hashing import Exhaustive
from models.lmnn import learn_map
from models.nearest import class_sample
from models.npc_train import Samples, conjugate, sharpness
from models.optim import Params, one_hot
from models.prototypes import class_means
from models.snc import Space, compress
from models.soft_neighbours import exponential_loss, hinge_loss

MARGIN = 0.5
UNDECIDED = 0.98
ITERATIONS = 40
PLANE_CLASSES = 5
"""The paper draws the digits 0 to 4."""
PLANE_SAMPLES = 2000
PLANE_RATIO = 0.04
JOINT_DIMENSIONS, JOINT_PROTOTYPES, JOINT_DENSITY = 10, 20, 0.1
"""ProtoNN's in its Figure 5."""
JOINT_BATCH = 512
SUBSETS = ("Z", "B", "W", "BZ", "WZ", "WB", "WBZ")


def annealing(data: Dataset, seed: int, loss: str, count: int, steps: int) -> dict[str, Any]:
    """NPC's prototypes before the first and after each γ, with the accuracies there."""
    x, away = _unit(data.X_train, data.X_test)
    labels = data.y_train.astype(np.int64)
    rng = np.random.default_rng(seed)
    points, owners = class_means(x, labels, count, rng)
    gammas = sharpness(x, points, undecided=UNDECIDED, steps=steps)
    measure = exponential_loss if loss == "exponential" else hinge_loss(MARGIN)
    samples = Samples(x, labels, owners, int(labels.max()) + 1, measure, np.inf)
    stages = []
    for gamma in [None, *gammas]:
        if gamma is not None:
            points = conjugate(samples, points, [gamma], iterations=ITERATIONS).points
        stages.append(
            {
                "points": points.tolist(),
                "owners": owners.tolist(),
                "train": _accuracy(points, owners, x, labels),
                "test": _accuracy(points, owners, away, data.y_test),
            }
        )
    return {"gammas": gammas, "stages": stages, "x": x[:PLANE_SAMPLES].tolist(), "y": labels.tolist()}


def plane(data: Dataset, seed: int, widths: list[float]) -> dict[str, Any]:
    """SNC's compressed set in the plane that LMNN finds for five classes: the start, and for each γ².

    γ² is in LMNN's own unit, the margin between classes: in any other the two widths would mean nothing.
    """
    some = np.flatnonzero(data.y_train < PLANE_CLASSES)[:PLANE_SAMPLES]
    x, _ = _unit(data.X_train[some], data.X_train[:1])
    labels = data.y_train[some].astype(np.int64)
    rng = np.random.default_rng(seed)
    flat = x @ learn_map(x, labels, rng, components=2).T.astype(np.float32)
    flat -= flat.mean(axis=0)
    chosen = class_sample(labels, round(PLANE_RATIO * len(labels)), rng)
    found: dict[str, Any] = {"x": flat.tolist(), "y": labels.tolist(), "owners": labels[chosen].tolist()}
    found["start"] = {
        "points": flat[chosen].tolist(),
        "train": _accuracy(flat[chosen], labels[chosen], flat, labels),
    }
    for width in widths:
        space = Space(np.float32(np.sqrt(width)), fixed=True)
        ended = compress(flat, labels, chosen, space, iterations=4 * ITERATIONS).prototypes
        accuracy = _accuracy(ended.points, ended.owners, flat, labels)
        found[f"{width:g}"] = {"points": ended.points.tolist(), "train": accuracy}
    return found


def joint(
    data: Dataset, seed: int, *, rounds: int, epochs: int, samples: int | None = None
) -> dict[str, Any]:
    """Test accuracy after each round of ProtoNN's Algorithm 1, where only some of W, B and Z are trained.

    All start from the same LMNN projection and k-means prototypes.
    """
    rng = np.random.default_rng(seed)
    some = rng.permutation(len(data.X_train))[:samples]
    inputs = InputScale.for_data(data.X_train[some], "int8", True)
    x, away = _unit(inputs.encode(data.X_train[some]), inputs.encode(data.X_test))
    labels = data.y_train[some].astype(np.int64)
    Y = one_hot(labels, data.n_classes)
    W = protonn_init.projection("lmnn", x, labels, JOINT_DIMENSIONS, rng)
    first, gamma = protonn_paper.start(x, labels, Y, W, JOINT_PROTOTYPES, rng=rng)
    found: dict[str, Any] = {}
    for trained in SUBSETS:
        params = dict(first)
        curve: list[float] = []

        def note(rounds: int, loss: float, params: Params = params, curve: list[float] = curve) -> None:
            similar = protonn_paper.Samples(away, away, gamma).similarities(params)[1]
            curve.append(100 * float(np.mean((similar @ params["Z"].T).argmax(axis=1) == data.y_test)))

        recipe = protonn_paper.PaperRecipe(
            rounds, epochs, JOINT_BATCH, JOINT_DENSITY, b_density=1.0, z_density=1.0, trained=trained
        )
        here = protonn_paper.Samples(x, Y, gamma)
        protonn_paper.solve(here, params, recipe=recipe, rng=np.random.default_rng(seed), progress=note)
        found[trained] = curve
    return found


def _unit(x: Array, other: Array) -> tuple[Array, Array]:
    """Both without the first one's mean, in units of its deviation."""
    centre, spread = x.mean(axis=0), float(x.std()) or 1.0
    scaled = (np.asarray((part - centre) / spread, dtype=np.float32) for part in (x, other))
    return next(scaled), next(scaled)


def _accuracy(points: Array, owners: Array, x: Array, labels: Array) -> float:
    return 100 * float(np.mean(owners[Exhaustive(points).nearest(x)] == labels))
