"""The current in the report: what is drawn, what is said, and what happens without a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness import report
from harness.jobs import KEY_COLUMNS
from harness.power import storage
from harness.report import rundata, tables, traces
from tests.harness import fixture_run as fixture
from tests.harness.power.waveforms import Instrument, windows

ROW = fixture.row("digits", "protonn", "int8", energy_kind="measured", energy_meter="ina219 at /dev/x")
WAVE = windows(count=6, length=0.3)


def written(folder: Path, lines: list[dict[str, Any]], **energy: Any) -> Path:
    """A run whose first job was measured with a noisy meter."""
    trace = Instrument(noise=0.5e-3).record(WAVE)
    storage.save(folder / "traces" / "a.npz", trace, WAVE.spans, {"meter": "ina219 at /dev/x"})
    about = {
        "kind": "measured",
        "meter": "ina219 at /dev/x",
        "method": "as ever",
        "volts": 5.02,
        "volts_stated": False,
        "windows": 6,
        "repeats": 350,
        "samples_dropped": 8,
        "windows_measured_again": 1,
        "traces": ["traces/a.npz"],
        **energy,
    }
    key = [str(lines[0][column]) for column in KEY_COLUMNS]
    return fixture.write(folder, lines, jobs={"first": {"key": key, "energy": about}})


def test_a_picture_and_a_section_with_the_windows_marked(tmp_path: Path) -> None:
    made = report.make(written(tmp_path, [ROW]))
    assert {"current.svg", "current.png"} <= {path.name for path in made.plots}
    page = made.page.read_text()
    assert '<h2 id="current">Supply current</h2>' in page
    assert "measured by ina219 at /dev/x, over" in page
    assert "8 samples were dropped and 1 windows measured again" in page
    assert "5.02 V (measured): 6 windows of 350 predictions" in page.replace("\u202f", " ")


def test_levels_are_told_in_words(tmp_path: Path) -> None:
    (panel,) = traces.panels(rundata.read(written(tmp_path, [ROW])))
    words = traces.describe(panel).replace("\u202f", " ")
    assert "with 6 windows" in words
    inside, between = words.partition(": ")[2].split(", ")
    assert float(inside.split()[0]) == pytest.approx(9.2, abs=0.1)
    assert float(between.split()[0]) == pytest.approx(2.3, abs=0.1)


@pytest.mark.parametrize("damage", ["missing", "torn"])
def test_a_report_is_made_without_a_trace_that_cannot_be_read(tmp_path: Path, damage: str) -> None:
    folder = written(tmp_path, [ROW])
    path = folder / "traces" / "a.npz"
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:200])
    made = report.make(folder)
    assert "current.svg" not in {path.name for path in made.plots}
    assert "Supply current" not in made.page.read_text()


def test_measured_or_modelled_stands_beside_every_figure(tmp_path: Path) -> None:
    modelled = fixture.row("digits", "linear", "int8", energy_uJ=13.8, energy_net_uJ=10.4)
    run = rundata.read(written(tmp_path / "one", [ROW]))
    assert "energy, µJ measured" in tables.markdown(run)
    both = rundata.read(written(tmp_path / "two", [{**ROW, "energy_net_uJ": 40.0}, modelled]))
    text = tables.markdown(both)
    assert "µJ measured" not in text
    assert "13.8 modelled" in text and "10.4 modelled" in text and "40.0 measured" in text


def test_the_energy_axis_says_how_it_was_had(tmp_path: Path) -> None:
    made = report.make(written(tmp_path, [ROW]))
    assert "energy of one prediction, measured" in (tmp_path / "accuracy-energy.svg").read_text()
    assert "size of the model, measured" not in (tmp_path / "accuracy.svg").read_text()
    assert "Test accuracy against energy, measured on digits" in made.page.read_text()


def test_a_trace_of_few_stretches_is_drawn_as_steps(tmp_path: Path) -> None:
    trace = Instrument(rate=100).record(windows(count=2, length=0.05, gap=0.05, idle=0.1))
    assert len(trace.time) < traces.STEPS
    folder = written(tmp_path, [ROW])
    storage.save(folder / "traces" / "a.npz", trace, [], {})
    assert "current.svg" in {path.name for path in report.make(folder).plots}
