"""A trace on disk with its windows: a compressed .npz of plain arrays, no pickle."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from harness.errors import RunFolderError
from harness.power.base import Trace
from harness.power.windows import Span
from harness.spool import writing

SUFFIX = ".npz"


@dataclass(frozen=True)
class Recording:
    trace: Trace
    spans: tuple[Span, ...]
    """The windows that the energy was taken from."""
    about: Mapping[str, Any]
    """Whatever else a reader of the file should know."""


def save(path: Path, trace: Trace, spans: Sequence[Span], about: Mapping[str, Any]) -> None:
    """Under its name there is the whole file or none."""
    named = {name: getattr(trace, name) for name in ("time", "current", "voltage", "trigger", "lost")}
    arrays = {name: values for name, values in named.items() if values is not None}
    facts = {
        **about,
        "units": {"time": "s", "current": "A", "voltage": "V", "windows": "s"},
        "end": trace.end,
        "rate": trace.rate if np.isfinite(trace.rate) else None,
        "kind": trace.kind,
        "settle": trace.settle,
        "volts_stated": trace.volts_stated,
    }
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.new")
        with draft.open("wb") as file:
            np.savez_compressed(
                file,
                allow_pickle=False,
                windows=np.array(spans, float).reshape(-1, 2),
                about=np.array(json.dumps(facts)),
                **arrays,
            )
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)


def load(path: Path) -> Recording:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            facts = json.loads(str(arrays["about"]))
            trace = Trace(
                time=arrays["time"],
                current=arrays["current"],
                voltage=arrays["voltage"],
                end=float(facts["end"]),
                rate=np.inf if facts["rate"] is None else float(facts["rate"]),
                kind=str(facts["kind"]),
                trigger=arrays.get("trigger"),
                lost=arrays.get("lost"),
                settle=float(facts["settle"]),
                volts_stated=bool(facts["volts_stated"]),
            )
            spans = tuple(Span(*map(float, pair)) for pair in arrays["windows"])
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise RunFolderError(
            f"The trace {path} cannot be read: {error}.", "Measure again, or remove the file."
        ) from error
    return Recording(trace, spans, facts)
