from __future__ import annotations

import csv
import errno
import io
import json
import os
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from harness import boards
from harness import jobs as jobs_module
from harness.errors import DoesNotFit, NoAnswer, RunFolderError
from harness.jobs import ROW_COLUMNS, Figures, Job, Result, measured, unmeasured
from harness.report import rundata
from harness.spool import SampleLog
from harness.store import SAMPLE_COLUMNS, RunStore
from harness.tally import Sample
from harness.targets.base import CYCLE_EXACT

JOBS = [Job("uno", "digits", model, "int8", 2048) for model in ("protonn", "linear", "tree")]
ABOUT = {"suite": "mine", "definition": {"seed": 0}, "board": "uno", "target": "simavr"}
FIGURES = Figures("simavr", 2000, 5000, 400, 8192)


@contextmanager
def opened(folder: Path, *, resume: bool = False, **changes: Any) -> Iterator[RunStore]:
    store = RunStore(folder, JOBS, {**ABOUT, **changes}, resume=resume)
    try:
        yield store
    finally:
        store.close()


def samples(n: int) -> list[Sample]:
    return [Sample(i, str(i % 3), str(i % 3), str(i % 3), 1000 + i) for i in range(n)]


def do(store: RunStore, job: Job, n: int = 5) -> None:
    """What a worker does."""
    with SampleLog(store.spool, job) as log:
        for sample in samples(n)[log.stored :]:
            log.append(sample)
        row = measured(job, boards.load("uno"), FIGURES, log.tally, timing=CYCLE_EXACT, stack_peak=30)
    store.spool.finish(job, Result(row, {"compiler": "gcc 1.2", "flags": "-O2"}))


def table(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text())))


def whole(tmp_path: Path) -> Path:
    """The undisturbed run."""
    folder = tmp_path / "whole"
    if folder.exists():
        return folder
    with opened(folder) as store:
        for job in JOBS:
            do(store, job)
        store.collect()
        store.complete()
    return folder


def test_the_columns_are_those_the_report_reads() -> None:
    assert ROW_COLUMNS == rundata.COLUMNS
    assert ",".join(ROW_COLUMNS) == (
        "board,target,dataset,model,numbers,budget,seed,speed,max_ms,shape,"
        "flash_model,flash_total,ram_static,stack_peak,paper_kB,"
        "n_samples,clipped,accuracy,agreement,timing,cycles_median,cycles_min,cycles_max,ms,"
        "energy_uJ,energy_low_uJ,energy_high_uJ,energy_net_uJ,energy_kind,energy_meter,volts,volts_kind,"
        "status,reason"
    )


def test_a_run_in_three_files(tmp_path: Path) -> None:
    folder = whole(tmp_path)
    rows = table(folder / "rows.csv")
    assert [row["model"] for row in rows] == ["protonn", "linear", "tree"]
    assert rows[0]["status"] == "ok"
    lines = table(folder / "samples.csv")
    assert tuple(lines[0]) == SAMPLE_COLUMNS
    assert len(lines) == 15
    assert lines[6] | {"model": "linear", "sample": "1", "cycles": "1001"} == lines[6]
    about = json.loads((folder / "run.json").read_text())
    assert about["schema"] == 2
    assert about["compiler"] == "gcc 1.2"
    assert about["jobs"][JOBS[2].name]["flags"] == "-O2"
    assert about["started"] <= about["finished"]
    assert not (folder / "parts").exists()


def test_rows_stand_in_the_suites_order_whatever_ends_first(tmp_path: Path) -> None:
    with opened(tmp_path / "run") as store:
        do(store, JOBS[2])
        do(store, JOBS[1])
        assert store.collect() == []
        assert table(store.folder / "samples.csv") == []
        do(store, JOBS[0])
        assert [row["model"] for row in store.collect()] == ["protonn", "linear", "tree"]
        store.complete()
    for name in ("rows.csv", "samples.csv"):
        assert (tmp_path / "run" / name).read_bytes() == (whole(tmp_path) / name).read_bytes()


def test_samples_of_the_job_in_progress_are_there_as_they_come(tmp_path: Path) -> None:
    with opened(tmp_path / "run") as store, SampleLog(store.spool, JOBS[0]) as log:
        for n, sample in enumerate(samples(5), start=1):
            log.append(sample)
            assert store.collect() == []
            assert len(table(store.folder / "samples.csv")) == n


