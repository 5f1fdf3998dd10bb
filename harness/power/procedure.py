"""How the energy of a prediction is measured: windows of many predictions each, idle time around them.

The device repeats one prediction N times in a window of the trigger pin. There are six windows, because the
smallest and the largest of six values enclose the median with 97 % confidence, and of five with less than
95 %. N follows from the meter: a window has enough samples for its edges not to matter. A window that lacks
samples is measured again. Where a meter's noise leaves the result uncertain, all is measured once more, for
so much longer as the noise asks for.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass, field
from typing import Protocol

from harness.boards import Board
from harness.errors import KilobenchError, MeterError
from harness.link.client import Prediction
from harness.power import align, windows
from harness.power.base import FollowsTarget, Meter, Trace
from harness.power.windows import Energies, Span, WindowEnergy
from harness.stats import Interval, median, summary
from harness.targets.base import Target

WINDOWS = 6
ROUNDS = 4
"""How often windows are measured again before the meter is called unusable."""
SAMPLES = 500
"""In a window: a whole sample too much or too little is then 0.2 %."""
FEWEST_SAMPLES = 50
SHORTEST = 0.1
"""Seconds of a window, in which hearing a request and answering it, 0.1 ms, is next to nothing."""
MOST_REPEATS = 65_535
IDLE = 0.5
"""Seconds before the first window and after the last."""
GAP = 0.15
"""Seconds between two windows."""
UNCERTAIN = 0.0025
"""The share of the net energy that noise may be worth, as a standard deviation: 1 % is four times as much."""
MOST_LONGER = 16.0
"""Times that windows and idle may last longer for a noisy meter: minutes, and a fourth of the noise."""
CLOCK_TOLERANCE = 0.02
"""By which the clocks of board and meter may differ. An Uno's ceramic resonator is off by up to 0.5 %."""


class Restarted(Exception):
    """The board began anew while it should have been idle; no user sees this."""


class Repeater(Protocol):
    """What this needs of harness.link.client.Link."""

    def predict(self, features: bytes) -> Prediction: ...
    def repeat(self, count: int) -> Prediction: ...
    def wait_ready(self, seconds: float) -> bool: ...
    def now(self) -> float: ...


@dataclass(frozen=True)
class Subject:
    """What is measured."""

    board: Board
    vector: bytes
    """The features of one sample, as sent."""
    cycles: float
    """What a prediction takes; the energy is that of so many cycles."""


@dataclass(frozen=True)
class Round:
    """One recording, and the windows found in it."""

    trace: Trace
    spans: tuple[Span, ...]


@dataclass(frozen=True)
class Energy:
    """Of one prediction, microjoules. Intervals are 95 %, from order statistics."""

    gross: float
    gross_interval: Interval
    net: float
    net_interval: Interval
    kind: str
    meter: str
    volts: float
    volts_stated: bool
    idle_before_mA: float
    idle_after_mA: float
    windows: int
    repeats: int
    rejected: int
    """Windows that lacked samples and were measured again."""
    dropped: int
    clock_ratio: float
    """Seconds of the meter in a second of the board, the median of the windows."""
    rounds: tuple[Round, ...] = field(repr=False)


def measure(link: Repeater, target: Target, meter: Meter, subject: Subject) -> Energy:
    """The energy of one prediction; MeterError if the meter cannot tell."""
    if isinstance(meter, FollowsTarget):
        meter.watch(target)
    one = link.predict(subject.vector).cycles
    plan = Plan(choose_repeats(one / subject.board.clock_hz, meter.rate))
    takings = _Takings()
    for _ in range(1 + ROUNDS):
        try:
            record = _record(link, meter, plan, WINDOWS - len(takings.good))
        except Restarted:
            takings.restarts += 1
            link.predict(subject.vector)  # what is to be repeated was forgotten
            continue
        found = takings.add(record, subject.board)
        first = plan.longer == 1 and len(record.told) == WINDOWS
        if first and found is not None and (longer := _longer(found, record.trace.rate)) > 1:
            plan, takings = plan.lasting(longer), _Takings()
        elif len(takings.good) >= WINDOWS:
            return _energy(takings, meter, subject, plan.repeats)
    raise takings.failure()


@dataclass(frozen=True)
class Plan:
    """What one recording is made of."""

    repeats: int
    """Predictions in a window."""
    longer: float = 1.0
    """Times that everything lasts longer than usual."""

    def lasting(self, longer: float) -> Plan:
        return Plan(min(MOST_REPEATS, math.ceil(longer * self.repeats)), longer)


def _longer(found: Energies, rate: float) -> float:
    """How much longer to measure, for the noise that idle samples show not to matter.

    The median of the windows has π/2 of their mean's variance. The idle line's error is in all of them.
    """
    net = median([window.net / window.span.seconds for window in found.windows])
    if net <= 0:
        return MOST_LONGER
    seconds = sum(window.span.seconds for window in found.windows)
    variance = found.noise**2 / rate * (math.pi / 2 / seconds + 1 / found.idle_seconds)
    return min(MOST_LONGER, variance / (UNCERTAIN * net) ** 2)


@dataclass(frozen=True)
class Record:
    """What one recording gives."""

    trace: Trace
    told: list[int]
    """Cycles of the windows in it, as the device counted them."""
    starts: list[float]
    """When each was asked for, on the port's clock."""


