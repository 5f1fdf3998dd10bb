"""What it costs to send a sample to a server instead, as Bonsai's Table 5 has it.

No radio is measured here. The paper prints a time and an energy a dataset; from those of up to 1,000
features, which went by one radio (the others took half as much power again), follow a time a feature and a
power.
"""

from __future__ import annotations

import statistics
from functools import cache

from harness.figures import paperdata

METHOD = "CloudGBDT"
FEATURES = {"chars4k-2": 400, "ward-2": 1000, "cifar10-2": 400, "usps-2": 256, "mnist-2": 784}
"""Of the samples that were sent."""


def milliseconds(features: int) -> float:
    return _rates()[0] * features


def millijoules(features: int) -> float:
    return _rates()[1] * milliseconds(features)


@cache
def _rates() -> tuple[float, float]:
    """Milliseconds a feature by least squares, and watts."""
    times, energies = (_published(metric) for metric in ("uno_ms", "uno_mJ"))
    squares = sum(FEATURES[name] ** 2 for name in times)
    each = sum(FEATURES[name] * ms for name, ms in times.items()) / squares
    return each, statistics.mean(energies[name] / times[name] for name in times)


def _published(metric: str) -> dict[str, float]:
    found = paperdata.points("bonsai", "Table 5", metric, datasets=tuple(FEATURES), methods={METHOD: METHOD})
    return {point.dataset: point.y for point in found}
