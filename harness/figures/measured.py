"""The rows of the suite `paper` on a simulated Uno: run once, and again when what they depend on changed."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

from harness import lineage, paths, runner, suites, surroundings
from harness.errors import KilobenchError
from harness.figures import trials
from harness.spool import writing

SUITE = "paper"
BOARD = "uno"
SHOWN = ("run.json", "rows.csv", "samples.csv")


def rows(out: Path, *, jobs: int | None = None) -> Path:
    """The folder with a run's files in `out`; a run that was stopped goes on where it was."""
    kept = paths.cache() / "papers" / _key()
    runner.run(SUITE, board=BOARD, simulate=True, out=kept, resume=True, jobs=jobs)
    with writing(out):
        out.mkdir(parents=True, exist_ok=True)
        for name in SHOWN:
            shutil.copyfile(kept / name, out / name)
    return out


def _key() -> str:
    """A name for all that decides on the rows: suite, board, firmware, our source, libraries, the data."""
    suite = suites.load(SUITE)
    names = sorted({job.dataset for job in suite.jobs(BOARD)})
    parts = [
        suite.definition(),
        surroundings.versions(),
        lineage.of_models(),
        lineage.of(("harness.runner",)),
        [_data(name) for name in names],
    ]
    digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode())
    project = paths.project()
    for path in sorted([project / "boards" / f"{BOARD}.toml", *(project / "firmware").rglob("*")]):
        if path.is_file() and not {".pio", "__pycache__"} & {*path.parts}:
            digest.update(f"{path.relative_to(project)}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:32]


def _data(name: str) -> str:
    """What is not here gives rows that say so, until it comes."""
    try:
        return trials.digest(name)
    except KilobenchError:
        return "not here"
