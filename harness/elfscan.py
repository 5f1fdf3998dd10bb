"""Reads AVR ELF files: the symbol at an address, and an instruction pattern that simavr executes wrongly.

simavr up to 1.6 decides with the mask 0xfc0f whether a skipped instruction has two words, so bit 9 is not
looked at, and ADIW and SBIW (1001 011x KKdd KKKK) with a low nibble of c to f pass for JMP and CALL
(1001 010k kkkk 11xk). A skip over one of them then swallows the word that follows as well. Nothing else is
mistaken.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile

from harness.errors import SimulatorError

_FLASH_END = 0x800000
"""Where the linker puts RAM, EEPROM and fuses in its flat address space."""


@dataclass(frozen=True)
class Symbol:
    name: str
    address: int
    size: int
    kind: str
    """STT_FUNC, STT_OBJECT or STT_NOTYPE."""


@dataclass(frozen=True)
class Hit:
    """A skip directly before an ADIW or SBIW that simavr takes for a two-word instruction."""

    address: int
    """Of the skip, in bytes."""
    place: str
    """The symbol it lies in, with the distance."""
    skip: str
    victim: str


@dataclass(frozen=True)
class Image:
    """What of an ELF file lies in flash."""

    chunks: tuple[tuple[int, bytes], ...]
    """Executable sections: address and content."""
    symbols: tuple[Symbol, ...]
    """Sorted by address."""


def read(path: Path) -> Image:
    try:
        with path.open("rb") as file:
            elf = ELFFile(file)
            if elf["e_machine"] != "EM_AVR":
                raise SimulatorError(
                    f"{path} was not built for AVR.", "Give an image that avr-gcc has linked."
                )
            return Image(
                tuple(_executable(elf)), tuple(sorted(_symbols(elf), key=lambda symbol: symbol.address))
            )
    except (OSError, ELFError) as error:
        raise SimulatorError(
            f"{path} is no ELF file ({error}).", "Give an image that avr-gcc has linked."
        ) from error


def symbol_at(path: Path, address: int) -> str:
    """The symbol an address lies in, with the distance: `main+0x12`."""
    return _place(read(path), address)


def scan(path: Path) -> list[Hit]:
    """Every place in the image's code that simavr up to 1.6 executes wrongly."""
    image = read(path)
    return [hit for address, data in image.chunks for hit in _hits(image, address, data)]


def _hits(image: Image, start: int, data: bytes) -> Iterator[Hit]:
    words = struct.unpack(f"<{len(data) // 2}H", data[: len(data) // 2 * 2])
    suspects = [at for at in range(len(words) - 1) if is_mistaken(words[at + 1]) and skip_name(words[at])]
    if not suspects:  # nearly always, and what follows looks at every word
        return
    real = set(_instructions(image, start, words))
    for at in suspects:
        address = start + 2 * at
        if address in real:
            victim = "sbiw" if words[at + 1] & 0x0100 else "adiw"
            yield Hit(address, _place(image, address), skip_name(words[at]), victim)


def skip_name(word: int) -> str:
    """The skip instruction this is, or nothing."""
    if word & 0xFC00 == 0x1000:
        return "cpse"
    return {0xFC00: "sbrc", 0xFE00: "sbrs"}.get(word & 0xFE08, "") or {0x9900: "sbic", 0x9B00: "sbis"}.get(
        word & 0xFF00, ""
    )


def is_mistaken(word: int) -> bool:
    """Whether simavr up to 1.6 takes this ADIW or SBIW for a two-word instruction."""
    return word & 0xFE0C == 0x960C


def is_two_words(word: int) -> bool:
    """LDS, STS, JMP and CALL."""
    return word & 0xFC0F == 0x9000 or word & 0xFE0C == 0x940C


def _instructions(image: Image, start: int, words: Sequence[int]) -> Iterator[int]:
    """The address of every instruction, decoding anew at each symbol, and never inside tables."""
    tables = _tables(image)
    functions = [(s.address, s.address + s.size) for s in image.symbols if s.kind == "STT_FUNC" and s.size]
    labels = {symbol.address for symbol in image.symbols}
    second_word = -1
    for at, word in enumerate(words):
        address = start + 2 * at
        if address == second_word and address not in labels:
            continue
        if _inside(tables, address) and not _inside(functions, address):
            continue
        if is_two_words(word):
            second_word = address + 2
        yield address


def _tables(image: Image) -> list[tuple[int, int]]:
    """Ranges of flash that hold data: objects with a size, and what the linker script collects from .progmem.

    The latter has compilers' jump tables in it, which have no symbols. avr-libc's script places them between
    the vectors and the trampolines, and other tables between the trampolines and the constructors.
    """
    named = {symbol.name: symbol.address for symbol in image.symbols}
    ranges = [(s.address, s.address + s.size) for s in image.symbols if s.kind == "STT_OBJECT" and s.size]
    if "__trampolines_end" in named and "__ctors_start" in named:
        ranges.append((named["__trampolines_end"], named["__ctors_start"]))
    if "__trampolines_start" in named and "__vectors" in named:
        vectors_end = _vectors_end(image, named["__vectors"])
        ranges.append((vectors_end, named["__trampolines_start"]))
    return ranges


def _vectors_end(image: Image, start: int) -> int:
    """The vector table is a run of JMP or RJMP; what is none is already a table."""
    address = start
    for base, data in image.chunks:
        while base <= address and address + 2 <= base + len(data):
            word = int.from_bytes(data[address - base : address - base + 2], "little")
            if word & 0xFE0E == 0x940C:
                address += 4
            elif word & 0xF000 == 0xC000:
                address += 2
            else:
                return address
    return address


def _inside(ranges: list[tuple[int, int]], address: int) -> bool:
    return any(start <= address < end for start, end in ranges)


def _place(image: Image, address: int) -> str:
    known = [symbol for symbol in image.symbols if symbol.name]
    at = bisect_right([symbol.address for symbol in known], address)
    if not at:
        return "no symbol"
    nearest = known[at - 1].address
    candidates = [symbol for symbol in known if symbol.address == nearest]
    best = max(candidates, key=lambda symbol: (symbol.kind == "STT_FUNC", symbol.size))
    offset = address - nearest
    return f"{best.name}+{offset:#x}" if offset else best.name


def _executable(elf: ELFFile) -> Iterator[tuple[int, bytes]]:
    for section in elf.iter_sections():
        runs = section["sh_flags"] & SH_FLAGS.SHF_EXECINSTR and section["sh_type"] == "SHT_PROGBITS"
        if runs and section["sh_addr"] < _FLASH_END:
            yield section["sh_addr"], section.data()


def _symbols(elf: ELFFile) -> Iterator[Symbol]:
    table: Any = elf.get_section_by_name(".symtab")
    if table is None:
        return
    for symbol in table.iter_symbols():
        kind = symbol["st_info"]["type"]
        in_section = isinstance(symbol["st_shndx"], int)
        if (
            in_section
            and symbol["st_value"] < _FLASH_END
            and kind in ("STT_FUNC", "STT_OBJECT", "STT_NOTYPE")
        ):
            yield Symbol(symbol.name, symbol["st_value"], symbol["st_size"], kind)
