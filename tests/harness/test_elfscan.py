"""The instruction pattern that simavr 1.6 gets wrong: found where it is, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import elfscan
from harness.errors import SimulatorError
from harness.targets import runner_build
from harness.targets.simavr import SimavrTarget
from tests.harness.avrboards import UNO, build, needs_simulator, program

pytestmark = needs_simulator


def mistaken_by_mask(word: int) -> bool:
    """simavr's own test for two words, and the one of the instruction set."""
    two_words = {0x9200, 0x9000, 0x940C, 0x940D, 0x940E, 0x940F}
    return (word & 0xFC0F in two_words) and word & 0xFE0F not in two_words


def test_the_pattern_is_exactly_what_the_wrong_mask_mistakes() -> None:
    words = range(0x10000)
    assert [word for word in words if elfscan.is_mistaken(word)] == [w for w in words if mistaken_by_mask(w)]
    assert sum(map(elfscan.is_mistaken, words)) == 2 * 256 // 4


@pytest.mark.parametrize(
    ("word", "name"),
    [
        (0x1001, "cpse"),
        (0x13FF, "cpse"),
        (0x1400, ""),  # cp
        (0x0FFF, ""),  # add
        (0xFC00, "sbrc"),
        (0xFDF7, "sbrc"),
        (0xFE07, "sbrs"),
        (0xFE08, ""),  # reserved
        (0xFB07, ""),  # bst
        (0x99F0, "sbic"),
        (0x9BF7, "sbis"),
        (0x98F0, ""),  # cbi
        (0x9AF0, ""),  # sbi
    ],
)
def test_skips_are_told_from_their_neighbours(word: int, name: str) -> None:
    assert elfscan.skip_name(word) == name


def test_code_is_scanned_and_tables_are_not() -> None:
    hits = elfscan.scan(build("skips.S"))
    assert [(hit.place, hit.skip, hit.victim) for hit in hits] == [
        ("wrong+0x2", "sbrc", "adiw"),
        ("wrong+0x6", "sbrs", "sbiw"),
        ("wrong+0xa", "cpse", "adiw"),
        ("wrong+0xe", "sbic", "sbiw"),
        ("wrong+0x12", "sbis", "adiw"),
        ("untyped", "sbrs", "adiw"),
    ]


@pytest.mark.parametrize(("divisor", "hits"), [(16, 1), (32, 1), (64, 1), (8, 0)])
def test_what_gcc_makes_of_signed_division(divisor: int, hits: int) -> None:
    found = elfscan.scan(build("division.c", f"DIVISOR={divisor}"))
    assert len(found) == hits
    assert all(hit.place.startswith("divided") for hit in found)


def test_a_mistaken_image_is_refused_by_address_and_symbol() -> None:
    if runner_build.skips_correctly(program()):
        pytest.skip("the installed simavr executes the pattern correctly")
    elf = build("division.c", "DIVISOR=16")
    (hit,) = elfscan.scan(elf)
    target = SimavrTarget(UNO, elf)
    with pytest.raises(SimulatorError) as caught:
        target.open()
    assert f"{hit.address:#06x} ({hit.place})" in caught.value.problem
    assert "use a shift" in caught.value.remedy
    target.close()


def test_a_simavr_that_proves_to_be_right_may_run_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner_build, "skips_correctly", lambda _: True)
    with SimavrTarget(UNO, build("division.c", "DIVISOR=16")) as target:
        assert target.open().is_open


def test_symbols_are_named_with_the_distance() -> None:
    elf = build("skips.S")
    wrong = next(symbol for symbol in elfscan.read(elf).symbols if symbol.name == "wrong")
    assert elfscan.symbol_at(elf, wrong.address) == "wrong"
    assert elfscan.symbol_at(elf, wrong.address + 4) == "wrong+0x4"


def test_what_is_no_avr_image_is_an_error(tmp_path: Path) -> None:
    text = tmp_path / "text.elf"
    text.write_text("no ELF")
    for path in (text, tmp_path / "missing.elf", Path("/bin/true")):
        with pytest.raises(SimulatorError, match=path.name):
            elfscan.scan(path)
