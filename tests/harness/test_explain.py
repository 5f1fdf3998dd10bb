"""kilobench build --explain: the sums are the firmware's own, and a family that cannot tell says so."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from harness import cli
from models import modelfile
from tests.models.device_models import make

pytestmark = pytest.mark.skipif(shutil.which("avr-gcc") is None, reason="needs avr-gcc")


@pytest.fixture
def model_file(tmp_path: Path) -> Path:
    path = tmp_path / "model.kb"
    modelfile.save(make("protonn", "int8", features=60, classes=4, density=0.3), path)
    return path


def test_stages_add_up_to_the_image(capsys: pytest.CaptureFixture[str], model_file: Path) -> None:
    assert cli.run_line(["build", str(model_file), "--explain", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    told = facts["explain"]
    stages = told["stages"]
    assert [stage["name"] for stage in stages] == [
        "projection",
        "rounding",
        "distances",
        "exp",
        "scores",
        "calls",
    ]
    assert sum(stage["flash_bytes"] for stage in stages) + told["code_bytes"] == facts["flash_total"]
    assert sum(stage["ram_bytes"] for stage in stages) + told["other_ram"] == facts["ram_static"]
    assert sum(stage["cycles"] for stage in stages) == told["cycles_predicted"]


def test_a_table_for_people(capsys: pytest.CaptureFixture[str], model_file: Path) -> None:
    assert cli.run_line(["build", str(model_file), "--explain", "--stream"]) == 0
    lines = capsys.readouterr().out.splitlines()
    projection = next(line for line in lines if line.startswith("projection"))
    assert "sparse" in projection
    assert projection.endswith("×")
    assert any(line.startswith("sum") and " ms " in line for line in lines)


def test_a_family_without_stages(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "float.kb"
    modelfile.save(make("linear", "float32"), path)
    assert cli.run_line(["build", str(path), "--explain"]) == 0
    assert "No stages are known of linear in float32" in capsys.readouterr().out


def test_speed_takes_the_fastest_layout_and_tells_why(
    capsys: pytest.CaptureFixture[str], model_file: Path
) -> None:
    told = {}
    for option in ([], ["--speed"]):
        assert cli.run_line(["build", str(model_file), "--explain", "--json", *option]) == 0
        told[bool(option)] = json.loads(capsys.readouterr().out)
    small, fast = (told[speed]["explain"]["layouts"] for speed in (False, True))
    assert [choice["flash_bytes"] for choice in small] == [choice["flash_bytes"] for choice in fast]
    chosen = next(choice for choice in small if choice["chosen"])
    assert (
        chosen["flash_bytes"] == min(choice["flash_bytes"] for choice in small) == told[False]["flash_model"]
    )
    chosen = next(choice for choice in fast if choice["chosen"])
    assert chosen["cycles"] == min(choice["cycles"] for choice in fast)
    assert "as code" in chosen["what"]
    saved = min(choice["cycles"] for choice in small)
    own = next(choice for choice in small if choice["chosen"])["cycles"]
    assert f"save {own - saved} cycles" in told[False]["explain"]["reason"]
    assert told[True]["explain"]["reason"] == "The layout is the fastest."
    assert told[True]["flash_model"] == chosen["flash_bytes"]


def test_speed_of_streaming_firmware_needs_no_whole_vector(
    capsys: pytest.CaptureFixture[str], model_file: Path
) -> None:
    assert cli.run_line(["build", str(model_file), "--explain", "--json", "--speed", "--stream"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["streaming"] is True
    assert not any("as code" in choice["what"] for choice in facts["explain"]["layouts"])
