from __future__ import annotations

import dataclasses
import re
import subprocess
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from models import hostc
from models.errors import InputError, UnknownName
from models.export import _number, _string, c_files, kernel_file, kernels_folder
from models.families import FAMILIES, device_class
from models.linear_device import LinearFloat, LinearInt8
from tests.models.device_models import FLOAT, INT8, KINDS, make


def macros(text: str) -> dict[str, str]:
    return dict(re.findall(r"^#define (\w+) (.+)$", text, re.MULTILINE))


def test_model_h_says_what_the_firmware_needs() -> None:
    model = make("protonn", "int8", features=20, classes=3, rows=4, prototypes=5, density=0.2)
    found = macros(c_files(model)["model.h"])
    assert found["MODEL_NUMBERS"] == "MODEL_INT8"
    assert (found["MODEL_INT8"], found["MODEL_INT16"], found["MODEL_FLOAT32"]) == ("1", "2", "3")
    assert found["MODEL_FAMILY_PROTONN"] == "1"
    assert (found["MODEL_FEATURES"], found["MODEL_CLASSES"], found["MODEL_SCORES"]) == ("20u", "3u", "3u")
    assert found["MODEL_NAME"] == '"protonn"'
    assert bytes(int(byte, 16) for byte in re.findall(r"0x(..)", found["MODEL_HASH"])) == model.digest
    assert (found["MODEL_W_ROWS"], found["MODEL_PROTOTYPES"], found["MODEL_W_ROWS8"]) == ("4u", "5u", "1u")
    assert found["MODEL_EXP_SHIFT"] == "5u"
    assert "static" not in c_files(model)["model.h"]


def test_generated_files_name_their_origin() -> None:
    model = dataclasses.replace(
        make("linear", "int8"), info={"dataset": "digits", "seed": 3}, name="tiny */ model"
    )
    for text in c_files(model).values():
        assert "From dataset digits, seed 3." in " ".join(text.replace("\n * ", " ").split())
        assert model.digest.hex() in text
        assert "tiny * / model" in text
        assert max(map(len, text.splitlines())) <= 104


def test_arrays_are_written_whole_and_in_order() -> None:
    W = np.arange(-60, 60).reshape(3, 40)
    text = c_files(LinearInt8.from_integers(W, [1, -(2**30), 2**30], INT8, range(3)))["model_data.h"]
    body = re.search(r"static const int8_t model_w\[120\] FLASH = \{(.*?)\};", text, re.DOTALL)
    assert body is not None
    assert [int(number) for number in body[1].replace(",", " ").split()] == W.ravel().tolist()
    assert "static const int32_t model_bias[3] FLASH = {\n    1, -1073741824, 1073741824,\n};" in text


def test_floats_keep_every_bit() -> None:
    values = np.array([1.0, -0.1, 1e-40, 3.4e38, 0.0, 1 / 3], dtype=np.float32)
    written = [_number(value) for value in values]
    assert written[0] == "0x1p+0f" and written[4] == "0x0p+0f"
    assert [float.fromhex(text.removesuffix("f")) for text in written] == values.astype(float).tolist()


def test_strings_are_safe_in_c() -> None:
    assert _string('a"b\\c') == '"a\\042b\\134c"'
    assert _string("é1\n") == '"\\303\\2511\\012"'
    assert _string("??/") == '"\\077\\077/"'


def test_numbers_at_the_edge_of_an_int() -> None:
    assert _number(-(2**31)) == "(-2147483647 - 1)"
    assert _number(np.int8(-5), suffix="") == "-5"


@pytest.mark.skipif(not hostc.available(), reason="needs gcc")
@pytest.mark.parametrize(("family", "numbers"), KINDS)
def test_the_headers_compile_alone_without_a_warning(tmp_path: Path, family: str, numbers: str) -> None:
    model = dataclasses.replace(make(family, numbers, density=0.3), name='ö"\\ /* name')
    for name, text in c_files(model).items():
        (tmp_path / name).write_text(text, encoding="utf8")
    source = tmp_path / "use.c"
    source.write_text(
        '#include "model.h"\n#include <stdio.h>\nint main(void) { return puts(MODEL_NAME) < 0; }\n',
        encoding="utf8",
    )
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-Wpedantic", "-Wno-unused-const-variable"]
    program = str(tmp_path / "use")
    folders = [f"-I{tmp_path}", f"-I{kernels_folder()}"]
    done = subprocess.run(
        [
            "gcc",
            *flags,
            *folders,
            str(source),
            "-include",
            "model_data.h",
            "-Wno-unused-variable",
            "-o",
            program,
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert subprocess.run([program], capture_output=True, check=True).stdout.decode() == 'ö"\\ /* name\n'


class Strange(LinearInt8):
    family: ClassVar[str] = "lineal"


def test_a_family_without_a_kernel_is_refused() -> None:
    model = make("linear", "int8")
    strange = Strange(**{field.name: getattr(model, field.name) for field in dataclasses.fields(model)})
    with pytest.raises(UnknownName, match=r"no kernel named 'lineal int8'\. Did you mean 'linear int8'"):
        c_files(strange)


def test_every_family_has_its_class() -> None:
    for family, numbers in FAMILIES:
        assert device_class(family, numbers).family == family
    assert all(kernel_file(*kind).is_file() for kind in KINDS)


def test_a_class_without_a_kernel_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("models.export.kernels_folder", lambda: tmp_path)
    with pytest.raises(InputError, match="no kernel for linear in int8 yet"):
        c_files(make("linear", "int8"))


def test_arrays_that_c_does_not_know_are_refused() -> None:
    model = LinearFloat.from_floats([[1.0]], [0.0], FLOAT, range(2))
    odd = dataclasses.replace(model, arrays={**model.arrays, "extra": np.zeros(3)})
    with pytest.raises(InputError, match=r"The array 'extra' \(float64"):
        c_files(odd)
