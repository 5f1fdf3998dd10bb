"""Power meters as plug-ins, and from what they record the energy of a prediction.

A meter is one module with a function that opens it, found by name here or through an entry point of another
package, which names that function:

    [project.entry-points."kilobench.meters"]
    otii = "my_package.otii:open_otii"

It gets `Options` and returns a `Meter`; `check_meter` says whether that keeps the contract of
`harness.power.base`.
"""

from __future__ import annotations

from harness.power.base import Meter, Trace
from harness.power.checks import check_meter
from harness.power.registry import Options, names, open_meter

__all__ = ["Meter", "Options", "Trace", "check_meter", "names", "open_meter"]
