"""Power meters as plug-ins, and from what they record the energy of a prediction.

A meter is one module with a way to open it, found by name here or through the entry points of the group
`kilobench.meters`; `check_meter` holds it to the contract in harness.power.base.
"""

from __future__ import annotations

from harness.power.base import Meter, Trace
from harness.power.checks import check_meter
from harness.power.registry import Options, names, open_meter

__all__ = ["Meter", "Options", "Trace", "check_meter", "names", "open_meter"]
