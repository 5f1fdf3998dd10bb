from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from harness.errors import RunFolderError
from harness.power import storage
from harness.power.windows import triggered
from tests.harness.power.waveforms import Instrument, windows

TRACE = Instrument(lost=(7, 8)).record(windows())


@pytest.mark.parametrize("rate", [1000.0, math.inf])
def test_a_trace_comes_back_as_it_was(tmp_path: Path, rate: float) -> None:
    trace = replace(TRACE, rate=rate, settle=0.002, volts_stated=True)
    spans = triggered(trace)
    path = tmp_path / "traces" / "job.npz"
    storage.save(path, trace, spans, {"meter": "mine"})
    back = storage.load(path)
    for name in ("time", "current", "voltage", "trigger", "lost"):
        assert np.array_equal(getattr(back.trace, name), getattr(trace, name)), name
    for name in ("end", "rate", "kind", "settle", "volts_stated"):
        assert getattr(back.trace, name) == getattr(trace, name), name
    assert list(back.spans) == spans
    assert back.about["meter"] == "mine"
    assert [file.name for file in path.parent.iterdir()] == ["job.npz"], "no draft is left"


def test_anybody_can_read_it_without_a_pickle(tmp_path: Path) -> None:
    storage.save(tmp_path / "a.npz", replace(TRACE, trigger=None, lost=None), [], {})
    with np.load(tmp_path / "a.npz", allow_pickle=False) as arrays:
        assert sorted(arrays) == ["about", "current", "time", "voltage", "windows"]
    assert storage.load(tmp_path / "a.npz").trace.trigger is None


@pytest.mark.parametrize("size", [0, 10, 400])
def test_a_file_that_was_cut_short_is_refused(tmp_path: Path, size: int) -> None:
    path = tmp_path / "a.npz"
    storage.save(path, TRACE, [], {})
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(RunFolderError, match="cannot be read"):
        storage.load(path)
