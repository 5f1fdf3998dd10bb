"""Matrices as AVR code: the words, the way back, and what is refused."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.checks import check_device_model
from models.errors import InputError
from models.layouts import choices, fastest
from models.straightline import ICALL, RET, Code8
from tests.models.device_models import integers, make


@settings(max_examples=40, deadline=None)
@given(
    rows=st.integers(1, 6),
    columns=st.integers(1, 400),
    density=st.sampled_from([0.0, 0.01, 0.2, 1.0]),
    seed=st.integers(0, 2**32 - 1),
)
def test_there_and_back(rows: int, columns: int, density: float, seed: int) -> None:
    matrix = integers(np.random.default_rng(seed), (rows, columns), density)
    arrays = Code8.encode(matrix)
    assert arrays["_code"].nbytes == Code8.size(matrix)
    assert (Code8.decode(arrays, columns) == matrix).all()


@pytest.mark.skipif(shutil.which("avr-objdump") is None, reason="needs avr-objdump")
@pytest.mark.parametrize(("first", "sum_bytes"), [(1, 2), (2, 3)])
def test_the_words_are_the_instructions_they_are_meant_to_be(
    tmp_path: Path, first: int, sum_bytes: int
) -> None:
    """Magnitudes of 255 in a row are the most that 16 bits hold the sum of."""
    matrix = np.zeros((2, 130), dtype=np.int64)
    matrix[0, [0, 63, 129]] = first, -127, 127
    image = tmp_path / "code.bin"
    image.write_bytes(Code8.encode(matrix)["_code"].tobytes())
    command = ["avr-objdump", "-D", "-b", "binary", "-m", "avr5", str(image)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [line.split("\t")[2:] for line in done.stdout.splitlines() if line.count("\t") >= 2]
    said = [" ".join(part.strip() for part in line).split(";")[0].strip() for line in lines]
    rest = ["muls r22, r23", "sbc r21, r21", "add r18, r0", "adc r19, r1", "adc r20, r21"]
    if sum_bytes == 2:
        rest = [rest[0], *rest[2:4]]
    assert said == [
        *("ld r22, Y", f"ldi r23, 0x0{first}", *rest),
        *("ldd r22, Y+63", "ldi r23, 0x81", *rest),
        *("adiw r28, 0x3f", "adiw r28, 0x3f"),
        *("ldd r22, Y+3", "ldi r23, 0x7F", *rest),
        "icall",
        "icall",
        "ret",
    ]


def test_rows_beyond_24_bits_are_refused() -> None:
    matrix = np.full((1, 600), 127)
    assert not Code8.suits(matrix)
    with pytest.raises(InputError, match="24 bits"):
        Code8.encode(matrix)


@pytest.mark.parametrize("spoil", ["end", "column", "word", "type"])
def test_foreign_code_is_refused(spoil: str) -> None:
    code = Code8.encode(np.array([[3, 0, 5]]))["_code"].copy()
    columns = 3
    if spoil == "end":
        code[-1] = ICALL
    elif spoil == "column":
        columns = 2
    elif spoil == "word":
        code[2] ^= 1
    else:
        code = code.astype(np.int16)
    assert RET != ICALL
    with pytest.raises(InputError):
        Code8.decode({"_code": code}, columns)


@pytest.mark.parametrize("family", ["linear", "protonn"])
def test_every_variant_is_the_same_model(family: str) -> None:
    model = make(family, "int8", features=200, classes=4, density=0.1)
    rng = np.random.default_rng(0)
    samples = rng.integers(-140, 140, size=(10, 200))
    variants = model.variants(streaming=False)
    assert len({variant.digest for variant in variants}) == 3
    for variant in variants:
        check_device_model(variant, samples)
        assert (variant.scores(variant.encode(samples)) == model.scores(model.encode(samples))).all()


def test_the_fastest_that_fits() -> None:
    model = make("protonn", "int8", features=200, classes=4, density=0.1)
    small, *_, large = choices(model, streaming=False)
    assert small.model.digest == model.digest
    assert fastest(model, large.flash_bytes, streaming=False).flash_bytes == large.flash_bytes
    assert fastest(model, small.flash_bytes, streaming=False).digest == model.digest
    assert fastest(model, 0, streaming=False) is model
