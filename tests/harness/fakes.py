"""Stand-ins for a model and a target, around the device of fake_device."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from serial import SerialBase

from harness import boards
from harness.boards import Board
from harness.link.messages import Numbers
from harness.targets.base import Facts, Window
from models.device import Array, DeviceModel, InputScale
from tests.harness.fake_device import FakeDevice, FakePort, Transform, clean


@dataclass(frozen=True, eq=False)
class SumModel(DeviceModel):
    """The class is the sum of the features' bytes modulo the classes, as FakeDevice computes it."""

    family: ClassVar[str] = "sum"

    def scores(self, encoded: Array) -> Array:
        winners = encoded.view(np.uint8).sum(axis=1, dtype=np.int64) % self.n_classes
        table = np.tile(np.arange(self.n_classes, dtype=np.int32), (len(encoded), 1))
        table[np.arange(len(encoded)), winners] = 100
        return table

    @property
    def n_scores(self) -> int:
        return self.n_classes


def sum_model(features: int = 8, classes: int = 4, numbers: str = "int8", name: str = "fake") -> SumModel:
    return SumModel(
        numbers=numbers,
        n_features=features,
        classes=tuple(range(classes)),
        inputs=InputScale(np.zeros(()), np.ones(()), numbers),
        arrays={"weights": np.arange(features, dtype=np.int8)},
        name=name,
        paper_bytes=4 * features,
    )


def device_for(model: DeviceModel, board: str = "uno", **changes: object) -> FakeDevice:
    device = FakeDevice(
        features=model.n_features,
        classes=model.n_classes,
        numbers=Numbers[model.numbers.upper()],
        board=board,
        model=model.name,
        model_hash=model.digest,
    )
    for name, value in changes.items():
        setattr(device, name, value)
    return device


@dataclass
class FakeTarget:
    """A target around a FakeDevice; the trigger pin shows what the device counts, plus `drift`."""

    device: FakeDevice
    to_device: Transform = clean
    to_host: Transform = clean
    drift: int = 0
    pin_visible: bool = True
    board: Board = field(default_factory=lambda: boards.load("uno"))
    resets: int = 0
    closed: bool = False

    def __post_init__(self) -> None:
        self._seen = 0

    def open(self) -> SerialBase:
        self.port = FakePort(self.device, to_device=self.to_device, to_host=self.to_host)
        self.port.press_reset()
        return self.port

    def reset(self) -> None:
        self.resets += 1
        self.port.press_reset()

    def windows(self) -> list[Window]:
        new = len(self.device.predictions) - self._seen
        self._seen += new
        if not self.pin_visible:
            return []
        return [Window(0, self.device.compute_cycles + self.drift, 0)] * new

    def facts(self) -> Facts:
        return Facts("fake", "invented", cycles=self.port.reads if self.pin_visible else None, stack_peak=77)

    def close(self) -> None:
        self.closed = True
