"""`faulty://PORT?flip=0.01&seed=1`: another port behind a line with faults, for pyserial."""

from __future__ import annotations

from collections import Counter

import serial
from serial import SerialException

from harness.errors import InputError
from harness.faulty import Faults, FaultyPort

_openings: Counter[str] = Counter()
"""A line that is opened again does not repeat its faults; another process does, from its first opening on."""


class Serial(FaultyPort):
    """What stands after the last question mark are the faults."""

    def open(self) -> None:
        if self.is_open:
            raise SerialException("Port is already open.")
        url = str(self.port)
        inner_url, _, faults = url.removeprefix("faulty://").rpartition("?")
        try:
            described = Faults.parse(faults if inner_url else "")
        except InputError as error:
            raise ValueError(str(error)) from error
        inner = serial.serial_for_url(inner_url, baudrate=self.baudrate, do_not_open=True)
        inner.exclusive = True if "://" not in inner_url else None
        inner.open()
        self.attach(inner, described, _openings[url])
        _openings[url] += 1
