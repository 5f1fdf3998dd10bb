"""A target and the link to it, kept alive: a board that hangs is reset, a lost port is opened again."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TypeVar

from harness.errors import DeviceError, LinkError, NoAnswer, PortError
from harness.link.client import Link, Prediction
from harness.link.identity import Expected, Hello
from harness.targets.base import Target
from models.device import Array

BOOT_SECONDS = 3.0
"""An Uno's boot loader listens for about one second before it starts the firmware."""
RESETS = 2
"""How often a board that hangs is restarted before the job is given up."""
RECOVERED = 32
"""So many samples after a reset, the board counts as healthy, and the next hang as the first."""
REOPENINGS = 5
"""How often a port may fail before one more sample has come through."""
REAPPEARS = 5.0
"""Seconds for a board whose USB device resets to come back, when nobody is asked to wait for it."""
LOOK = 0.2

T = TypeVar("T")
Tell = Callable[[str], None]


class Lifeline:
    """Sends samples to a device and brings back their predictions, whatever happens to the line."""

    def __init__(
        self, target: Target, expected: Expected, *, wait: bool = False, tell: Tell | None = None
    ) -> None:
        """wait: for a board that was unplugged, as long as it takes; `tell` hears of it."""
        self._target = target
        self._patience = math.inf if wait else REAPPEARS
        self._tell = tell
        self._resets = RESETS
        self._reopenings = REOPENINGS
        self._since = 0
        self.link = Link(target.open(), expected)
        self.hello: Hello
        try:
            self._greet()
        except LinkError as trouble:
            self._recover(trouble)

    def send(self, vector: bytes) -> None:
        """Start a sample, of which `receive` gets the prediction."""
        self._vector = vector
        try:
            self.link.send(vector)
        except LinkError as trouble:
            self._recover(trouble)
            self.send(vector)

    def receive(self, *, with_scores: bool) -> tuple[Prediction, Array | None]:
        """The answer to the sample that was sent; a board that had to be revived gets it again."""
        while True:
            try:
                prediction = self.link.receive()
                scores = self.link.scores() if with_scores else None
            except LinkError as trouble:
                self._recover(trouble)
                self.send(self._vector)
                continue
            self._reopenings = REOPENINGS
            self._since += 1
            if self._since >= RECOVERED:
                self._resets = RESETS
            return prediction, scores

    def doing(self, work: Callable[[Link], T]) -> T:
        """The result of some work with the link, done anew whenever the line fails."""
        while True:
            try:
                return work(self.link)
            except LinkError as trouble:
                self._recover(trouble)

    def _greet(self) -> None:
        self.link.wait_ready(BOOT_SECONDS)
        self.hello = self.link.hello()

    def _recover(self, trouble: LinkError) -> None:
        """Until the device greets again; the trouble itself if there is no way."""
        first = trouble
        while True:
            self.link.restarts += 1
            try:
                if isinstance(trouble, PortError):
                    self._reopen(trouble)
                elif isinstance(trouble, NoAnswer | DeviceError):
                    self._reset(first)
                else:
                    raise trouble
                self._greet()
                return
            except (PortError, NoAnswer) as error:
                if error in (first, trouble):
                    raise
                trouble = error

    def _reset(self, trouble: LinkError) -> None:
        """`trouble` is what the board was silent to before any reset: that says most."""
        if self._resets == 0:
            trouble.problem += f" {RESETS} resets did not help."
            raise trouble
        self._resets -= 1
        self._since = 0
        self._target.reset()

    def _reopen(self, trouble: PortError) -> None:
        if self._reopenings == 0:
            raise trouble
        self._reopenings -= 1
        self.link.close()
        deadline = time.monotonic() + self._patience
        told = False
        while True:
            try:
                self.link.attach(self._target.open())
                break
            except PortError as error:
                if time.monotonic() >= deadline:
                    raise trouble from error
                if not told and self._tell is not None and self._patience == math.inf:
                    self._tell(f"waiting: {error.problem}")
                    told = True
            time.sleep(LOOK)
        if told and self._tell is not None:
            self._tell("it is back")
