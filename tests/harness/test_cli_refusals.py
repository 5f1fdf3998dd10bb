"""Models that no kernel may run, and limits that no model meets: refused with the number that is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness import cli
from models import modelfile
from models.device import Array, DeviceModel
from models.linear_device import LinearInt8
from tests.harness.commandline import SUITE, needs_avr, refused
from tests.models.device_models import make


class Unchecked(LinearInt8):
    """A model that says of itself that all is well, as a file of another origin might."""

    def check(self) -> None:
        pass


def tampered(model: DeviceModel, path: Path, **changes: Any) -> Path:
    """A file of that model with other arrays, constants or counts, and a checksum that fits."""
    fields = {
        "numbers": model.numbers,
        "n_features": model.n_features,
        "classes": model.classes,
        "inputs": model.inputs,
        "arrays": dict(model.arrays),
        "constants": dict(model.constants),
        **changes,
    }
    kind = type("Unchecked", (Unchecked,), {"family": model.family})
    modelfile.save(kind(**fields), path)
    return path


def sparse_pairs(model: DeviceModel, gap: int) -> Array:
    pairs = np.array(model.arrays["w_pairs"])
    pairs[-1, 0] = gap
    return pairs


def test_models_that_are_not_safe_are_refused_with_the_number(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    dense, sparse = make("linear", "int8", 30), make("linear", "int8", 60, density=0.1)
    protonn = make("protonn", "int8", 30)
    bias = np.full(3, 2**31 - 1, dtype=np.int32)
    cases: list[tuple[Path, str]] = [
        (tampered(dense, tmp_path / "sum.kb", arrays={**dense.arrays, "bias": bias}), r"2147483647|32 bits"),
        (tampered(dense, tmp_path / "features.kb", n_features=31), "31 columns"),
        (
            tampered(
                sparse,
                tmp_path / "index.kb",
                arrays={**sparse.arrays, "w_pairs": sparse_pairs(sparse, 255)},
            ),
            "outside of the matrix's 60 columns",
        ),
        (tampered(dense, tmp_path / "rows.kb", classes=(0, 1, 2, 3)), "3 rows, but 4 classes"),
        (
            tampered(protonn, tmp_path / "shift.kb", constants={**protonn.constants, "z_shift": 31}),
            "z_shift is 31",
        ),
    ]
    for path, says in cases:
        said = refused(capsys, "build", str(path))
        assert path.name in said
        assert any(word in said for word in says.split("|")), said


@needs_avr
def test_tables_beyond_the_flash_are_refused_with_both_sizes(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "large.kb"
    modelfile.save(make("linear", "int8", features=4000, classes=9), path)
    said = refused(capsys, "build", str(path))
    assert "36036 bytes" in said
    assert "32256 bytes of flash" in said


def test_a_test_set_of_other_features_is_refused_by_name(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    train, test = tmp_path / "train.csv", tmp_path / "test.csv"
    train.write_text("a,b,c,label\n" + "1,2,3,0\n4,5,6,1\n" * 20)
    test.write_text("a,b,label\n" + "1,2,0\n4,5,1\n" * 20)
    said = refused(capsys, "train", "linear", "--data", str(train), "--test", str(test), "--target", "label")
    assert "test.csv has no column 'c'" in said


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["linear", "cancer", "--max-ms", "0.001"], "ms on the Arduino Uno R3, more than 0.001 ms"),
        (["linear", "cancer", "--max-ms", "0"], "leaves no time"),
        (["linear", "cancer", "--max-ms", "1", "--board", "unno"], "no board named 'unno'"),
        (["knn", "cancer", "--max-ms", "1"], "runs on the host only"),
    ],
)
def test_time_limits_that_cannot_be_kept(
    capsys: pytest.CaptureFixture[str], options: list[str], says: str
) -> None:
    assert says in refused(capsys, "train", *options, "--effort", "fast")


def test_a_time_limit_is_kept_and_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    line = ["train", "linear", "digits", "--max-ms", "0.25", "--effort", "fast"]
    line += ["--out", str(tmp_path / "fast.kb")]
    assert cli.run_line([*line, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert 0 < facts["predicted_ms"] <= facts["max_ms"] == 0.25
    assert cli.run_line(line) == 0
    assert "of 0.25 ms, predicted for Arduino Uno R3" in capsys.readouterr().out


ROW = """
title = "One row"
samples = 10

[[row]]
dataset = "cancer"
model = "linear"
budget = "512B"
effort = "fast"
"""


@needs_avr
def test_speed_is_shown_in_the_row(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "rows.toml"
    path.write_text(ROW + 'boards = ["uno"]\n')
    found = []
    for number, options in enumerate([[], ["--speed"]]):
        line = ["run", str(path), "--sim", "--json", "--out", str(tmp_path / str(number)), *options]
        assert cli.run_line(line) == 0
        found += json.loads(capsys.readouterr().out)["rows"]
    small, fast = found
    assert [row["speed"] for row in found] == ["no", "yes"]
    assert {(row["status"], row["agreement"]) for row in found} == {("ok", 1.0)}
    assert fast["cycles_median"] < small["cycles_median"]
    assert fast["flash_model"] > small["flash_model"]


def test_rows_that_cannot_be_are_refused_before_anything_is_done(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "rows.toml"
    out = tmp_path / "out"
    for text, says in (
        (ROW + 'boards = ["mega2560"]\n', "no row for the uno"),
        (ROW + "params = { rows = 3 }\n", "linear has no parameter 'rows'"),
        (ROW + "max_ms = -1\n", "row 1: key 'max_ms' is -1"),
        (SUITE + 'row = "all"\n', "rows are not tables"),
    ):
        path.write_text(text)
        assert says in refused(capsys, "run", str(path), "--sim", "--out", str(out))
        assert not out.exists()
