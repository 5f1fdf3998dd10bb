from __future__ import annotations

import dataclasses

import pytest

from harness import boards, energy

POWER = boards.Power(volts=5.0, active_mA=9.2, sleep_mA=2.3, source="a data sheet")
UNO = dataclasses.replace(boards.load("uno"), power=POWER)


def test_a_second_awake() -> None:
    power = POWER
    assert energy.microjoules(UNO, UNO.clock_hz) == pytest.approx(power.volts * power.active_mA * 1000)


def test_sleep_is_charged_at_its_own_current() -> None:
    cycles = UNO.clock_hz
    power = POWER
    half_awake = power.volts * (power.active_mA + power.sleep_mA) / 2 * 1000
    assert energy.microjoules(UNO, cycles, slept=cycles / 2) == pytest.approx(half_awake)


def test_energy_follows_the_boards_figures() -> None:
    thrifty = dataclasses.replace(UNO, power=dataclasses.replace(POWER, volts=3.3, active_mA=4.0))
    assert energy.microjoules(thrifty, 16_000) == pytest.approx(3.3 * 4.0 * 1e-3 * 1e6 * 1e-3)


def test_more_sleep_than_time_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="asleep"):
        energy.microjoules(UNO, 10, slept=11)


def test_no_energy_without_a_current() -> None:
    with pytest.raises(ValueError, match="no current is known"):
        energy.microjoules(dataclasses.replace(UNO, power=None), 10)
