from __future__ import annotations

import io
import json
import os
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models import modelfile
from models.errors import InputError, ModelFileError
from models.inputs import InputScale
from models.linear_device import LinearInt8
from tests.models.device_models import KINDS, make

DATA = modelfile.to_bytes(make("protonn", "int8", density=0.2))


@pytest.mark.parametrize("density", [1.0, 0.1])
@pytest.mark.parametrize(("family", "numbers"), KINDS)
def test_a_model_comes_back_as_it_was(tmp_path: Path, family: str, numbers: str, density: float) -> None:
    model = make(family, numbers, density=density)
    modelfile.save(model, tmp_path / "m.kb")
    again = modelfile.load(tmp_path / "m.kb")
    assert type(again) is type(model)
    assert again.digest == model.digest
    assert again.constants == model.constants
    assert {k: (v.dtype, v.tolist()) for k, v in again.arrays.items()} == {
        k: (v.dtype, v.tolist()) for k, v in model.arrays.items()
    }
    assert list(tmp_path.iterdir()) == [tmp_path / "m.kb"]


def test_everything_about_it_comes_back(tmp_path: Path) -> None:
    scale = InputScale(np.array([1.0, 2.5]), np.array([0.1, 1 / 3]), "int8", 100)
    info = {"seed": np.int64(3), "params": {"gamma": np.float64(0.1), 1: (2, None)}, "bad": float("nan")}
    info["where"] = Path("x")
    model = LinearInt8.from_integers(
        [[1, 2]], [3], scale, ("nein", "ja"), name="Größe", info=info, paper_bytes=77
    )
    modelfile.save(model, tmp_path / "m")
    again = modelfile.load(tmp_path / "m")
    assert (again.name, again.classes, again.paper_bytes) == ("Größe", ("nein", "ja"), 77)
    assert again.info == {
        "seed": 3,
        "params": {"gamma": 0.1, "1": [2, None]},
        "bad": None,
        "where": "x",
    }
    assert again.inputs.limit == 100
    assert again.inputs.offset.tolist() == [1.0, 2.5] and again.inputs.step.tolist() == [0.1, 1 / 3]


def test_equal_models_are_equal_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    assert modelfile.to_bytes(make("protonn", "int8", density=0.2)) == DATA


def altered(change: Callable[[dict[str, Any], dict[str, bytes]], object], *, seal: bool = True) -> bytes:
    """The file with something changed inside; sealed means that its checksum is made to fit."""
    with zipfile.ZipFile(io.BytesIO(DATA)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    about = json.loads(members.pop("model.json"))
    change(about, members)
    if seal:
        about.pop("checksum", None)
        about["checksum"] = modelfile._checksum(about, members)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("model.json", json.dumps(about))
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def npy(array: Any, **options: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, **options)
    return buffer.getvalue()


class Trap:
    """Would run code if it were unpickled."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.system, ("touch trapped",)


def huge_header() -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        buffer, {"descr": "|i1", "fortran_order": False, "shape": (2**40, 2**30)}
    )
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "truncated, damaged or not a model file"),
        (b"hello world", "truncated, damaged or not a model file"),
        (pickle.dumps({"a": 1}), "truncated, damaged or not a model file"),
        (DATA[:-30], "truncated, damaged or not a model file"),
        (DATA[: len(DATA) // 2], "truncated, damaged or not a model file"),
        (altered(lambda about, _: about.update(format="other")), "is not a model file"),
        (
            altered(lambda about, _: about.update(version=2)),
            "format version 2, and this program reads version 1",
        ),
        (altered(lambda about, _: about.update(name="x"), seal=False), "does not match its own checksum"),
        (altered(lambda about, _: about.update(family="bonzai")), "no kernel named 'bonzai int8'"),
        (altered(lambda about, _: about.pop("classes")), "lacks 'classes'"),
        (altered(lambda about, _: about.update(classes=3)), "something unexpected"),
        (altered(lambda about, _: about.update(constants={"z_shift": 4})), "exp_shift is None"),
        (altered(lambda about, _: about.update(digest="00" * 8)), "calls itself 0000000000000000"),
        (altered(lambda _, m: m.pop("arrays/b.npy")), "needs the array 'b'"),
        (altered(lambda _, m: m.pop("arrays/w_counts.npy")), "hold no matrix 'w'"),
        (altered(lambda _, m: m.pop("inputs/step.npy")), "lacks 'inputs/step.npy'"),
        (
            altered(lambda _, m: m.update({"arrays/b.npy": npy([Trap()], allow_pickle=True)})),
            "plain numbers belong",
        ),
        (altered(lambda _, m: m.update({"arrays/b.npy": huge_header()})), "arrays/b.npy cut short"),
        (altered(lambda _, m: m.update({"arrays/b.npy": b"\x93NUMPY"})), "something unexpected"),
        (altered(lambda _, m: m.update({"arrays/b.npy": npy(np.zeros((5, 3), np.int8))})), "4 dimensions"),
        (
            altered(lambda _, m: m.update({"arrays/z.npy": npy(np.full((3, 5), -128, np.int8))})),
            "Z holds -128",
        ),
    ],
)
def test_refuses_files_by_what_is_wrong_with_them(tmp_path: Path, data: bytes, words: str) -> None:
    path = tmp_path / "m.kb"
    path.write_bytes(data)
    with pytest.raises(ModelFileError) as error:
        modelfile.load(path)
    assert words in str(error.value)
    assert str(error.value).startswith(f"{path} ")
    assert error.value.remedy
    assert not Path("trapped").exists()


def test_other_zips_are_not_models(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(ModelFileError, match="a zip file but not a model file"):
        modelfile.load(tmp_path / "a.zip")


def test_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"m\.kb cannot be read: No such file"):
        modelfile.load(tmp_path / "m.kb")
    with pytest.raises(ModelFileError, match="Is a directory"):
        modelfile.load(tmp_path)
    with pytest.raises(InputError, match=r"cannot be written to .*: No such file"):
        modelfile.save(make("linear", "int8"), tmp_path / "nowhere" / "m.kb")


def test_a_failed_write_leaves_the_old_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.kb"
    modelfile.save(make("linear", "int8"), path)
    before = path.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="No space left"):
        modelfile.save(make("linear", "int8", seed=1), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@settings(max_examples=300, deadline=None)
@given(at=st.integers(0, len(DATA) - 1), value=st.integers(0, 255))
def test_no_damaged_byte_goes_unnoticed_or_crashes(at: int, value: int) -> None:
    damaged = bytearray(DATA)
    damaged[at] = value
    try:
        model = modelfile.from_bytes(bytes(damaged))
    except ModelFileError:
        return
    assert modelfile.to_bytes(model) == DATA  # a byte that carries nothing: a date, a version, or itself
