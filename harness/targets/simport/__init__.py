"""pyserial's door to ports of our own: importing this makes `serial_for_url` know simavr:// and faulty://."""

from __future__ import annotations

import serial

if __name__ not in serial.protocol_handler_packages:
    serial.protocol_handler_packages.append(__name__)
