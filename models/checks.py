"""check_device_model: what every device model must satisfy, ours and a plug-in's alike.

Call it from a test with a model and some raw samples; it raises AssertionError with a sentence on what is
wrong. The strongest check needs a C compiler: the firmware's kernel, compiled for this machine, must give the
very scores that the model's own `scores` gives.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from models import hostc, modelfile
from models.device import CONSTANT_BYTES, WIRE_TYPES, Array, DeviceModel
from models.export import data, header, kernel_file

C_SIZES = {"int8_t": 1, "uint8_t": 1, "int16_t": 2, "uint16_t": 2, "int32_t": 4, "uint32_t": 4, "float": 4}


def check_device_model(model: DeviceModel, X: npt.ArrayLike, *, compiler: bool | None = None) -> None:
    """Every check there is. `compiler` says whether to compile the kernel; None: if there are both."""
    encoded = np.concatenate([model.encode(X), adversarial_inputs(model)])
    check_scores(model, encoded)
    check_file(model, encoded)
    check_flash(model)
    if compiler is None:
        compiler = hostc.available() and kernel_file(model.family, model.numbers).is_file()
    if compiler:
        check_kernel(model, encoded)


def adversarial_inputs(model: DeviceModel, seed: int = 0) -> Array:
    """Encoded samples at the edge: all least, all most, alternating, one feature alone, and noise."""
    n, dtype = model.n_features, WIRE_TYPES[model.numbers]
    rng = np.random.default_rng(seed)
    noise: Array
    low: float
    high: float
    if dtype.kind == "f":
        low, high = -1e3, 1e3
        noise = rng.normal(size=(8, n)) * 10.0 ** rng.integers(-6, 3, size=(8, 1))
    else:
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        noise = rng.integers(int(low), int(high), size=(8, n), endpoint=True)
    even = np.arange(n) % 2 == 0
    alone = np.zeros((2, n))
    alone[0, 0], alone[1, -1] = high, low
    edges = [
        np.full(n, low),
        np.full(n, high),
        np.zeros(n),
        np.where(even, low, high),
        np.where(even, high, low),
    ]
    return np.concatenate([edges, alone, noise]).astype(dtype)


def check_scores(model: DeviceModel, encoded: Array) -> None:
    """Scores have the device's type and shape, and a sample's do not depend on its neighbours."""
    scores = model.scores(encoded)
    kind = np.dtype(np.float32 if model.numbers == "float32" else np.int32)
    _require(
        scores.dtype == kind and scores.shape == (len(encoded), model.n_scores),
        f"scores are {scores.dtype} {scores.shape}, not {kind} {(len(encoded), model.n_scores)}",
    )
    alone = np.concatenate([model.scores(sample[None]) for sample in encoded])
    _require(_same(alone, scores), "a sample alone has other scores than in company")
    index = model.decide(scores)
    _require(
        bool(((index >= 0) & (index < model.n_classes)).all()),
        f"a class index is outside of 0…{model.n_classes - 1}",
    )
    _require(
        model.predict_index(np.zeros((1, model.n_features))).shape == (1,), "one sample gives no one class"
    )


def check_file(model: DeviceModel, encoded: Array) -> None:
    """A model written and read is the same model, to the byte."""
    data = modelfile.to_bytes(model)
    _require(modelfile.to_bytes(model) == data, "writing it twice gives different files")
    again = modelfile.from_bytes(data)
    _require(type(again) is type(model), f"its file is read as {type(again).__name__}")
    _require(again.digest == model.digest and len(model.digest) == 8, "its digest changes in a file")
    _require(
        again.classes == model.classes and again.name == model.name, "its name or classes change in a file"
    )
    _require(modelfile.to_bytes(again) == data, "its file, read and written, is another file")
    _require(_same(again.scores(encoded), model.scores(encoded)), "its scores change in a file")


def check_flash(model: DeviceModel) -> None:
    """flash_bytes is what the exported arrays take, plus the constants."""
    arrays = re.findall(
        r"^static const (?:_Alignas\(2\) )?(\w+) model_\w+\[(\d+)\] FLASH = \{", data(model), re.MULTILINE
    )
    exported = sum(C_SIZES[kind] * int(count) for kind, count in arrays) + CONSTANT_BYTES * len(
        model.constants
    )
    _require(
        exported == model.flash_bytes, f"flash_bytes is {model.flash_bytes}, but it exports {exported} bytes"
    )
    for key in model.constants:
        _require(f"#define MODEL_{key.upper()} " in header(model), f"the constant {key} is not exported")


def check_kernel(model: DeviceModel, encoded: Array, *, seed: int = 0, ways: int = 3) -> None:
    """The kernel in C gives the scores of the model in Python, bit by bit, however the vector is cut."""
    scores = model.scores(encoded)
    rng = np.random.default_rng(seed)
    with hostc.HostKernel(model) as kernel:
        n = model.n_features
        # An empty piece before or after the whole is legal: a sample's last request may bring nothing new.
        cuts: list[list[int] | None] = [None, [n, 0], [0, n]]
        for pieces in cuts + [random_pieces(n, rng) for _ in range(ways)]:
            classes, answered = kernel.run(encoded, pieces)
            how = "whole vectors" if pieces is None else f"pieces of {pieces}"
            if not _same(answered, scores):
                bad = int(np.flatnonzero((answered.view(np.uint32) != scores.view(np.uint32)).any(axis=1))[0])
                raise AssertionError(
                    f"With {how} the kernel scores sample {bad} {answered[bad]}, but Python {scores[bad]}."
                )
            _require(
                bool((classes == model.decide(scores)).all()), f"with {how} the kernel decides otherwise"
            )


def random_pieces(n_features: int, rng: np.random.Generator) -> list[int]:
    """Lengths that add up to a vector, some of them perhaps zero."""
    cuts = np.sort(rng.integers(0, n_features, size=int(rng.integers(1, 8)), endpoint=True))
    return [int(length) for length in np.diff(cuts, prepend=0, append=n_features)]


def _same(a: Array, b: Array) -> bool:
    """Equal to the bit: -0.0 is not 0.0, and two equal NaNs are equal."""
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def _require(condition: bool, otherwise: str) -> None:
    if not condition:
        raise AssertionError(f"The device model is not sound: {otherwise}.")
