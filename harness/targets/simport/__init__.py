"""pyserial's door to the simulators: importing this makes `serial_for_url("simavr://…")` work."""

from __future__ import annotations

import serial

if __name__ not in serial.protocol_handler_packages:
    serial.protocol_handler_packages.append(__name__)
