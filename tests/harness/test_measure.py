from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from harness import paths
from harness.measure import __main__ as command
from harness.measure import figures, kept, learners
from harness.measure.figures import Figure
from models import datasets

MODULES = ["models.linear"]


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("KILOBENCH_CACHE", str(tmp_path))
    return tmp_path


def test_what_was_measured_is_not_measured_again() -> None:
    data = datasets.load("cancer")
    calls = []

    def measure() -> kept.Numbers:
        calls.append(1)
        return {"error": 1.25}

    for _ in range(2):
        assert kept.numbers("this", data, 0, measure, modules=MODULES) == {"error": 1.25}
    assert len(calls) == 1
    kept.numbers("this", data, 1, measure, modules=MODULES)
    kept.numbers("that", data, 0, measure, modules=MODULES)
    assert len(calls) == 3


def test_a_measurement_that_was_stopped_leaves_nothing(own_cache: Path) -> None:
    def stopped() -> kept.Numbers:
        raise KeyboardInterrupt

    data = datasets.load("cancer")
    with pytest.raises(KeyboardInterrupt):
        kept.numbers("this", data, 0, stopped, modules=MODULES)
    assert kept.numbers("this", data, 0, lambda: {"error": 2.0}, modules=MODULES) == {"error": 2.0}


def test_a_damaged_result_is_measured_anew(own_cache: Path) -> None:
    data = datasets.load("cancer")
    kept.numbers("this", data, 0, lambda: {"error": 1.0}, modules=MODULES)
    for path in own_cache.rglob("*.json"):
        path.write_text('{"err')
    assert kept.numbers("this", data, 0, lambda: {"error": 2.0}, modules=MODULES) == {"error": 2.0}


def test_trainings_are_shared_with_runs(own_cache: Path) -> None:
    data = datasets.load("cancer")
    first = kept.trained_within("linear", data, 512, 0)
    assert len(list((own_cache / "models").rglob("*.model"))) == 1
    assert kept.trained_within("linear", data, 512, 0) == first
    assert 0.8 < first["test_accuracy"] <= 1
    assert 0 < first["flash_bytes"] <= 512


@pytest.mark.parametrize("row", learners.PAPER_SHAPES, ids=lambda row: row[0])
def test_shapes_for_the_papers_solver_are_of_the_papers_size(row: learners.PaperShapes) -> None:
    dataset, _, kilobytes, shapes = row
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1500, 256)), np.arange(1500) % int(dataset.removeprefix("usps-"))
    for shape in shapes:
        estimator = learners.of_paper_size(kilobytes, shape, 256, len(np.unique(y)))
        size = estimator.set_params(rounds=1, epochs=1, n_init=1).fit(X, y).paper_bytes_
        assert 0.9 * 1024 * kilobytes < size <= 1024 * kilobytes


def test_single_sources_can_be_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def first() -> Iterator[Figure]:
        yield Figure("first", 1, 1)

    def second() -> Iterator[Figure]:
        yield Figure("second", 1, 2)

    sources: tuple[figures.Source, ...] = (first, second)
    monkeypatch.setattr(command, "GROUPS", {"both": sources})
    monkeypatch.setattr(paths, "project", lambda: tmp_path)
    assert command.main(["both.first"]) == 0
    assert "second" not in capsys.readouterr().out
    assert command.main(["both"]) == 1
    assert "second" in capsys.readouterr().out
    assert command.main(["both.third"]) == 2
    assert "both.second" in capsys.readouterr().err
