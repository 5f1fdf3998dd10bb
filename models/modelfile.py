"""Model files: a zip of model.json and one .npy an array. Data, never code: nothing in it is unpickled or
run. The same model gives the same bytes.

A file is written beside its place and moved there whole, so that whatever stands under the name is either the
old model or the new one.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from models.device import Array, DeviceModel, InputScale
from models.errors import InputError, ModelFileError
from models.families import device_class

FORMAT = "kilobench model"
VERSION = 1
ABOUT = "model.json"
MAX_BYTES = 64 * 2**20
"""No microcontroller holds more; a larger file is not ours, or not honest."""
EPOCH = (1980, 1, 1, 0, 0, 0)
"""The date of every member: the time of writing would make equal models unequal files."""
AGAIN = "Train the model again, or copy the file again."


def save(model: DeviceModel, path: Path) -> None:
    """Write the model; InputError if the place cannot be written."""
    data = to_bytes(model)
    temporary = None
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            temporary = Path(file.name)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    except OSError as error:
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink()
        raise InputError(
            f"The model cannot be written to {path}: {error.strerror}.",
            "Name a file in a folder you may write to.",
        ) from error


def load(path: Path) -> DeviceModel:
    """Read a model; ModelFileError says what is wrong with the file."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ModelFileError(
                f"{path} is larger than any model can be.", "Name a file that kilobench train wrote."
            )
        data = path.read_bytes()
    except OSError as error:
        raise ModelFileError(
            f"{path} cannot be read: {error.strerror}.", "Name a file that kilobench train wrote."
        ) from error
    try:
        return from_bytes(data)
    except ModelFileError as error:
        raise ModelFileError(f"{path} {error.problem}", error.remedy) from error


def to_bytes(model: DeviceModel) -> bytes:
    """The file's content."""
    arrays = {f"arrays/{key}.npy": _npy(array) for key, array in model.arrays.items()}
    arrays["inputs/offset.npy"] = _npy(model.inputs.offset)
    arrays["inputs/step.npy"] = _npy(model.inputs.step)
    about = {
        "format": FORMAT,
        "version": VERSION,
        "family": model.family,
        "numbers": model.numbers,
        "features": model.n_features,
        "classes": list(model.classes),
        "constants": dict(model.constants),
        "name": model.name,
        "paper_bytes": model.paper_bytes,
        "input_limit": model.inputs.limit,
        "info": _plain(model.info),
        "digest": model.digest.hex(),
    }
    about["checksum"] = _checksum(about, arrays)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        text = json.dumps(about, indent=1, sort_keys=True, allow_nan=False) + "\n"
        for name, content in {ABOUT: text.encode(), **dict(sorted(arrays.items()))}.items():
            member = zipfile.ZipInfo(name, EPOCH)
            member.create_system = 3  # else the bytes depend on the operating system
            member.external_attr = 0o644 << 16
            archive.writestr(member, content)
    return buffer.getvalue()


def from_bytes(data: bytes) -> DeviceModel:
    """The model out of a file's content; ModelFileError continues a sentence that begins with the path."""
    about, arrays = _members(data)
    if about.get("format") != FORMAT:
        raise ModelFileError("is not a model file.", "Name a file that kilobench train wrote.")
    if about.get("version") != VERSION:
        raise ModelFileError(
            f"has format version {about.get('version')!r}, and this program reads version {VERSION}.",
            "Use the version of kilobench that wrote it, or train the model again.",
        )
    if about.pop("checksum", None) != _checksum(about, arrays):
        raise ModelFileError("does not match its own checksum.", AGAIN)
    try:
        model = device_class(about["family"], about["numbers"])(
            numbers=about["numbers"],
            n_features=about["features"],
            classes=tuple(about["classes"]),
            inputs=InputScale(
                _array(arrays, "inputs/offset.npy"),
                _array(arrays, "inputs/step.npy"),
                about["numbers"],
                about["input_limit"],
            ),
            arrays={
                name.removeprefix("arrays/").removesuffix(".npy"): _array(arrays, name)
                for name in arrays
                if name.startswith("arrays/")
            },
            constants=about["constants"],
            name=about["name"],
            paper_bytes=about["paper_bytes"],
            info=about["info"],
        )
        digest = about["digest"]
    except KeyError as error:
        raise ModelFileError(f"lacks {error}.", AGAIN) from error
    except (TypeError, ValueError, AttributeError) as error:
        raise ModelFileError(f"holds something unexpected: {error}.", AGAIN) from error
    except ModelFileError:
        raise
    except InputError as error:
        raise ModelFileError(f"holds no usable model: {error.problem}", error.remedy or AGAIN) from error
    if model.digest.hex() != digest:
        raise ModelFileError(f"calls itself {digest}, but its content is {model.digest.hex()}.", AGAIN)
    return model


def _members(data: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
    """model.json, and the raw arrays by name."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(member.file_size for member in archive.infolist()) > MAX_BYTES:
                raise ModelFileError("unpacks to more than any model can hold.", AGAIN)
            contents = {name: archive.read(name) for name in archive.namelist()}
        about = json.loads(contents.pop(ABOUT))
    except KeyError as error:
        raise ModelFileError(
            "is a zip file but not a model file.", "Name a file that kilobench train wrote."
        ) from error
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, OSError, ValueError) as error:
        # zipfile reports damage by all of these, depending on which byte is hit
        raise ModelFileError("is truncated, damaged or not a model file.", AGAIN) from error
    if not isinstance(about, dict):
        raise ModelFileError("is not a model file.", "Name a file that kilobench train wrote.")
    return about, contents


def _npy(array: Array) -> bytes:
    buffer = io.BytesIO()
    little = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"))).reshape(array.shape)
    npy.write_array(buffer, little, version=(1, 0), allow_pickle=False)
    return buffer.getvalue()


def _array(contents: Mapping[str, bytes], name: str) -> Array:
    """One array, its header checked against the bytes there are before anything is allocated."""
    file = io.BytesIO(contents[name])
    if npy.read_magic(file) != (1, 0):
        raise ModelFileError(f"holds {name} in another version of the .npy format.", AGAIN)
    shape, fortran_order, dtype = npy.read_array_header_1_0(file)
    if dtype.kind not in "iuf" or fortran_order:
        raise ModelFileError(f"holds {name} as {dtype}, where plain numbers belong.", AGAIN)
    values = file.read()
    if int(np.prod(shape, dtype=object)) * dtype.itemsize != len(values):
        raise ModelFileError(f"holds {name} cut short.", AGAIN)
    return np.frombuffer(values, dtype=dtype).reshape(shape)


def _checksum(about: Mapping[str, Any], arrays: Mapping[str, bytes]) -> str:
    """Over everything else in the file: the zip's own CRCs do not notice a member that was exchanged."""
    h = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    for name in sorted(arrays):
        h.update(name.encode())
        h.update(hashlib.sha256(arrays[name]).digest())
    return h.hexdigest()


def _plain(value: Any) -> Any:
    """`info` as JSON can hold it. What is not data is kept as text; numbers that JSON lacks become null."""
    if isinstance(value, np.generic | np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)
