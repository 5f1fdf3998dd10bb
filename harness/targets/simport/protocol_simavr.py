"""`simavr://SOCKET`: the serial port of a simulated AVR board, for pyserial."""

from __future__ import annotations

import math
from typing import Any

from serial.serialutil import PortNotOpenError, SerialBase, SerialException

from harness import elfscan
from harness.errors import SimulatorError
from harness.targets.simwire import About, Connection, Outcome, Reply

LONGEST_RUN = 1.0
"""Simulated seconds of one request to the simulator, so that no Ctrl-C has to wait long for its end."""
RUN_AHEAD = 0.025
"""Simulated seconds the device may work on after `flush` before somebody reads."""
FRAME_BITS = 10
CREEP = 100e-6
"""Simulated seconds that pass when somebody asks whether bytes have come."""


class Serial(SerialBase):
    """A port whose clock is the device's.

    Simulated time passes only while the host waits, so results are the same to the cycle in every run,
    however busy the host is. `timeout` and `now()` are simulated seconds.

    - `write` keeps the bytes; they go out when the host next waits: in `flush`, `read` or `in_waiting`.
    - `flush` sends them and lets the device work on by itself, until its answer is complete but for at most
      `RUN_AHEAD`. It does not wait: the host can do something else, and `read` collects. What is written
      after a `flush` goes on the line after that, in order, so this is as deterministic as waiting.
    - `read` waits for the bytes asked for. An answer that has begun comes whole, as through a USB bridge, and
      what is left over serves the next `read` without a question to the simulator.
    - `in_waiting` lets a little time pass when nothing is there, so that loops around it end.
    - DTR going active resets the board, as on an Uno; so opening the port does. Closing leaves the board be.
    - A host at another rate than the device gets zeros, and its bytes arrive as zeros with a framing error.
    - A chip that cannot go on (illegal instruction, sleep for ever, …) raises SimulatorError.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._link: Connection | None = None
        self._about: About | None = None
        self._hz = 1
        self._arrived = b""
        self._written = bytearray()
        self._cycle = 0
        self._unsent = 0
        self._line: tuple[int, bool] | None = None
        super().__init__(*args, **kwargs)

    # Opening and closing

    def open(self) -> None:
        if self.is_open:
            raise SerialException("Port is already open.")
        if self.port is None:
            raise SerialException("Port must be configured before it can be used.")
        self._link = Connection(str(self.port).removeprefix("simavr://"))
        self._about = self._link.about()
        self._hz = self._about.clock_hz
        self._arrived = b""
        self._written.clear()
        self._unsent = 0
        self._line = None
        self.is_open = True
        self._reconfigure_port()
        self._cycle = self._link.counters().cycles

    def close(self) -> None:
        if self._link is None:
            return
        link, self._link = self._link, None
        self.is_open = False
        try:
            if self.dtr:  # the driver drops DTR with the last close
                link.line(self.baudrate, False)
        except SimulatorError:
            pass  # the board is gone; so is the port
        finally:
            link.close()

    def _reconfigure_port(self) -> None:
        """Called for every change of every setting; only two of them reach the board."""
        line = (self.baudrate, self.dtr)
        if line != self._line:
            self.settle()
            self._open_link().line(*line)
            self._line = line

    def _update_dtr_state(self) -> None:
        self._reconfigure_port()

    def _update_rts_state(self) -> None:
        """RTS goes nowhere on these boards."""

    def _update_break_state(self) -> None:
        """A break would be a framing error; the link has no use for one."""

    # Time

    def now(self) -> float:
        """Simulated seconds since the board was switched on."""
        self.settle()
        return self._cycle / self._hz

    def settle(self) -> None:
        """Wait for what `flush` started; nothing more happens then until somebody waits."""
        link = self._link
        if link is None:
            raise PortNotOpenError()
        while link.due:
            self._take(link.collect())

    def _run(self, want: int, cycles: int) -> Reply:
        self._start(want, cycles)
        reply = self._open_link().collect()
        self._take(reply)
        return reply

    def _start(self, want: int, cycles: int) -> None:
        link = self._open_link()
        if self._written:
            link.write(self._written)
            self._written.clear()
        link.start_run(want, cycles)

    def _take(self, reply: Reply) -> None:
        self._arrived += reply.payload
        self._cycle = reply.cycle
        self._unsent = reply.unsent
        if reply.outcome == Outcome.FAULT:
            raise self._fault()

    def _fault(self) -> SimulatorError:
        assert self._about is not None
        fault = self._open_link().fault()
        place = elfscan.symbol_at(self._about.elf, fault.pc)
        return SimulatorError(
            f"The simulated CPU stopped at {fault.pc:#06x} ({place}): {fault.what}.",
            f"Look at that address with `avr-objdump -d {self._about.elf}`.",
        )

    def _open_link(self) -> Connection:
        if self._link is None:
            raise PortNotOpenError()
        return self._link

    # Bytes

    @property
    def in_waiting(self) -> int:
        self.settle()
        if not self._arrived:
            self._run(1, round(CREEP * self._hz))
        return len(self._arrived)

    @property
    def out_waiting(self) -> int:
        self.settle()
        return len(self._written) + self._unsent

    def read(self, size: int = 1) -> bytes:
        self.settle()
        if len(self._arrived) < size:
            self._wait_for(size)
        data, self._arrived = self._arrived[:size], self._arrived[size:]
        return data

    def _wait_for(self, size: int) -> None:
        left = math.inf if self.timeout is None else round(max(self.timeout, CREEP) * self._hz)
        piece = round(LONGEST_RUN * self._hz)
        while len(self._arrived) < size and left > 0:
            begin = self._cycle
            reply = self._run(size - len(self._arrived), int(min(left, piece)))
            left -= self._cycle - begin
            if reply.outcome == Outcome.QUIET:
                if left == math.inf:
                    raise SimulatorError(
                        "The simulated board sleeps and nothing but the host can wake it.",
                        "A read without a timeout would wait for ever; give the port a timeout.",
                    )
                piece = int(left)  # takes no time

    def write(self, data: Any, /) -> int:
        self._open_link()
        self._written += data
        return len(data)

    def flush(self) -> None:
        self.settle()
        if self._written:
            on_the_line = FRAME_BITS * len(self._written) / self.baudrate
            self._start(1, round((on_the_line + RUN_AHEAD) * self._hz))

    def reset_input_buffer(self) -> None:
        self.settle()
        self._arrived = b""

    def reset_output_buffer(self) -> None:
        self.settle()
        self._written.clear()
        self._unsent = 0
        self._open_link().purge()

    # Modem lines nobody drives

    @property
    def cts(self) -> bool:
        self._open_link()
        return True

    @property
    def dsr(self) -> bool:
        self._open_link()
        return True

    @property
    def ri(self) -> bool:
        self._open_link()
        return False

    @property
    def cd(self) -> bool:
        self._open_link()
        return True
