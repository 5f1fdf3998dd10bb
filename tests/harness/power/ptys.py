"""A pseudo-terminal with an emulated instrument at its far end."""

from __future__ import annotations

import os
import select
import threading
import time
import tty
from collections.abc import Sequence
from types import TracebackType
from typing import Protocol

from harness.power import open_meter
from harness.power.base import Trace
from harness.power.windows import Span

POLL = 0.002


class Instrument(Protocol):
    def see(self, windows: list[Span]) -> None:
        """These are the trigger windows, on the clock of time.monotonic."""
        ...

    def receive(self, data: bytes) -> bytes:
        """What it answers to these bytes."""
        ...

    def emit(self) -> bytes:
        """What it says by itself now."""
        ...


class Pty:
    """Runs an instrument in a thread; `path` is the port it is connected to."""

    def __init__(self, instrument: Instrument) -> None:
        self._instrument = instrument
        self._master, self._slave = os.openpty()
        tty.setraw(self._slave)
        self.path = os.ttyname(self._slave)
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Pty:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ending.set()
        self._thread.join()
        os.close(self._master)
        os.close(self._slave)

    def _serve(self) -> None:
        while not self._ending.is_set():
            ready, _, _ = select.select([self._master], [], [], POLL)
            answer = self._instrument.receive(os.read(self._master, 4096)) if ready else b""
            self._send(answer + self._instrument.emit())

    def _send(self, data: bytes) -> None:
        while data and not self._ending.is_set():
            _, ready, _ = select.select([], [self._master], [], POLL)
            if ready:
                data = data[os.write(self._master, data[:2048]) :]


def recorded(
    instrument: Instrument, kind: str, settings: str = "", seconds: float = 0.15, pattern: Sequence[Span] = ()
) -> Trace:
    """What a meter of that kind makes of the instrument; pattern: windows in seconds after the start."""
    with Pty(instrument) as pty, open_meter(f"{kind}:{pty.path}{settings}") as meter:
        meter.start()
        began = time.monotonic()
        instrument.see([Span(began + span.start, began + span.end) for span in pattern])
        time.sleep(seconds)
        return meter.stop()
