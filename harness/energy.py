"""Modelled energy: cycles times the currents a board file states. Never to be called a measurement."""

from __future__ import annotations

from harness.boards import Board

KIND = "modelled"


def microjoules(board: Board, cycles: float, slept: float = 0) -> float:
    """The energy of a stretch of `cycles`, of which the CPU slept `slept`; the board's currents are known.

    A prediction does not sleep; a duty cycle with idle time between predictions does.
    """
    if not 0 <= slept <= cycles:
        raise ValueError(f"{slept} of {cycles} cycles asleep")
    power = board.power
    if power is None:
        raise ValueError(f"no current is known of the {board.title}")
    milliampere_cycles = (cycles - slept) * power.active_mA + slept * power.sleep_mA
    return power.volts * milliampere_cycles * 1e3 / board.clock_hz
