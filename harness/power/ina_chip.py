"""INA219 and INA226: how they are set, and what their registers mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.errors import MeterError
from harness.power import ina_wire as wire
from harness.power.base import MEASURED, Counts, Trace
from harness.power.ina_wire import Block
from harness.power.registry import Options

SLOWEST = 1.25
"""Of the time that the data sheet gives for a conversion."""
LATE = 1.5
"""Of the usual time between two conversions: later than that, one was missed."""


@dataclass(frozen=True)
class Chip:
    """What differs between the two, from their data sheets."""

    shunt_volts: float
    """Of the lowest bit of the shunt register."""
    bus_volts: float
    bus_shift: int
    full_scale: int
    ready_register: int
    ready_mask: int
    clear_register: int
    conversions: dict[str, int]
    """Times that can be chosen, with their code; shorter ones end before the Arduino has read the last."""
    usual: str


CHIPS = {
    # SBOS448: the flag CNVR stands in the bus register, and reading the power register takes it back.
    "ina219": Chip(
        shunt_volts=10e-6,
        bus_volts=4e-3,
        bus_shift=3,
        full_scale=32_000,
        ready_register=2,
        ready_mask=0x0002,
        clear_register=3,
        conversions={"532us": 3, "1060us": 9, "2130us": 10, "4260us": 11},
        usual="532us",
    ),
    # SBOS547: the flag CVRF stands in the mask register, and reading that takes it back.
    "ina226": Chip(
        shunt_volts=2.5e-6,
        bus_volts=1.25e-3,
        bus_shift=0,
        full_scale=32_767,
        ready_register=6,
        ready_mask=0x0008,
        clear_register=wire.NOTHING,
        conversions={"332us": 2, "588us": 3, "1100us": 4, "2116us": 5, "4156us": 6},
        usual="588us",
    ),
}
RANGES = {"40mV": 0, "80mV": 1, "160mV": 2, "320mV": 3}
"""Of the INA219's shunt, which clips beyond."""


@dataclass(frozen=True)
class Setup:
    """A chip as it is wired and set."""

    kind: str
    place: str
    address: int
    shunt_ohm: float
    zero: float
    """Amperes it shows when none flow."""
    configuration: int
    limit: int
    """The shunt register's value at the end of the range."""
    seconds: float
    """Between two samples: a conversion of the shunt, then one of the bus."""

    @property
    def chip(self) -> Chip:
        return CHIPS[self.kind]

    @classmethod
    def of(cls, options: Options) -> Setup:
        chip = CHIPS[options.kind]
        if not options.place:
            raise options.wrong("its port is missing", f"Write {options.kind}:/dev/ttyUSB0, for example.")
        time = options.text("conversion", chip.usual)
        code = options.one_of("conversion", chip.conversions, chip.usual)
        if options.kind == "ina219":
            span = options.one_of("range", RANGES, "320mV")
            configuration = span << 11 | code << 7 | code << 3 | 7
            limit = 4_000 << span
        else:
            configuration = 0x4000 | code << 6 | code << 3 | 7
            limit = chip.full_scale
        shunt = options.number("shunt", "ohm", 0.1)
        if shunt <= 0:
            raise options.wrong("its shunt has no resistance", "Give it in ohms: shunt=0.1.")
        setup = cls(
            kind=options.kind,
            place=options.place,
            address=int(options.text("address", "0x40"), 0),
            shunt_ohm=shunt,
            zero=options.number("zero", "A", 0.0),
            configuration=configuration,
            limit=min(limit, chip.full_scale),
            seconds=2e-6 * int(time.removesuffix("us")),
        )
        options.finish()
        return setup


def trace_of(blocks: list[Block], taken: int, ticks_a_second: int, setup: Setup) -> Trace:
    """Amperes and volts from registers; frames that were lost are counted by the numbers around them."""
    blocks = [block for block in blocks if block.samples]
    if not blocks:
        raise MeterError(
            f"The {setup.kind} at {setup.place} took {taken} samples, and none arrived.",
            "Check the chip's supply, and the cable.",
        )
    chip = setup.chip
    table = np.array([sample for block in blocks for sample in block.samples], np.int64)
    ticks, high, shunt, bus = table.T
    numbers = np.concatenate([block.first + np.arange(len(block.samples)) for block in blocks])
    if np.any(np.abs(shunt) >= setup.limit):
        amperes = setup.limit * chip.shunt_volts / setup.shunt_ohm
        raise MeterError(
            f"The current went beyond the {amperes:.3g} A that the {setup.kind} can show with this shunt.",
            "Choose a larger range, or a smaller shunt.",
        )
    begins = np.concatenate(
        [block.ticks + np.cumsum([0, *(sample[0] for sample in block.samples[:-1])]) for block in blocks]
    )
    lost = np.diff(np.concatenate(([-1], numbers))) - 1
    # The chip's own clock makes conversions a tenth longer at most: if all are, every second one is missed.
    usual = min(float(np.median(ticks)), SLOWEST * setup.seconds * ticks_a_second)
    missed = np.where(ticks > LATE * usual, np.round(ticks / usual) - 1, 0).astype(np.int64)
    begins = _unwrapped(begins)
    return Trace(
        time=begins / ticks_a_second,
        current=shunt * chip.shunt_volts / setup.shunt_ohm - setup.zero,
        voltage=(bus >> chip.bus_shift) * chip.bus_volts,
        end=float((begins[-1] + ticks[-1]) / ticks_a_second),
        rate=ticks_a_second / usual,
        kind=MEASURED,
        trigger=high / ticks,
        lost=lost + missed,
        # A conversion of the shunt is over, and then one of the bus, before the sample is read.
        settle=2 * usual / ticks_a_second,
    )


def _unwrapped(ticks: Counts) -> Counts:
    """The counter of 32 bits begins anew every 36 minutes."""
    return ticks + (np.cumsum(np.diff(ticks, prepend=ticks[0]) < 0) << 32)
