"""A model as C: model.h with its sizes and constants, model_data.h with its arrays.

model.h is macros only and is included everywhere; model_data.h is included by the kernel alone, so that every
array exists once and is reached without a pointer.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from models.device import WIRE_TYPES, Array, DeviceModel
from models.errors import InputError
from models.families import device_class

WIDTH = 100
C_TYPES = {
    "i1": "int8_t",
    "u1": "uint8_t",
    "i2": "int16_t",
    "u2": "uint16_t",
    "i4": "int32_t",
    "u4": "uint32_t",
    "f4": "float",
}
ORIGIN = ("dataset", "seed", "budget")
"""What of a model's info is worth a line in the generated files."""


def c_files(model: DeviceModel) -> dict[str, str]:
    """The generated files by name. InputError if the firmware has no kernel for the model."""
    device_class(model.family, model.numbers)
    if not kernel_file(model.family, model.numbers).is_file():
        raise InputError(
            f"The firmware has no kernel for {model.family} in {model.numbers} yet.",
            "Such a model can be trained and evaluated on the host only.",
        )
    return {"model.h": header(model), "model_data.h": data(model)}


def kernels_folder() -> Path:
    """firmware/lib/kernels of the checkout, or of the copy that travels in the wheel."""
    checkout = Path(__file__).resolve().parent.parent
    inside = Path("firmware", "lib", "kernels")
    places = (checkout / inside, checkout / "harness" / "_project" / inside)
    return next((place for place in places if place.is_dir()), places[0])


def kernel_file(family: str, numbers: str) -> Path:
    """The C file that runs a family."""
    return kernels_folder() / f"{family}{'_float' if numbers == 'float32' else ''}.c"


def header(model: DeviceModel) -> str:
    """model.h"""
    numbers = {f"MODEL_{name.upper()}": str(code) for code, name in enumerate(WIRE_TYPES, start=1)}
    about = {
        "MODEL_NUMBERS": f"MODEL_{model.numbers.upper()}",
        f"MODEL_FAMILY_{model.family.upper()}": "1",
        "MODEL_FEATURES": f"{model.n_features}u",
        "MODEL_CLASSES": f"{model.n_classes}u",
        "MODEL_SCORES": f"{model.n_scores}u",
        "MODEL_NAME": _string(model.name),
        "MODEL_HASH": "{" + ", ".join(f"0x{byte:02x}" for byte in model.digest) + "}",
    }
    sizes = {f"MODEL_{key.upper()}": _number(value) for key, value in model.c_sizes().items()}
    constants = {f"MODEL_{key.upper()}": _number(value) for key, value in model.constants.items()}
    blocks = [
        _banner(model, "Sizes and constants"),
        "#ifndef MODEL_H\n#define MODEL_H",
        "/* The number formats there are; the same codes as on the link. */\n" + _defines(numbers),
        _defines(about),
    ]
    if sizes:
        blocks.append("/* Shapes, and how the weights are laid out. */\n" + _defines(sizes))
    if constants:
        blocks.append("/* Shifts and scales. */\n" + _defines(constants))
    return "\n\n".join([*blocks, "#endif"]) + "\n"


def data(model: DeviceModel) -> str:
    """model_data.h"""
    blocks = [
        _banner(model, "Arrays, for the kernel alone"),
        "#ifndef MODEL_DATA_H\n#define MODEL_DATA_H",
        '#include <stdint.h>\n\n#include "flash.h"',
        *(_array(key, array) for key, array in model.arrays.items()),
        "#endif",
    ]
    return "\n\n".join(blocks) + "\n"


def _banner(model: DeviceModel, what: str) -> str:
    origin = [f"{key} {model.info[key]}" for key in ORIGIN if key in model.info]
    about = f"{what} of {model.name}: {model.family}, {model.numbers}, {model.n_features} features, "
    about += f"{model.n_classes} classes, {model.flash_bytes} bytes."
    if origin:
        about += f" From {', '.join(origin)}."
    about += (
        f" Model {model.digest.hex()}. Written by kilobench; changes are lost when the firmware is built."
    )
    safe = " ".join(about.split()).replace("*/", "* /").replace("/*", "/ *")
    return "/* " + "\n".join(textwrap.wrap(safe, WIDTH, subsequent_indent=" * ")) + " */"


def _defines(macros: dict[str, str]) -> str:
    return "\n".join(f"#define {name} {value}" for name, value in macros.items())


def _array(key: str, array: Array) -> str:
    kind = C_TYPES.get(array.dtype.str[1:])
    if kind is None or array.size == 0:
        raise InputError(f"The array {key!r} ({array.dtype}, shape {array.shape}) has no counterpart in C.")
    rows = (
        array.reshape(array.shape[0], -1) if array.ndim == 2 and array.shape[1] > 2 else array.reshape(1, -1)
    )
    shape = " × ".join(str(n) for n in array.shape)
    body = "\n".join(_wrapped(_number(value, suffix="") for value in row) for row in rows)
    # AVR reads bytes anywhere, but executes words at even addresses only.
    align = "_Alignas(2) " if key.endswith("_code") else ""
    return f"/* {shape} */\nstatic const {align}{kind} model_{key}[{array.size}] FLASH = {{\n{body}\n}};"


def _wrapped(values: Iterable[str]) -> str:
    text = ", ".join(values) + ","
    return textwrap.fill(text, WIDTH, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)


def _number(value: int | float | np.generic, suffix: str = "u") -> str:
    """A C constant. Floats are hexadecimal, so that no bit depends on the compiler's decimal conversion."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, float):
        mantissa, exponent = plain.hex().split("p")
        return f"{mantissa.rstrip('0').rstrip('.') if '.' in mantissa else mantissa}p{exponent}f"
    if plain == -(2**31):
        return "(-2147483647 - 1)"  # C has no negative literals, and 2147483648 is no int
    return f"{plain}{suffix}" if plain >= 0 else str(plain)


def _string(text: str) -> str:
    """A C string; all but plain ASCII as three octal digits, which no digit that follows can lengthen."""
    plain = {byte: chr(byte) for byte in range(0x20, 0x7F) if chr(byte) not in '"\\?'}
    return '"' + "".join(plain.get(byte, f"\\{byte:03o}") for byte in text.encode()) + '"'
