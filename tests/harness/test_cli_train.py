"""`kilobench train`: what it prints and writes, and a user's own data in place of a dataset's name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness import cli
from models import datasets
from tests.harness.commandline import SUITE, needs_avr


def test_train_tells_and_writes_what_it_trained(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    line = ["train", "linear", "cancer", "--budget", "512B", "--effort", "fast", "--seed", "1"]
    assert cli.run_line([*line, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    wanted = (
        "model dataset seed budget val_accuracy test_accuracy flash_bytes paper_kB fit_seconds params file"
    )
    assert set(wanted.split()) <= set(facts)
    assert facts["flash_bytes"] <= facts["budget"] == 512
    assert facts["seed"] == 1
    assert Path(facts["file"]).name == "linear-cancer-512B.kb"
    assert Path(facts["file"]).is_file()


def own_table(folder: Path) -> Path:
    """A user's own data: two classes, told apart by the first of two columns."""
    rows = [f"{i % 7 - 3},{i % 5},{'up' if i % 7 > 3 else 'down'}" for i in range(200)]
    path = folder / "own.csv"
    path.write_text("\n".join(["a,b,way", *rows]) + "\n")
    return path


def test_train_on_a_users_own_table(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    table = own_table(tmp_path)
    line = ["train", "linear", "--effort", "fast", "--out", str(tmp_path / "own.kb"), "--json"]
    assert cli.run_line([*line, "--data", str(table), "--target", "way"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["dataset"], facts["test_accuracy"]) == ("own", 1.0)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ([], "needs one dataset"),
        (["digits", "--data", "own.csv"], "needs one dataset"),
        (["digits", "--target", "way"], "needs one dataset"),
        (["--data", "own.csv", "--target", "wya"], "no column 'wya'"),
        (["own.csv?way=target"], "unknown part 'way'"),
    ],
)
def test_own_data_that_cannot_be_had_is_explained(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    given: list[str],
    says: str,
) -> None:
    monkeypatch.chdir(own_table(tmp_path).parent)
    assert cli.run_line(["train", "linear", *given]) == 2
    assert says in capsys.readouterr().err


def test_train_for_float_tells_of_the_model_in_the_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from models import modelfile

    path = tmp_path / "float.kb"
    line = ["train", "linear", "cancer", "--effort", "fast", "--numbers", "float32", "--out", str(path)]
    assert cli.run_line([*line, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    model, data = modelfile.load(path), datasets.load("cancer")
    assert facts["flash_bytes"] == model.flash_bytes
    assert facts["test_accuracy"] == pytest.approx((model.predict(data.X_test) == data.y_test).mean())


@needs_avr
def test_a_suite_takes_a_users_own_table(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    own = datasets.own_name(own_table(tmp_path), target="way")
    path = tmp_path / "mine.toml"
    path.write_text(SUITE.replace("cancer", own))
    assert cli.run_line(["run", str(path), "--sim", "--out", str(tmp_path / "out"), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [(row["dataset"], row["status"]) for row in rows] == [(own, "ok"), (own, "ok")]
