"""The papers' figures: points, pictures and verdicts."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from harness import cli, runner, trained
from harness.errors import UnknownName
from harness.figures import cloud, contest, everything, measured, paperdata, sizes, toys, trials, versus, work
from harness.figures.spec import Cell, Plan, Point, Spec
from harness.figures.trials import Trial
from harness.jobs import Recipe
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
    monkeypatch.setattr(trials, "_done", lambda _: pytest.fail("computed again"))
    assert trials.perform([trial], jobs=1) == first
    assert 0 < first[trial]["error"] < 50


def test_the_command_writes_pictures_points_and_verdicts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KILOBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("KILOBENCH_OFFLINE", "1")
    monkeypatch.delenv("KILOBENCH_DATA", raising=False)
    trials.load.cache_clear()
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
    parts = {spec.name for spec in everything.chosen(["protonn"], ["fig4"])}
    assert parts == {"fig4-time", "fig4-energy", "fig4-accuracy"}


def test_what_cannot_be_is_not_tried_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KILOBENCH_CACHE", str(tmp_path))
    trial = Trial.of("train", "digits", model="linear", budget=3, effort="fast")
    first = trials.perform([trial], jobs=1)
    assert "fits into 3 bytes" in first[trial]["missing"]
    monkeypatch.setattr(trials, "_done", lambda _: pytest.fail("computed again"))
    assert trials.perform([trial], jobs=1) == first


def test_a_training_for_a_figure_is_found_by_the_suite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KILOBENCH_CACHE", str(tmp_path))
    found = work.train(datasets.load("digits"), 0, model="linear", budget=600, effort="fast")
    kept = trained.obtain(
        Recipe("digits", "linear", 600, 0, "fast"), datasets.load("digits"), ["int8"], tmp_path
    )
    assert not kept.trained
    assert kept.get("int8").flash_bytes == found["flash_bytes"] <= 600


def test_large_data_get_fewer_seeds_and_the_plan_says_so() -> None:
    plan = Plan("fast", (0, 1, 2), on_large=1)
    assert plan.seeds_for("mnist-10") == (0,)
    assert plan.seeds_for("usps-2") == plan.seeds_for("toy-3") == (0, 1, 2)
    assert str(plan) == "effort fast, 3 seeds (1 on data of more than 20,000 samples)"
    assert str(Plan("best", (0,))) == "effort best, 1 seed"


def match(**accuracies: float) -> contest.Match:
    points = [Point("digits", name, 2.0, y, 0.1, 3) for name, y in accuracies.items()]
    return contest.Match("digits", 2048, points)


def test_a_cell_is_won_by_the_better_of_the_two_alone_against_all() -> None:
    won, lost = (
        match(ProtoNN=97.0, Bonsai=95.0, GBDT=96.0),
        match(ProtoNN=94.0, Bonsai=95.0, GBDT=95.5, BNC=1.0),
    )
    assert (won.won_by("ProtoNN"), won.won_by("Bonsai"), lost.won_by("Bonsai")) == (True, False, False)
    assert contest.share([won, lost, lost, lost]) == 0.25
    text = contest.markdown([won, lost])
    assert "in 1 (50 %; 80 % were wanted); ProtoNN alone in 1, Bonsai alone in 0" in text[2]
    assert "| GBDT 95.50 % | -0.50 |" in text[6]
    assert contest.markdown([]) == []


def test_cells_are_compared_within_the_same_budget_and_with_what_there_is() -> None:
    plan = Plan("fast", (0,))
    accuracies = {("protonn", 2048): 0.97, ("linear", 2048): 0.9, ("linear", 16384): 0.99}
    results = {
        sizes.trial(plan, "digits", model, size): {"test_accuracy": y, "flash_bytes": size}
        for (model, size), y in accuracies.items()
    }
    (found,) = contest.matches(plan, results)
    assert (found.dataset, found.bytes) == ("digits", 2048)
    assert found.lead == pytest.approx(7.0)


def test_the_radio_is_modelled_close_to_what_the_paper_prints() -> None:
    assert cloud.milliseconds(256) == pytest.approx(83.45, rel=0.05)
    assert cloud.milliseconds(784) == pytest.approx(264.96, rel=0.05)
    assert cloud.millijoules(784) == pytest.approx(104.92, rel=0.05)


def test_references_say_where_they_saw_a_part_of_the_data() -> None:
    cells = {(cell.dataset, cell.method): cell for cell in sizes.unlimited(FAST, ("mnist-2", "usps-2"))}
    assert cells["mnist-2", "RBF-SVM"].label == "learnt from 10000 of 60000 samples"
    assert cells["usps-2", "RBF-SVM"].label == cells["mnist-2", "kNN"].label == ""
    assert not any(cell.label for cell in sizes.unlimited(Plan("normal", (0,)), ("mnist-2",)))


def test_rows_of_the_board_are_run_again_only_if_something_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KILOBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(trials, "digest", lambda name: f"content of {name}")
    folders = []

    def run(suite: str, *, out: Path, **_: Any) -> None:
        folders.append(out)
        out.mkdir(parents=True, exist_ok=True)
        for name in measured.SHOWN:
            (out / name).write_text(f"{suite} {len(folders)}")

    monkeypatch.setattr(runner, "run", run)
    assert (measured.rows(tmp_path / "a") / "rows.csv").read_text() == "paper 1"
    measured.rows(tmp_path / "b")
    monkeypatch.setattr(trials, "digest", lambda name: "other content")
    measured.rows(tmp_path / "c")
    assert folders[0] == folders[1] != folders[2]


def test_the_longest_trials_come_first() -> None:
    slow, quick = (Trial.of("train", "mnist-2", model=model, budget=9) for model in ("gbdt", "protonn"))
    searches, toy = Trial.of("searches", "letter-26", ratios=[0.01]), Trial.of("annealing", "toy-3")
    assert sorted([toy, quick, searches, slow], key=trials.duration, reverse=True) == [
        slow,
        searches,
        quick,
        toy,
    ]
