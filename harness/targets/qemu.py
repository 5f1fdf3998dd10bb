"""A board simulated by QEMU, with instructions and modelled cycles from a plugin of our own."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from types import TracebackType

import serial
from serial import SerialBase

from harness.boards import Board
from harness.errors import SimulatorError
from harness.targets import qemumachine, simport
from harness.targets.base import INSTRUCTIONS, MODELLED, Facts, Window
from harness.targets.qemumachine import Machine
from harness.targets.simport import protocol_qemu

_numbers = itertools.count(1)

assert simport.__name__ in serial.protocol_handler_packages


class QemuTarget:
    """The firmware of an ELF file on a simulated board, from `open` to `close`.

    The device's own timer shows QEMU's time, which is none of the chip's; so counts come from `windows`.
    """

    def __init__(self, board: Board, elf: Path) -> None:
        self.board = board
        self.elf = elf
        self._name = f"{board.name}-{os.getpid()}-{next(_numbers)}"
        self._machine: Machine | None = None
        self._port: protocol_qemu.Serial | None = None

    def __enter__(self) -> QemuTarget:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def open(self) -> SerialBase:
        """Start the board and open its port; if only the port was closed, opening restarts the firmware."""
        if self._machine is None:
            self._machine = Machine(self.board, self.elf)
            protocol_qemu.machines[self._name] = self._machine
        if self._port is None or not self._port.is_open:
            url = f"{protocol_qemu.SCHEME}{self._name}"
            port = serial.serial_for_url(url, baudrate=self.board.baud, timeout=1.0)
            assert isinstance(port, protocol_qemu.Serial)
            self._port = port
        return self._port

    def reset(self) -> None:
        machine = self._running()
        if self._port is not None and self._port.is_open:
            self._port.restart()
        else:
            machine.switch_off()  # the port, when it is opened again, switches it on

    def windows(self) -> list[Window]:
        return self._running().counts.windows()

    def facts(self) -> Facts:
        machine = self._running()
        totals, image = machine.counts.totals(), machine.image
        return Facts(
            target="qemu",
            timing=MODELLED if self.board.simulator.timings else INSTRUCTIONS,
            stack_peak=image.stack_end - totals.stack_low if totals.stack_low else None,
            cpu_seconds=machine.cpu_seconds(),
            version=qemumachine.version(machine.program),
        )

    def close(self) -> None:
        port, self._port = self._port, None
        machine, self._machine = self._machine, None
        protocol_qemu.machines.pop(self._name, None)
        if port is not None:
            port.close()
        if machine is not None:
            machine.close()

    def _running(self) -> Machine:
        if self._machine is None:
            raise SimulatorError("The simulated board is not running.", "Open the target first.")
        return self._machine