@dataclass
class _Takings:
    """What the recordings of a measurement have given so far."""

    good: list[tuple[WindowEnergy, int]] = field(default_factory=list)
    """Whole windows with their cycles."""
    rounds: list[Round] = field(default_factory=list)
    idles: list[tuple[float, float]] = field(default_factory=list)
    """Watts at begin and end of each recording."""
    rejected: int = 0
    restarts: int = 0

    def add(self, record: Record, board: Board) -> Energies | None:
        """What was found in a recording; None if that is nothing for certain."""
        spans = _locate(record, board)
        if spans is None:
            self.rounds.append(Round(record.trace, ()))
            self.rejected += len(record.told)
            return None
        found = windows.energies(record.trace, spans, self.idles[0][0] if self.idles else None)
        whole = [pair for pair in zip(found.windows, record.told, strict=True) if pair[0].complete]
        self.rounds.append(Round(record.trace, tuple(spans)))
        self.idles.append((found.idle_before, found.idle_after))
        self.rejected += len(record.told) - len(whole)
        self.good += whole
        return found

    def failure(self) -> MeterError:
        if self.restarts:
            return MeterError(
                f"The board was restarted {self.restarts} times while its current was measured.",
                "Is its supply strong enough with the meter in between? The drop of voltage may cause this.",
            )
        return MeterError(
            f"{self.rejected} windows lack more than {windows.MOST_DROPPED:.1%} of their samples, and only "
            f"{len(self.good)} of {WINDOWS} are whole.",
            "Use a shorter or better cable to the meter, a slower conversion, or a less busy computer.",
        )


def _energy(takings: _Takings, meter: Meter, subject: Subject, repeats: int) -> Energy:
    """Of one prediction: a window's, by the share of its cycles that a prediction takes.

    So the loop around the repeated predictions is not counted, nor does it matter whose clock is right.
    """
    shares = [(window, 1e6 * subject.cycles / cycles) for window, cycles in takings.good]
    gross = summary([window.gross * share for window, share in shares])
    net = summary([window.net * share for window, share in shares])
    first = takings.rounds[0].trace
    ratios = [window.span.seconds * subject.board.clock_hz / cycles for window, cycles in takings.good]
    return Energy(
        gross=gross.median,
        gross_interval=gross.interval,
        net=net.median,
        net_interval=net.interval,
        kind=meter.kind,
        meter=meter.name,
        volts=first.volts,
        volts_stated=first.volts_stated,
        idle_before_mA=1e3 * takings.idles[0][0] / first.volts,
        idle_after_mA=1e3 * takings.idles[-1][1] / first.volts,
        windows=len(takings.good),
        repeats=repeats,
        rejected=takings.rejected,
        dropped=sum(taken.trace.dropped for taken in takings.rounds),
        clock_ratio=median(ratios),
        rounds=tuple(takings.rounds),
    )


def choose_repeats(seconds: float, rate: float) -> int:
    """So many predictions that their window is long, and has samples enough."""
    wanted = max(SHORTEST, SAMPLES / rate)
    repeats = min(MOST_REPEATS, math.ceil(wanted / seconds))
    if repeats * seconds * rate < FEWEST_SAMPLES:
        raise MeterError(
            f"A meter of {rate:.3g} samples a second sees only {repeats * seconds * rate:.0f} of them while "
            f"{repeats} predictions of {1e6 * seconds:.3g} µs are made.",
            f"At least {FEWEST_SAMPLES} are needed: take a faster meter, or a shorter conversion.",
        )
    return repeats


def _record(link: Repeater, meter: Meter, plan: Plan, count: int) -> Record:
    told: list[int] = []
    starts: list[float] = []
    follows = meter if isinstance(meter, FollowsTarget) else None
    meter.start()
    try:
        _rest(link, plan.longer * IDLE)
        for number in range(count):
            if number:
                _rest(link, plan.longer * GAP)
            starts.append(link.now())
            told.append(link.repeat(plan.repeats).cycles)
            if follows is not None:
                follows.told(starts[-1], told[-1])
        _rest(link, plan.longer * IDLE)
    except BaseException:
        with contextlib.suppress(KilobenchError):
            meter.stop()
        raise
    return Record(meter.stop(), told, starts)


def _rest(link: Repeater, seconds: float) -> None:
    """The board idles. Listening costs it nothing, and tells if it was restarted."""
    if link.wait_ready(seconds):
        raise Restarted


def _locate(record: Record, board: Board) -> list[Span] | None:
    """The windows on the meter's clock; None if samples that were lost may have hidden one."""
    trace = record.trace
    seconds = [cycles / board.clock_hz for cycles in record.told]
    if trace.trigger is None:
        pairs = zip(record.starts, seconds, strict=True)
        return align.find(trace, [Span(start, start + length) for start, length in pairs])
    seen = windows.triggered(trace)
    slack = [CLOCK_TOLERANCE * length + 2 / trace.rate for length in seconds]
    found = windows.matching(seen, seconds, slack)
    if found is None and not trace.dropped:
        lengths = ", ".join(f"{1e3 * span.seconds:.1f}" for span in seen[:8]) or "none"
        raise MeterError(
            f"The meter's trigger shows other windows than the {len(seconds)} of {1e3 * seconds[0]:.1f} ms "
            f"that were made; their milliseconds: {lengths}.",
            f"Connect {board.trigger_pin} of the board to the meter's trigger input, and the grounds.",
        )
    return found
