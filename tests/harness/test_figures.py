"""The papers' figures: points, pictures and verdicts."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from harness import cli
from harness.errors import UnknownName
from harness.figures import everything, paperdata, toys, trials, versus, work
from harness.figures.spec import Cell, Plan, Point, Spec
from harness.figures.trials import Trial
from models import datasets

FAST = Plan("fast", (0, 1))
SPECS = [spec for specs in everything.PAPERS.values() for spec in specs]


def test_every_figure_has_a_name_of_its_own() -> None:
    names = [(spec.paper, spec.name) for spec in SPECS]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: f"{spec.paper}-{spec.name}")
def test_every_trial_names_work_and_data_that_exist(spec: Spec) -> None:
    for plan in (FAST, Plan("normal", (0,))):
        for trial in spec.trials(plan):
            assert callable(getattr(work, trial.work))
            assert trial.dataset in (*datasets.names(), *toys.names())
            json.loads(trial.options)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: f"{spec.paper}-{spec.name}")
def test_without_any_data_published_numbers_are_drawn_alone(spec: Spec) -> None:
    results: dict[Trial, Any] = {trial: {"missing": "not here"} for trial in spec.trials(FAST)}
    points = spec.points(FAST, results, ())
    assert not any(point.ours for point in points)
    assert spec.figure(FAST, results, points) is not None
    assert spec.line(points).endswith(".")


def test_a_cell_is_the_mean_of_its_seeds() -> None:
    cell = Cell("digits", "any", Trial.of("fit", "digits", k=1), lambda r: r["error"], lambda r: r["size"])
    results: dict[Trial, Any] = dict(
        zip(cell.trials(FAST), ({"error": 1.0, "size": 2.0}, {"error": 3.0, "size": 4.0}), strict=True)
    )
    (point,) = cell.points(FAST, results)
    assert (point.y, point.x, point.seeds) == (2.0, 3.0, 2)
    assert point.sd == pytest.approx(2**0.5)
    results[cell.trials(FAST)[1]] = {"missing": "disk full"}
    assert cell.points(FAST, results)[0].seeds == 1


def test_published_points_have_sizes_and_times() -> None:
    sized = paperdata.points("protonn", "Figure 1", "accuracy_pct", datasets=("usps-2",))
    assert (sized[0].x, sized[0].y) == (2.0, 93.0)
    assert paperdata.number("1h13m") == 4380
    assert paperdata.number("2m44s") == 164
    assert paperdata.number("7.64M") is None


def pair(theirs: float, ours: float, *, unit: str = "%", more_is_better: bool = True) -> versus.Pair:
    point = Point("usps-2", "ProtoNN", 2.0, theirs)
    return versus.Pair(
        "protonn", "Figure 1", unit, more_is_better, point, Point("usps-2", "ProtoNN", 1.9, ours, 0.1, 5)
    )


def test_verdicts_follow_the_direction_of_the_figure() -> None:
    assert pair(93.0, 96.0).verdict == "ours is better"
    assert pair(93.0, 93.2).verdict == "as good"
    assert pair(4.0, 5.0, more_is_better=False).verdict == "theirs is better"
    assert pair(4.89, 0.9, unit="ms", more_is_better=False).gain == pytest.approx(81.6, abs=0.1)


def test_a_published_size_is_never_met_by_a_larger_one_of_ours() -> None:
    spec = SPECS[0]
    points = [
        Point("usps-2", "ProtoNN", 2.0, 93.0),
        Point("usps-2", "ProtoNN", 1.9, 96.0, 0.1, 5),
        Point("usps-2", "ProtoNN", 2.1, 99.0, 0.1, 5),
        Point("usps-2", "BNC", 2.0, 93.0),
    ]
    (found,) = versus.pairs(spec, points)
    assert found.ours.y == 96.0
    assert "| 96 % | 0.1 (5) | +3.00 | ours is better |" in versus.markdown([found], "Seeds 0–4.")


def test_a_trial_is_done_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KILOBENCH_CACHE", str(tmp_path))
    trial = Trial.of(
        "fit", "digits", estimator="models.prototypes:KMeansPrototypes", params={"n_per_class": 2}
    )
    first = trials.perform([trial, trial], jobs=1)
    monkeypatch.setattr(work, "fit", lambda *_, **__: pytest.fail("computed again"))
    assert trials.perform([trial], jobs=1) == first
    assert 0 < first[trial]["error"] < 50


def test_the_command_writes_pictures_points_and_verdicts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KILOBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("KILOBENCH_OFFLINE", "1")
    monkeypatch.delenv("KILOBENCH_DATA", raising=False)
    assert cli.run_line(["figures", "npc", "--only", "table1", "--out", str(tmp_path / "out"), "--json"]) == 0
    (figure,) = json.loads(capsys.readouterr().out)["figures"]
    kinds = {Path(path).suffix for path in figure["files"]}
    assert kinds == {".csv", ".svg", ".png", ".pdf"}
    assert all(Path(path).stat().st_size > 500 for path in figure["files"])
    with (tmp_path / "out/npc/table1.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert {line["source"] for line in lines} == {"published"}
    assert "published numbers alone" in figure["line"]
    assert (tmp_path / "out" / "paper-vs-ours.md").exists()


def test_a_figure_that_is_not_there_is_named() -> None:
    with pytest.raises(UnknownName, match="fig9"):
        everything.chosen(["protonn"], ["fig9"])
    assert [spec.name for spec in everything.chosen(["protonn"], ["fig4"])] == ["fig4-time", "fig4-energy"]
