"""Two runs held against each other."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from harness import compare
from harness.compare import Comparison, Verdict
from harness.errors import InputError
from harness.report import rundata
from tests.harness import fixture_run

JOB = ("digits", "protonn", "int8")


def pair(tmp_path: Path, *, tolerance: str = "", old: Any = (), **changes: Any) -> Comparison:
    """A job in two runs, which differs in `changes`."""
    before = fixture_run.write(tmp_path / "old", [fixture_run.row(*JOB, **dict(old))])
    after = fixture_run.write(tmp_path / "new", [fixture_run.row(*JOB, **changes)])
    allowed = compare.tolerances(tolerance) if tolerance else None
    return compare.compare(rundata.read(before), rundata.read(after), allowed)


def verdict(found: Comparison, metric: str) -> Verdict:
    return {change.metric: change.verdict for change in found.jobs[0].changes}[metric]


def test_a_run_is_the_same_as_itself(tmp_path: Path) -> None:
    folder = fixture_run.write(tmp_path / "run", fixture_run.rows())
    found = compare.compare(rundata.read(folder), rundata.read(folder))
    assert found.count(Verdict.SAME) == len(found.jobs) == 8
    assert not found.notes


@pytest.mark.parametrize(
    ("metric", "column", "value"),
    [("cycles", "cycles_median", 21_413), ("flash", "flash_total", 4_878), ("RAM", "ram_static", 413)],
)
def test_one_more_is_a_regression(tmp_path: Path, metric: str, column: str, value: Any) -> None:
    found = pair(tmp_path, **{column: value})
    assert verdict(found, metric) is Verdict.REGRESSION
    assert found.jobs[0].verdict is Verdict.REGRESSION


def test_less_is_better(tmp_path: Path) -> None:
    found = pair(tmp_path, cycles_median=20_000)
    assert found.jobs[0].verdict is Verdict.BETTER
    assert not found.regressions


@pytest.mark.parametrize(
    ("tolerance", "regressions"),
    [("1%", 0), ("cycles=1", 0), ("0.5", 1), ("flash=5", 1)],
)
def test_what_is_tolerated_is_no_regression(tmp_path: Path, tolerance: str, regressions: int) -> None:
    found = pair(tmp_path, tolerance=tolerance, cycles_median=round(21_412 * 1.007))
    assert len(found.regressions) == regressions


def test_figures_to_tolerate_may_be_written_small() -> None:
    assert compare.tolerances("ram=1, Cycles = 2%") == {"RAM": 1.0, "cycles": 2.0}


@pytest.mark.parametrize("text", ["much", "-1", "speed=3", "=3", "cycles=", "cycles=2,,", "nan", "inf"])
def test_a_tolerance_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        compare.tolerances(text)


def test_samples_lost_by_chance_are_no_regression(tmp_path: Path) -> None:
    found = pair(tmp_path, accuracy=(438 - 3) / 450)
    assert verdict(found, "accuracy") is Verdict.WORSE
    assert "3 samples lost, 0 won" in found.jobs[0].changes[0].note


def test_many_samples_lost_are_a_regression(tmp_path: Path) -> None:
    found = pair(tmp_path, accuracy=(438 - 9) / 450)
    assert verdict(found, "accuracy") is Verdict.REGRESSION


def test_other_samples_are_not_paired(tmp_path: Path) -> None:
    near = pair(tmp_path / "near", n_samples=200, accuracy=0.95)
    far = pair(tmp_path / "far", n_samples=200, accuracy=0.80)
    assert verdict(near, "accuracy") is Verdict.WORSE
    assert verdict(far, "accuracy") is Verdict.REGRESSION


def test_as_many_won_as_lost_is_told(tmp_path: Path) -> None:
    folder = fixture_run.write(tmp_path / "run", [fixture_run.row(*JOB)])
    old, new = rundata.read(folder), rundata.read(folder)
    (outcomes,) = new.outcomes.values()
    outcomes.reverse()
    change = compare.compare(old, new).jobs[0].changes[0]
    assert change.verdict is Verdict.CHANGED
    assert "12 samples lost, 12 won, p = 1" in change.note


def test_measured_energy_may_waver_and_modelled_may_not(tmp_path: Path) -> None:
    modelled = pair(tmp_path / "a", old={"energy_uJ": 100.0}, energy_uJ=104.0)
    measured = pair(
        tmp_path / "b",
        old={"energy_uJ": 100.0, "energy_kind": "measured"},
        energy_uJ=104.0,
        energy_kind="measured",
    )
    assert verdict(modelled, "energy") is Verdict.REGRESSION
    assert verdict(measured, "energy") is Verdict.WORSE


def test_energies_of_different_kinds_are_not_judged(tmp_path: Path) -> None:
    found = pair(tmp_path, energy_uJ=1e6, energy_kind="measured")
    assert verdict(found, "energy") is Verdict.CHANGED
    assert not found.regressions


def test_cycles_of_different_kinds_are_not_judged(tmp_path: Path) -> None:
    found = pair(tmp_path, cycles_median=1, timing="instructions")
    assert verdict(found, "cycles") is Verdict.CHANGED
    assert "cycle-exact before, instructions now" in found.jobs[0].changes[1].note


def test_a_job_that_fails_now_is_a_regression(tmp_path: Path) -> None:
    found = pair(tmp_path, status="failed", reason="The board is silent.")
    assert "The board is silent." in found.regressions[0].note


def test_a_job_that_is_gone_is_a_regression_and_a_new_one_is_not(tmp_path: Path) -> None:
    one = fixture_run.write(tmp_path / "one", fixture_run.rows()[:1])
    two = fixture_run.write(tmp_path / "two", fixture_run.rows()[:2])
    assert len(compare.compare(rundata.read(two), rundata.read(one)).regressions) == 1
    assert not compare.compare(rundata.read(one), rundata.read(two)).regressions


def test_another_compiler_is_told(tmp_path: Path) -> None:
    old = fixture_run.write(tmp_path / "old", fixture_run.rows(), compiler="avr-gcc 5.4.0")
    new = fixture_run.write(tmp_path / "new", fixture_run.rows(), compiler="avr-gcc 14.1.0")
    notes = compare.compare(rundata.read(old), rundata.read(new)).notes
    assert notes == ("The compiler differs: avr-gcc 5.4.0 before, avr-gcc 14.1.0 now.",)


def test_what_is_wrong_with_a_run_itself_is_told(tmp_path: Path) -> None:
    old = fixture_run.write(tmp_path / "old", fixture_run.rows())
    new = fixture_run.write(tmp_path / "new", fixture_run.rows())
    samples = (new / "samples.csv").read_text()
    (new / "samples.csv").write_text(samples[: len(samples) // 2])
    notes = compare.compare(rundata.read(old), rundata.read(new)).notes
    assert notes[0].startswith("In the new run: The last line of samples.csv was cut short")
    assert notes[-1] == "In the new run: 4 more remarks; `kilobench report` has all."  # 6 of 8 jobs lack some
    assert len(notes) == compare.MOST_NOTES + 1


def test_jobs_of_several_seeds_have_names_of_their_own(tmp_path: Path) -> None:
    lines = [fixture_run.row(*JOB, seed=seed, speed=speed) for seed in (0, 1) for speed in ("no", "yes")]
    run = rundata.read(fixture_run.write(tmp_path, lines))
    names = [job.name for job in compare.compare(run, run).jobs]
    assert names[0] == "digits ProtoNN int8 2 kB"
    assert names[3] == "digits ProtoNN int8 2 kB speed seed 1"
    assert len(set(names)) == 4


def test_500_jobs_take_seconds(tmp_path: Path) -> None:
    lines = [fixture_run.row(*JOB, budget=1024 + number, n_samples=360) for number in range(500)]
    old, new = fixture_run.write(tmp_path / "old", lines), fixture_run.write(tmp_path / "new", lines)
    began = time.process_time()
    found = compare.compare(rundata.read(old), rundata.read(new))
    assert len(found.jobs) == 500
    assert time.process_time() - began < 10  # 2 on a quiet machine; `make measure` holds it to that
