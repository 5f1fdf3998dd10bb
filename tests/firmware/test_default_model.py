"""firmware/model, with which `pio run` works by itself, is what the exporter writes.

`python -m tests.firmware.test_default_model` writes it anew.
"""

from __future__ import annotations

import numpy as np
import pytest

from harness import paths
from models.device import DeviceModel, InputScale
from models.export import c_files
from models.linear_device import LinearInt8

FOLDER = paths.project() / "firmware" / "model"


def example() -> DeviceModel:
    """Four features, three classes: the smallest model that uses every part of the firmware."""
    W = np.array([[20, -3, 5, 1], [-7, 30, 2, -4], [1, -2, -9, 25]])
    inputs = InputScale(np.array(0.0), np.array(1.0), "int8")
    return LinearInt8.from_integers(W, [10, -5, 0], inputs, range(3), name="example")


@pytest.mark.parametrize("name", ["model.h", "model_data.h"])
def test_default_model_is_up_to_date(name: str) -> None:
    written = (FOLDER / name).read_text(encoding="utf8")
    assert written == c_files(example())[name], "run: python -m tests.firmware.test_default_model"


if __name__ == "__main__":
    for file, text in c_files(example()).items():
        (FOLDER / file).write_text(text, encoding="utf8")