def test_a_cut_at_any_byte_is_continued_to_the_same_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kill may leave the tables at any length: here at every length there is, one after the other."""
    monkeypatch.setattr(os, "fsync", lambda _: None)  # hundreds of them, and no power failure in sight
    wanted = {name: (whole(tmp_path) / name).read_bytes() for name in ("rows.csv", "samples.csv")}
    folder = tmp_path / "cut"
    with opened(folder) as store:
        do(store, JOBS[0])
        store.collect()
        with SampleLog(store.spool, JOBS[1]) as log:
            for sample in samples(3):
                log.append(sample)
        store.collect()
    files = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    part = folder / "parts" / f"{JOBS[1].name}.csv"
    assert part in files
    done = files[folder / "samples.csv"].rindex(b"protonn")
    for path, least in (
        (folder / "samples.csv", files[folder / "samples.csv"].index(b"\n", done) + 1),
        (folder / "rows.csv", len(files[folder / "rows.csv"])),
        (part, 0),
    ):
        for size in range(least, len(files[path]) + 1):
            for other, content in files.items():
                other.parent.mkdir(exist_ok=True)
                other.write_bytes(content)
            os.truncate(path, size)
            with opened(folder, resume=True) as store:
                assert len(store.rows) == 1
                for _, job in store.pending:
                    do(store, job)
                store.collect()
                store.complete()
            for name, content in wanted.items():
                assert (folder / name).read_bytes() == content, (path.name, size)


def test_a_row_that_was_cut_short_is_written_again(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with opened(folder) as store:
        do(store, JOBS[0])
        do(store, JOBS[1])
        kept = {path: path.read_bytes() for path in (folder / "parts").iterdir()}
        store.collect()
    os.truncate(folder / "rows.csv", (folder / "rows.csv").stat().st_size - 3)
    for path, content in kept.items():  # the kill came before the spool was cleared
        path.write_bytes(content)
    with opened(folder, resume=True) as store:
        assert len(store.rows) == 1
        assert [row["model"] for row in store.collect()] == ["linear"]
        do(store, JOBS[2])
        store.collect()
        store.complete()
    assert (folder / "rows.csv").read_bytes() == (whole(tmp_path) / "rows.csv").read_bytes()
    assert (folder / "samples.csv").read_bytes() == (whole(tmp_path) / "samples.csv").read_bytes()


def test_another_run_in_the_folder_is_refused(tmp_path: Path) -> None:
    folder = whole(tmp_path)
    before = (folder / "rows.csv").read_bytes()
    with pytest.raises(RunFolderError, match="holds another run \\(mine on uno") as caught, opened(folder):
        pass
    assert "--resume" in caught.value.remedy
    assert (folder / "rows.csv").read_bytes() == before


@pytest.mark.parametrize("change", [{"board": "nano"}, {"definition": {"seed": 1}}, {"suite": "other"}])
def test_only_the_same_run_is_continued(tmp_path: Path, change: dict[str, Any]) -> None:
    folder = whole(tmp_path)
    name = next(iter(change))
    with pytest.raises(RunFolderError, match=f"its {name} is"), opened(folder, resume=True, **change):
        pass


def test_a_finished_run_is_left_as_it_is(tmp_path: Path) -> None:
    folder = whole(tmp_path)
    before = {name: (folder / name).read_bytes() for name in ("rows.csv", "samples.csv")}
    with opened(folder, resume=True) as store:
        assert store.pending == []
        store.complete()
    assert {name: (folder / name).read_bytes() for name in before} == before


def test_to_resume_where_nothing_is_begins(tmp_path: Path) -> None:
    with opened(tmp_path / "new", resume=True) as store:
        assert len(store.pending) == 3


def test_tables_without_their_run_are_not_touched(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("precious\n")
    with pytest.raises(RunFolderError, match=r"rows.csv without the run.json"), opened(tmp_path):
        pass
    assert (tmp_path / "rows.csv").read_text() == "precious\n"


@pytest.mark.parametrize("content", ["{", "[]", ""])
def test_a_broken_description_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(RunFolderError, match=r"run\.json"), opened(tmp_path, resume=True):
        pass


def test_two_runs_at_once_do_not_share_a_folder(tmp_path: Path) -> None:
    with (
        opened(tmp_path / "run"),
        pytest.raises(RunFolderError, match="Another run is writing"),
        opened(tmp_path / "run", resume=True),
    ):
        pass
    with opened(tmp_path / "run", resume=True) as store:
        assert len(store.pending) == 3


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunFolderError, match="cannot be written"), opened(tmp_path / "file" / "run"):
        pass


def test_a_full_disk_is_a_sentence_and_keeps_what_was_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path / "run") as store, SampleLog(store.spool, JOBS[0]) as log:
        log.append(samples(2)[0])
        honest = os.write

        def full(file: int, data: bytes) -> int:
            if len(data) > 10:
                return honest(file, data[:10])  # what still fits
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(os, "write", full)
        with pytest.raises(RunFolderError, match="No space left on device") as caught:
            log.append(samples(2)[1]._replace(label="x" * 10))
        assert "--resume" in caught.value.remedy
    monkeypatch.undo()
    with opened(tmp_path / "run", resume=True) as store, SampleLog(store.spool, JOBS[0]) as log:
        assert list(log.read()) == samples(1)


def test_labels_are_quoted_where_they_must_be(tmp_path: Path) -> None:
    strange = Sample(0, 'a,"b"', "c\td", "plain", 7)
    with opened(tmp_path / "run") as store:
        with SampleLog(store.spool, JOBS[0]) as log:
            log.append(strange)
        with SampleLog(store.spool, JOBS[0]) as log:
            assert list(log.read()) == [strange]
        store.collect()
        line = table(store.folder / "samples.csv")[0]
        assert (line["label"], line["device_class"]) == ('a,"b"', "c\td")


def test_a_log_takes_no_memory_for_its_samples(tmp_path: Path) -> None:
    with opened(tmp_path / "run") as store, SampleLog(store.spool, JOBS[0]) as log:

        def store_until(total: int) -> int:
            for number in range(log.stored, total):
                log.append(Sample(number, "1", str(number % 7), "1", 1000 + number % 50))
                if number % 32 == 0:
                    log.count_up()
            return tracemalloc.get_traced_memory()[0]

        tracemalloc.start()
        try:
            few, many = store_until(1_000), store_until(20_000)
        finally:
            tracemalloc.stop()
        assert many - few < 10_000  # bytes, half a byte a sample
        assert log.tally.n == 20_000


def test_a_measured_row() -> None:
    lot = [Sample(i, "1", "1" if i else "0", "1", 16_000 + i) for i in range(4)]
    energy = {"energy_uJ": "46.0043", "energy_kind": "modelled"}
    row = measured(
        JOBS[0], boards.load("uno"), FIGURES, lot, timing=CYCLE_EXACT, stack_peak=None, energy=energy
    )
    assert tuple(sorted(row)) == tuple(sorted(ROW_COLUMNS))
    assert (
        row
        | {
            "n_samples": "4",
            "accuracy": "0.750000",
            "agreement": "0.750000",
            "timing": "cycle-exact",
            "cycles_median": "16001.5",
            "cycles_min": "16000",
            "cycles_max": "16003",
            "ms": "1.00009",
            "paper_kB": "8.000",
            "stack_peak": "",
            **energy,
            "status": "failed",
        }
        == row
    )
    assert "disagree on 1 of 4 samples, first on number 0: 0 and 1" in row["reason"]


def test_a_problem_makes_a_row_fail_and_keeps_its_figures() -> None:
    row = measured(
        JOBS[0],
        boards.load("uno"),
        FIGURES,
        samples(3),
        timing=CYCLE_EXACT,
        stack_peak=9,
        problems=["It drifts."],
    )
    assert (row["status"], row["reason"], row["cycles_median"]) == ("failed", "It drifts.", "1001")


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (DoesNotFit("41 kB of 32 kB.", "Train it\nsmaller."), "skipped", "41 kB of 32 kB. Train it smaller."),
        (NoAnswer("Silence."), "failed", "Silence."),
        (ZeroDivisionError("division by zero"), "failed", "ZeroDivisionError: division by zero"),
    ],
)
def test_a_row_without_figures_says_why(error: Exception, status: str, reason: str) -> None:
    row = unmeasured(JOBS[0], "simavr", error)
    assert (row["status"], row["reason"], row["accuracy"], row["budget"]) == (status, reason, "", "2048")
    assert tuple(row) == ROW_COLUMNS


def test_file_names_are_safe_and_stay_apart() -> None:
    names = {jobs_module.file_name((name, "linear")) for name in ("a/b", "a_b", "a b", "../b")}
    assert len(names) == 4
    assert all("/" not in name for name in names)
