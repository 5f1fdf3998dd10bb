"""The contract between a measurement and whatever measures the current, and what a meter hands over."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from harness.targets.base import Target

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

MEASURED, MODELLED = "measured", "modelled"


@dataclass(frozen=True, eq=False)
class Trace:
    """What a meter has seen between `start` and `stop`.

    Sample i is the mean from time[i] to time[i + 1], the last one to `end`. So a trace need not be regular: a
    modelled one has a sample a stretch, and samples that were lost leave a long one.
    """

    time: Floats
    """Seconds on the meter's own clock, from any beginning."""
    current: Floats
    """Amperes."""
    voltage: Floats
    """Volts at the board's supply."""
    end: float
    rate: float
    """Samples a second, as they should come; infinite where nothing is sampled."""
    kind: str
    """measured or modelled."""
    trigger: Floats | None = None
    """The part of each sample during which the trigger pin was high, 0 to 1; None without such an input."""
    lost: Counts | None = None
    """Samples that are missing before each; None where none is."""
    settle: float = 0.0
    """Seconds by which the current may lag behind the pin: filters, and conversions that began earlier."""
    volts_stated: bool = False
    """The voltage was told to the meter and not measured by it."""

    def __post_init__(self) -> None:
        count = len(self.time)
        arrays = {
            "current": self.current,
            "voltage": self.voltage,
            "trigger": self.trigger,
            "lost": self.lost,
        }
        for name, values in arrays.items():
            if values is not None and len(values) != count:
                raise ValueError(f"a trace of {count} times and {len(values)} values of {name}")
        if count and not (np.all(np.diff(self.time) > 0) and self.time[-1] < self.end):
            raise ValueError("the times of a trace must rise")

    @property
    def edges(self) -> Floats:
        """Where samples begin, and where the last one ends."""
        return np.append(self.time, self.end)

    @property
    def seconds(self) -> float:
        return float(self.end - self.time[0]) if len(self.time) else 0.0

    @property
    def dropped(self) -> int:
        return 0 if self.lost is None else int(self.lost.sum())

    @property
    def volts(self) -> float:
        """The mean voltage."""
        return float(np.average(self.voltage, weights=np.diff(self.edges)))


class Meter(Protocol):
    """A power meter, real or modelled. A context manager that closes itself."""

    name: str
    """For people: which instrument this is, and where."""
    kind: str
    """measured or modelled."""
    rate: float
    """Samples a second; infinite where nothing is sampled."""

    def start(self) -> None:
        """Begin to record; when this returns, what happens is in the trace."""
        ...

    def stop(self) -> Trace:
        """End the recording that was started and hand it over."""
        ...

    def close(self) -> None:
        """Let go of the instrument. Safe to call twice."""
        ...

    def __enter__(self) -> Meter: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


@runtime_checkable
class FollowsTarget(Protocol):
    """A meter that is no instrument: it learns from the target what the board did."""

    def watch(self, target: Target) -> None:
        """The board that runs, before `start`."""
        ...

    def told(self, began: float, cycles: int) -> None:
        """The device says that a window of so many cycles has ended; it began then, on the port's clock."""
        ...


class Closing:
    """What makes a context manager of everything that can be closed."""

    def close(self) -> None:
        raise NotImplementedError

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
