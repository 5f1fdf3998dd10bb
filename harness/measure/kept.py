"""Results of long measurements, each measured once: a second call goes on where the first one stopped.

They lie in the user's cache under the key of trained models, which covers the data, the source of what is
measured and the libraries that compute: a change there measures anew, and nothing else does.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from harness import lineage, paths, trained
from harness.jobs import Recipe
from models.datasets import Dataset

Numbers = dict[str, float]


def numbers(
    what: str, data: Dataset, seed: int, measure: Callable[[], Numbers], *, modules: Iterable[str]
) -> Numbers:
    """What `measure` gives; `what` says in words everything about it but the data and the seed.

    modules: of ours that it computes with.
    """
    recipe = Recipe(data.name, what, 0, seed, "measured")
    path = paths.cache() / "measured" / f"{trained.key(recipe, data, lineage.of(modules))}.json"
    with contextlib.suppress(OSError, ValueError):
        found: Numbers = json.loads(path.read_text("utf8"))
        return found
    found = measure()
    # A cache that cannot be written costs time, not the measurement.
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_suffix(".new")
        beside.write_text(json.dumps(found), "utf8")
        beside.replace(path)
    return found


def trained_within(model: str, data: Dataset, budget: int, seed: int) -> Numbers:
    """Test accuracy and flash bytes of what `kilobench train` gives."""
    recipe = Recipe(data.name, model, budget, seed, "normal")
    with tempfile.TemporaryDirectory() as folder:
        device = trained.obtain(recipe, data, ["int8"], Path(folder)).get("int8")
    return {"test_accuracy": float(device.info["test_accuracy"]), "flash_bytes": device.flash_bytes}
