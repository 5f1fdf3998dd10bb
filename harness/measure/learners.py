"""Figures of the learners: accuracy within a byte budget, mean over seeds, nothing chosen on test data."""

from __future__ import annotations

import resource
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from harness.measure.figures import Figure, spread
from models import datasets, training

SEEDS = range(5)
SLACK = 0.7
"""Percentage points that ProtoNN or Bonsai alone may lie below the better of the two."""
BUDGETS = (
    ("usps-2", 512, 95.2),
    ("usps-2", 1024, 95.9),
    ("usps-2", 2048, 96.3),
    ("mnist-2", 2048, 96.3),
    ("mnist-2", 16384, 98.0),
    ("usps-10", 4096, 93.7),
    ("usps-10", 16384, 94.9),
    ("mnist-10", 16384, 97.0),
    ("letter-26", 16384, 97.0),
    ("digits", 1024, 97.0),
    ("digits", 2048, 97.8),
)


def budgets() -> Iterator[Figure]:
    """The integer models of ProtoNN and Bonsai within each budget."""
    for dataset, budget, wanted in BUDGETS:
        means = {}
        for family in ("protonn", "bonsai"):
            reports = _over_seeds(family, dataset, budget)
            percents = [100 * report["test_accuracy"] for report in reports]
            means[family] = statistics.mean(percents)
            used = max(report["flash_bytes"] for report in reports)
            detail = f"{spread(percents)}, at most {used} bytes"
            name = f"{family} on {dataset} in {budget} bytes, test accuracy"
            yield Figure(name, means[family], wanted - SLACK, " %", detail=detail)
        best = max(means, key=lambda family: means[family])
        yield Figure(f"the better on {dataset} in {budget} bytes", means[best], wanted, " %", detail=best)


def prototypes() -> Iterator[Figure]:
    """NPC and SNC at the papers' sizes, in float as the papers have them."""
    from models.npc import NPCClassifier
    from models.snc import SNCClassifier

    for dataset, k, wanted in (("usps-10", 50, 4.8), ("letter-26", 50, 3.4), ("mnist-10", 30, 1.9)):
        image = _data(dataset).image
        options = {"solver": "adam", "jitter": 1.5, "image": image} if image else {}
        error, detail = _errors(NPCClassifier, dataset, n_per_class=k, **options)
        yield Figure(
            f"NPC-e on {dataset}, {k} a class, test error", error, wanted, " %", at_most=True, detail=detail
        )
    for dataset, slack in (("letter-26", 0.5), ("isolet", 0.0), ("adult", 0.0)):
        error, detail = _errors(SNCClassifier, dataset, ratio=0.04)
        whole = _nearest_neighbour_error(dataset)
        yield Figure(
            f"SNC at 4 % on {dataset}, test error", error, whole + slack, " %", at_most=True, detail=detail
        )


def label_sets() -> Iterator[Figure]:
    from models.protonn_multilabel import ProtoNNMultilabel

    shapes: tuple[tuple[str, float, dict[str, Any]], ...] = (
        ("mediamill", 84.5, {"n_prototypes": 230, "z_density": 0.075, "weight_decay": 0.5}),
        (
            "delicious",
            67.5,
            {"n_prototypes": 300, "scale": "unit", "init": "labels", "weight_decay": 10.0, "epochs": 15},
        ),
    )
    for dataset, wanted, shape in shapes:
        data = _data(dataset)
        found, size = [], 0
        for seed in SEEDS:
            estimator = ProtoNNMultilabel(random_state=seed, **shape).fit(data.X_train, data.y_train)
            found.append(100 * estimator.score(data.X_test, data.y_test))
            size = max(size, estimator.paper_bytes_)
        detail = f"{spread(found)}, {size / 1024:.1f} kB as the papers count"
        yield Figure(f"ProtoNN on {dataset}, P@1", statistics.mean(found), wanted, " %", detail=detail)


