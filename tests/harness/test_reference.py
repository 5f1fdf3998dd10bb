"""The firmware of today against the committed reference run: nothing may have become slower or bigger unseen.

Where a change is worth it, `make reference` takes the new figures over, and the commit shows them.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness import compare, paths, runner
from harness.report import rundata

REFERENCE = paths.project() / "results" / "reference"


@pytest.fixture(scope="module")
def today(tmp_path_factory: pytest.TempPathFactory) -> rundata.Run:
    """The reference's own models, built and run again."""
    folder = tmp_path_factory.mktemp("reference") / "run"
    runner.run("reference", board="uno", out=folder, models=REFERENCE)
    return rundata.read(folder)


def test_no_kernel_became_slower_or_bigger(today: rundata.Run) -> None:
    reference = rundata.read(REFERENCE)
    if reference.about["compiler"] != today.about["compiler"]:
        pytest.skip(f"another compiler than the reference's: {today.about['compiler']}")
    found = compare.compare(reference, today)
    assert not found.regressions, [
        (job.name, job.note, *(change.sentence for change in job.changes)) for job in found.regressions
    ]


def test_every_kernel_is_in_the_reference(today: rundata.Run) -> None:
    kernels = {path.stem for path in (paths.project() / "firmware/lib/kernels").glob("*.c")}
    integer = {name for name in kernels if not name.endswith("_float")}
    families = {"kmeans": "prototypes", "tree": "trees", "forest": "trees", "gbdt": "trees"}
    assert {families.get(row.model, row.model) for row in today.rows} == integer


def test_the_reference_names_no_machine() -> None:
    text = (REFERENCE / "run.json").read_text(encoding="utf8")
    assert str(Path.home()) not in text
    assert str(paths.project()) not in text
    assert json.loads(text)["suite"] == "reference"
