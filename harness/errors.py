"""Every error a user can meet, in one tree. The part above the line is raised by `models` too.

KilobenchError          what is wrong, and what to do about it; exit code 2
├── InputError          a name, number or file the user gave is not usable
│   ├── UnknownName     no such board, suite, model or dataset (suggests the nearest)
│   ├── DatasetError    a dataset that is missing, empty, misshapen or holds NaN
│   ├── ModelFileError  a model file that is truncated, foreign or of another version
│   ├── BudgetError     a byte budget that no model of the family can meet
│   │   └── TooSlow     a time limit that none can meet
│   ╌╌╌╌
│   ├── BoardFileError  a board description with a missing, unknown or wrong key
│   ├── BenchError      a bench.toml with a missing, unknown or wrong key
│   └── RunFolderError  the output folder holds another run, or cannot be written
├── SetupError          a program or library this machine lacks
├── BuildError          the firmware could not be built
│   └── DoesNotFit      the model is larger than the board's flash or RAM
├── LinkError           the serial line
│   ├── PortError       the port is missing, busy, or vanished
│   ├── NoAnswer        nothing intelligible came back in time
│   ├── WrongFirmware   another protocol version, board or model than expected
│   └── DeviceError     the device answered with an error code
├── SimulatorError      the simulator cannot run this image, or stopped
├── MeterError          the power meter, or what it has recorded
└── MeasurementError    two measurements of one thing disagree
"""

from __future__ import annotations

from models.errors import InputError, KilobenchError, UnknownName

__all__ = [
    "BenchError",
    "BoardFileError",
    "BuildError",
    "DeviceError",
    "DoesNotFit",
    "InputError",
    "KilobenchError",
    "LinkError",
    "MeasurementError",
    "MeterError",
    "NoAnswer",
    "PortError",
    "RunFolderError",
    "SetupError",
    "SimulatorError",
    "UnknownName",
    "WrongFirmware",
]


class BoardFileError(InputError):
    """A board description with a missing, unknown or wrong key."""


class BenchError(InputError):
    """A bench.toml with a missing, unknown or wrong key."""


class RunFolderError(InputError):
    """The output folder holds another run, or cannot be written."""


class SetupError(KilobenchError):
    """A program or library this machine lacks."""


class BuildError(KilobenchError):
    """The firmware could not be built."""


class DoesNotFit(BuildError):
    """The model is larger than the board's flash or RAM."""


class LinkError(KilobenchError):
    """Something is wrong on the serial line."""


class PortError(LinkError):
    """The port is missing, busy, or vanished."""


class NoAnswer(LinkError):
    """Nothing intelligible came back in time."""


class WrongFirmware(LinkError):
    """The device runs another protocol version, board or model than expected."""


class DeviceError(LinkError):
    """The device answered with an error code."""


class SimulatorError(KilobenchError):
    """The simulator cannot run this image, or stopped."""


class MeterError(KilobenchError):
    """The power meter does not do what it should, or its recording does not tell the energy."""


class MeasurementError(KilobenchError):
    """Two measurements of one thing disagree."""