def papers_solver() -> Iterator[Figure]:
    """Algorithm 1 of the ProtoNN paper, at the paper's sizes."""
    from models.protonn import ProtoNNClassifier

    small = {"projection_dim": 5, "n_prototypes": 10, "w_density": 0.172, "b_density": 1.0, "z_density": 1.0}
    shapes: tuple[tuple[str, float, dict[str, Any]], ...] = (
        ("usps-2", 93.0, {**small, "n_init": 4}),
        ("usps-10", 94.0, {"projection_dim": 15, "n_prototypes": 490}),
    )
    for dataset, wanted, shape in shapes:
        error, detail = _errors(ProtoNNClassifier, dataset, solver="paper", **shape)
        yield Figure(f"Algorithm 1 on {dataset}, test accuracy", 100 - error, wanted, " %", detail=detail)


def speed() -> Iterator[Figure]:
    """CPU seconds of one thread against scikit-learn's, in one run."""
    from sklearn.neural_network import MLPClassifier
    from sklearn.svm import SVC

    from models.protonn import ProtoNNClassifier
    from models.snc import SNCClassifier

    usps, mnist, letter = _data("usps-2"), _data("mnist-10"), _data("letter-26")
    ours = _cpu_seconds(lambda: training.train("protonn", usps, budget=1024, effort="fast"))
    theirs = _cpu_seconds(lambda: SVC().fit(usps.X_train, usps.y_train))
    yield Figure("train protonn usps-2 in 1 kB, effort fast / SVC fit", ours / theirs, 3, at_most=True)
    network = MLPClassifier(64, max_iter=20, random_state=0)
    ours = _cpu_seconds(
        lambda: ProtoNNClassifier(budget=16384, random_state=0).fit(mnist.X_train, mnist.y_train)
    )
    theirs = _cpu_seconds(lambda: _quietly(network.fit, mnist.X_train, mnist.y_train))
    yield Figure("one ProtoNN fit of mnist-10 in 16 kB / MLP(64), 20 epochs", ours / theirs, 1, at_most=True)
    ours = _cpu_seconds(lambda: SNCClassifier(ratio=0.04, random_state=0).fit(letter.X_train, letter.y_train))
    yield Figure("SNC at 4 % on letter-26, CPU seconds", ours, 60, " s", at_most=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    yield Figure("peak memory of all that", peak, 2, " GiB", at_most=True)


def _errors(kind: type[Any], dataset: str, **options: Any) -> tuple[float, str]:
    """Mean test error in percent over the seeds, and a note on the spread."""
    data = _data(dataset)
    found = []
    for seed in SEEDS:
        estimator = kind(random_state=seed, **options).fit(data.X_train, data.y_train)
        found.append(100 * float((estimator.predict(data.X_test) != data.y_test).mean()))
    return statistics.mean(found), spread(found)


def _nearest_neighbour_error(dataset: str) -> float:
    from sklearn.neighbors import KNeighborsClassifier

    data = _data(dataset)
    neighbours = KNeighborsClassifier(1).fit(data.X_train, data.y_train)
    return 100 * float((neighbours.predict(data.X_test) != data.y_test).mean())


def _cpu_seconds(work: Callable[[], object]) -> float:
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        start = time.process_time()
        work()
        return time.process_time() - start


def _quietly(fit: Callable[..., object], *data: Any) -> None:
    """Twenty epochs are not meant to converge."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit(*data)


def _over_seeds(family: str, dataset: str, budget: int) -> list[dict[str, Any]]:
    """The reports of all seeds, two trainings at a time."""
    from joblib import Parallel, delayed

    reports: list[dict[str, Any]] = Parallel(n_jobs=2)(
        delayed(_report)(family, dataset, budget, seed) for seed in SEEDS
    )
    return reports


def _report(family: str, dataset: str, budget: int, seed: int) -> dict[str, Any]:
    return training.train(family, _data(dataset), budget=budget, seed=seed).report


@cache
def _data(name: str) -> datasets.Dataset:
    return datasets.load(name)


SOURCES = (speed, prototypes, label_sets, papers_solver, budgets)
