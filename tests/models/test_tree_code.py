"""Trees as AVR code: the words, the way back, their cycles, and what is refused."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models import tree_code
from models.errors import InputError
from models.layouts import choices, fastest
from models.tree_code import CodeFormat
from models.tree_nodes import Tree, merged
from models.trees_device import Trees
from tests.models.test_trees import SCALES, random_tree

VOTES = CodeFormat(1, 0, 4, 0, 64)
STUMP = Tree(*np.array([[70, 5, 1, 2, 0], [-1, 0, 0, 0, 0], [-1, 0, 0, 0, 3]]).T)


def disassembled(code: np.ndarray, folder: Path) -> list[str]:
    image = folder / "code.bin"
    image.write_bytes(code.tobytes())
    command = ["avr-objdump", "-D", "-b", "binary", "-m", "avr5", str(image)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [line.split("\t")[2:] for line in done.stdout.splitlines() if line.count("\t") >= 2]
    return [" ".join(part.strip() for part in line).split(";")[0].strip() for line in lines]


@given(
    leaves=st.integers(1, 120),
    features=st.sampled_from([1, 9, 64, 300]),
    shape=st.sampled_from([(1, 0), (2, 0), (1, 2), (2, 2), (1, 4), (2, 4)]),
    trees=st.integers(1, 4),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=60, deadline=None)
def test_there_and_back(*, leaves: int, features: int, shape: tuple[int, int], trees: int, seed: int) -> None:
    feature_bytes, sum_bytes = shape
    rng = np.random.default_rng(seed)
    least, most = -(128**feature_bytes), 128**feature_bytes - 1
    grown = [merged(random_tree(rng, leaves, features, 4, span=most), least, most) for _ in range(trees)]
    windows = tree_code.windows(grown, features, feature_bytes)
    form = CodeFormat(feature_bytes, sum_bytes, 4, *windows)
    again = tree_code.decode(tree_code.encode(grown, form), form)
    x = rng.integers(least, most, size=(100, features), endpoint=True)
    for coded, tree in zip(again, grown, strict=True):
        assert np.array_equal(coded.tree.apply(x), tree.apply(x))


@pytest.mark.skipif(shutil.which("avr-objdump") is None, reason="needs avr-objdump")
@pytest.mark.parametrize(
    ("form", "test"),
    [
        (VOTES, ["ldd r24, Z+6", "cpi r24, 0x06"]),
        (CodeFormat(1, 0, 4, 20, 64), ["ldd r24, Y+50", "cpi r24, 0x06"]),
        (
            CodeFormat(2, 0, 4, 10, 0),
            [
                *("movw r26, r28", "subi r26, 0x7E", "sbci r27, 0xFF", "ld r24, X+", "ld r25, X"),
                *("subi r24, 0x06", "sbci r25, 0x00"),
            ],
        ),
    ],
    ids=["Z", "Y", "X"],
)
def test_the_words_are_the_instructions_they_are_meant_to_be(
    tmp_path: Path, form: CodeFormat, test: list[str]
) -> None:
    said = disassembled(tree_code.encode([STUMP], form), tmp_path)
    assert said == [*test, "brge .+4", "inc r20", "rjmp .+2", "inc r23", "ret"]


@pytest.mark.skipif(shutil.which("avr-objdump") is None, reason="needs avr-objdump")
def test_values_are_added_to_the_registers_of_their_score(tmp_path: Path) -> None:
    tree = Tree(*np.array([[0, 255, 1, 2, 0], [-1, 0, 0, 0, -2], [-1, 0, 0, 0, 300]]).T)
    said = disassembled(tree_code.encode([tree], CodeFormat(2, 4, 1, 0, 0)), tmp_path)
    assert said == [
        *("ldd r25, Y+1", "cpi r25, 0x01", "brge .+6"),  # 256 is compared by its high byte
        *("ldi r24, 0xFE", "ldi r25, 0xFF", "rjmp .+4"),
        *("ldi r24, 0x2C", "ldi r25, 0x01"),
        *("mov r22, r25", "add r22, r22", "sbc r22, r22"),
        *("add r18, r24", "adc r19, r25", "adc r20, r22", "adc r21, r22"),
        "ret",
    ]


@pytest.mark.parametrize("spoil", ["end", "register", "branch", "jump", "type", "short"])
def test_foreign_code_is_refused(spoil: str) -> None:
    code = tree_code.encode([STUMP], VOTES).copy()
    if spoil == "end":
        code[-1] = tree_code.RJMP
    elif spoil == "register":
        code[1] ^= 0x10
    elif spoil == "branch":
        code[2] ^= 0x0200
    elif spoil == "jump":
        code[4] ^= 0x0FFF
    elif spoil == "short":
        code = code[-1:]
    else:
        code = code.astype(np.int16)
    with pytest.raises(InputError):
        tree_code.decode(code, VOTES)


def test_trees_beyond_registers_and_jumps_have_no_code() -> None:
    rng = np.random.default_rng(0)
    assert not tree_code.suits([random_tree(rng, 1200, 10, 2)], VOTES)
    assert not tree_code.suits([STUMP], CodeFormat(1, 0, 23, 0, 0))
    assert not tree_code.suits([STUMP], CodeFormat(1, 4, 6, 0, 0))
    assert not tree_code.suits([STUMP] * 256, VOTES)
    assert tree_code.suits([STUMP] * 255, CodeFormat(1, 0, 22, 0, 0))


def test_windows_cover_what_is_asked_for_most() -> None:
    busy = [300, 301, 340, 700, 701]
    trees = [Tree(*np.array([[i, 5, 1, 2, 0], [-1, 0, 0, 0, 0], [-1, 0, 0, 0, 3]]).T) for i in (*busy, 10)]
    y, z = tree_code.windows(trees, 900, 1)
    assert y <= 300 and y + tree_code.REACH > 340
    assert z <= 700 and z + tree_code.REACH > 701


def test_code_is_the_faster_and_the_larger_layout() -> None:
    rng = np.random.default_rng(0)
    grown = [random_tree(rng, 30, 40, 5) for _ in range(6)]
    model = Trees.from_trees(grown, SCALES["int8"], range(5), n_features=40)
    table, code = choices(model, streaming=False)
    assert table.model.digest == model.digest
    assert code.flash_bytes > table.flash_bytes
    assert code.cycles < table.cycles / 2
    assert "code" in fastest(model, code.flash_bytes, streaming=False).arrays
    assert [choice.what for choice in choices(code.model, streaming=False)] == [table.what, code.what]
    assert len(choices(model, streaming=True)) == 1
