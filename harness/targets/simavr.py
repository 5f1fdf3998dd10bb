"""A board simulated by simavr, in its own process: simavr is GPL, and nothing of it is linked in here."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType

import serial
from serial import SerialBase

from harness import elfscan
from harness.boards import Board
from harness.errors import SimulatorError
from harness.targets import runner_build, simport
from harness.targets.base import CYCLE_EXACT, Facts, Window
from harness.targets.simport.protocol_simavr import Serial
from harness.targets.simwire import About, Connection

_PATIENCE = 5.0
"""Seconds for the simulator to end by itself."""

assert simport.__name__ in serial.protocol_handler_packages


class SimavrTarget:
    """The firmware of an ELF file on a simulated board, from `open` to `close`.

    The port's clock is the simulated one, see `harness.targets.simport.protocol_simavr.Serial`.
    """

    def __init__(self, board: Board, elf: Path) -> None:
        self.board = board
        self.elf = elf
        self._process: subprocess.Popen[bytes] | None = None
        self._control: Connection | None = None
        self._port: Serial | None = None
        self._folder = ""
        self._about: About | None = None

    def __enter__(self) -> SimavrTarget:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def open(self) -> SerialBase:
        """Start the board and open its port; if only the port was closed, opening restarts the firmware."""
        if self._process is None:
            self._start()
        if self._port is None or not self._port.is_open:
            url = f"simavr://{self._folder}/port"
            port = serial.serial_for_url(url, baudrate=self.board.baud, timeout=1.0)
            assert isinstance(port, Serial)
            self._port = port
        return self._port

    def reset(self) -> None:
        self._settled().reset()

    def windows(self) -> list[Window]:
        return self._settled().windows()

    def facts(self) -> Facts:
        counters = self._settled().counters()
        assert self._about is not None
        return Facts(
            target="simavr",
            timing=CYCLE_EXACT,
            cycles=counters.cycles,
            slept=counters.slept,
            overruns=counters.overruns,
            stack_peak=counters.stack_peak,
            cpu_seconds=counters.cpu_ns / 1e9,
            version=f"simavr {self._about.version}",
        )

    def close(self) -> None:
        port, self._port = self._port, None
        control, self._control = self._control, None
        process, self._process = self._process, None
        if port is not None:
            port.close()
        if control is not None:
            control.close()
        if process is not None:
            _end(process)
        if self._folder:
            _remove(self._folder)
            self._folder = ""

    def _settled(self) -> Connection:
        """The control connection, once the port's own requests are through: two connections have no order."""
        if self._control is None:
            raise SimulatorError("The simulated board is not running.", "Open the target first.")
        if self._port is not None and self._port.is_open:
            self._port.settle()
        return self._control

    def _start(self) -> None:
        program = runner_build.runner()
        refuse_mistaken(self.elf, program)
        simulator = self.board.simulator
        self._folder = tempfile.mkdtemp(prefix="kilobench-")
        path = f"{self._folder}/port"
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
                listener.bind(path)
                listener.listen()
                handle = listener.fileno()
                words = (handle, os.getpid(), path, simulator.mcu, self.board.clock_hz, self.elf.resolve())
                self._process = subprocess.Popen(
                    [str(program), *map(str, words), simulator.uart, simulator.trigger],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    pass_fds=(handle,),
                )
            self._control = Connection(path)
            self._about = self._control.about()
        except OSError as error:
            self.close()
            remedy = "TMPDIR must name a folder with a short path that can be written to."
            raise SimulatorError(f"The simulator cannot start: {error}.", remedy) from error
        except SimulatorError as error:
            complaint = self._complaint()
            self.close()
            if not complaint:
                raise
            remedy = "Check the board's [simulator] table and the image."
            raise SimulatorError(f"The simulator cannot start: {complaint}.", remedy) from error
        except BaseException:
            self.close()
            raise

    def _complaint(self) -> str:
        """What a runner that ended by itself had to say."""
        if self._process is None or self._process.stderr is None:
            return ""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_PATIENCE)
            return self._process.stderr.read().decode(errors="replace").strip()
        return ""


def refuse_mistaken(elf: Path, program: Path) -> None:
    """SimulatorError if the image holds the pattern of `elfscan` and this simavr executes it wrongly."""
    hits = elfscan.scan(elf)
    if not hits or runner_build.skips_correctly(program):
        return
    first = hits[0]
    more = f", and {len(hits) - 1} more like it" if len(hits) > 1 else ""
    raise SimulatorError(
        f"The installed simavr executes {elf.name} wrongly: at {first.address:#06x} ({first.place}) "
        f"{first.skip} skips over {first.victim} and would swallow the instruction after it too{more}.",
        "Change that code so that the compiler emits something else (signed division by 16, 32 or 64 causes "
        "it: use a shift), or install a simavr newer than 1.6; real boards are not affected.",
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    """End of file on its standard input ends the runner; one that is deep in a long run is killed."""
    for stream in (process.stdin, process.stderr):
        if stream is not None:
            stream.close()
    try:
        process.wait(0.2)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _remove(folder: str) -> None:
    with contextlib.suppress(OSError):
        Path(folder, "port").unlink()
    with contextlib.suppress(OSError):
        Path(folder).rmdir()
