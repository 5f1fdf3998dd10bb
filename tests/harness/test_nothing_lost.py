"""Whatever ends a run, what was stored stays readable, and a continuation ends with the same tables."""

from __future__ import annotations

import contextlib
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import report, runner
from harness.errors import RunFolderError
from harness.session import BATCH
from tests.harness.avrboards import needs_simulator
from tests.harness.commandline import SMALL
from tests.harness.fakes import FakeTarget
from tests.harness.test_runner import SUITE, N, Shop, files, rows, run, shop

__all__ = ["shop"]


def dies_in_the_middle(shop: Shop, at: int, frames: int = N // 2) -> None:
    """The board of the n-th job stops answering, and is well again for the next."""

    def die(target: FakeTarget) -> None:
        if len(shop.targets) == at:
            target.to_host = lambda n, frame: [(0.0, frame)] if n < frames else []

    shop.on_target = die


def test_a_failed_row_is_tried_again_and_the_others_are_not(tmp_path: Path, shop: Shop) -> None:
    run(tmp_path / "whole")
    shop.targets.clear()
    dies_in_the_middle(shop, 2)
    assert run(tmp_path / "run").failed == 1
    assert [row["status"] for row in rows(tmp_path / "run")] == ["ok", "failed", "ok", "ok"]
    stored = (tmp_path / "run" / "samples.csv").read_text().count(",float32,") - N
    shop.targets.clear()
    shop.on_target = lambda _: None
    assert run(tmp_path / "run", resume=True).ok == 4
    assert files(tmp_path / "run") == files(tmp_path / "whole")
    (target,) = shop.targets
    asked = len(target.device.predictions)
    assert asked <= N - stored + BATCH, "it goes on from the last stored sample"


def test_a_row_that_disagrees_is_measured_anew(tmp_path: Path, shop: Shop) -> None:
    shop.on_target = lambda target: setattr(target, "drift", 2 if len(shop.targets) == 1 else 0)
    assert run(tmp_path / "run").failed == 1
    shop.targets.clear()
    shop.on_target = lambda _: None
    assert run(tmp_path / "run", resume=True).ok == 4
    (target,) = shop.targets
    assert len(target.device.predictions) >= N


def test_a_job_that_disagreed_before_it_was_given_up_begins_anew(tmp_path: Path, shop: Shop) -> None:
    """Its samples say nothing of the disagreement, which must not be lost with a retry."""
    dies_in_the_middle(shop, 1, frames=BATCH + 30)  # one batch is checked by then
    broken = shop.on_target

    def drift(target: FakeTarget) -> None:
        broken(target)
        target.drift = 2 if len(shop.targets) == 1 else 0

    shop.on_target = drift
    assert run(tmp_path / "run").failed == 1
    shop.targets.clear()
    shop.on_target = lambda _: None
    assert run(tmp_path / "run", resume=True).ok == 4
    assert len(shop.targets[0].device.predictions) >= N


@pytest.mark.usefixtures("shop")
def test_a_kill_while_rows_are_put_back_costs_nothing(
    tmp_path: Path, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(tmp_path / "whole")
    shop.targets.clear()
    dies_in_the_middle(shop, 1)
    run(tmp_path / "run")
    shop.on_target = lambda _: None
    from harness.spool import LineFile

    honest = LineFile.truncate
    for cut in (1, 2):  # before either table was cut
        calls = 0

        def killed(file: LineFile, size: int, cut: int = cut) -> None:
            nonlocal calls
            calls += 1
            if calls == cut:
                raise KeyboardInterrupt
            honest(file, size)

        monkeypatch.setattr(LineFile, "truncate", killed)
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path / "run", resume=True)
    monkeypatch.setattr(LineFile, "truncate", honest)
    assert run(tmp_path / "run", resume=True).ok == 4
    assert files(tmp_path / "run") == files(tmp_path / "whole")


@contextlib.contextmanager
def largest_file(size: int) -> Iterator[None]:
    """The system refuses to let any file grow further, as a full disk does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def check_readable(folder: Path) -> None:
    """Whole lines only, and a report where there is a row."""
    for name in ("rows.csv", "samples.csv"):
        assert (folder / name).read_bytes().endswith(b"\n")
    if rows(folder):
        assert report.make(folder).page.is_file()


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize("size", [1500, 4000, 7001])
def test_files_that_cannot_grow_end_the_run_and_are_continued(tmp_path: Path, size: int) -> None:
    run(tmp_path / "whole")
    with largest_file(size), pytest.raises(RunFolderError, match=r"cannot be written: File too large"):
        run(tmp_path / "run")
    check_readable(tmp_path / "run")
    assert run(tmp_path / "run", resume=True).ok == 4
    assert files(tmp_path / "run") == files(tmp_path / "whole")


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or shutil.which("mount") is None or subprocess.run(command, check=False).returncode:
        pytest.skip("mounting a small disk needs root")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.usefixtures("shop")
def test_a_full_disk_ends_the_run_and_room_lets_it_go_on(tmp_path: Path, tiny_disk: Path) -> None:
    run(tmp_path / "whole")
    ballast = tiny_disk / "ballast"
    ballast.write_bytes(bytes(400_000 - 44_000))
    with pytest.raises(RunFolderError, match="No space left on device"):
        run(tiny_disk / "run")
    check_readable(Path(shutil.copytree(tiny_disk / "run", tmp_path / "copy")))
    ballast.unlink()
    assert run(tiny_disk / "run", resume=True).ok == 4
    assert files(tiny_disk / "run") == files(tmp_path / "whole")


@pytest.mark.usefixtures("shop")
def test_a_disk_that_is_read_only_is_refused_and_its_run_stays_readable(
    tmp_path: Path, tiny_disk: Path
) -> None:
    run(tiny_disk / "run")
    subprocess.run(["mount", "-o", "remount,ro", str(tiny_disk)], check=True)
    with pytest.raises(RunFolderError, match="Read-only file system"):
        run(tiny_disk / "run", resume=True)
    with pytest.raises(RunFolderError, match="Read-only file system"):
        run(tiny_disk / "another")
    assert len(rows(tiny_disk / "run")) == len(SUITE.jobs("uno"))


@pytest.mark.usefixtures("shop")
def test_two_runs_into_one_folder_are_refused_with_the_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusals: list[str] = []

    def again(folder: Path) -> None:
        with pytest.raises(RunFolderError) as caught:
            run(folder, resume=True)
        refusals.append(str(caught.value))

    runner.run(SUITE, board="uno", out=tmp_path / "run", jobs=1, on_event=lambda _: again(tmp_path / "run"))
    assert f"process {os.getpid()} on " in refusals[0]
    assert "since" in refusals[0]


@needs_simulator
@pytest.mark.slow
def test_a_run_that_is_killed_again_and_again_ends_with_the_same_tables(tmp_path: Path) -> None:
    suite = tmp_path / "small.toml"
    suite.write_text(SMALL)
    code = "import harness.cli; harness.cli.main()"
    line = [sys.executable, "-c", code, "run", str(suite), "--sim", "--jobs", "2", "--resume", "--out"]
    began = time.monotonic()
    subprocess.run([*line, str(tmp_path / "whole")], check=True, capture_output=True)
    whole = time.monotonic() - began
    dice = random.Random(1)
    for _ in range(5):
        with subprocess.Popen(
            [*line, str(tmp_path / "cut")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(dice.uniform(0.3, 1.0) * whole)
            process.send_signal(signal.SIGKILL)
    subprocess.run([*line, str(tmp_path / "cut")], check=True, capture_output=True)
    assert files(tmp_path / "cut") == files(tmp_path / "whole")
