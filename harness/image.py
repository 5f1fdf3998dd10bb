"""What a linked firmware takes of the chip, read from its ELF file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import Symbol, SymbolTableSection

from harness.errors import BuildError

FLASH_SECTIONS = (".text", ".data")
"""`.data` too: its initial values are kept in flash."""
RAM_SECTIONS = (".data", ".bss", ".noinit")
MODEL_PREFIX = "model_"


@dataclass(frozen=True)
class Image:
    """Sizes in bytes."""

    flash: int
    ram: int
    model: int
    """Flash of the model's arrays, without the constants that are compiled into instructions."""
    model_end: int
    """The flash address behind the last of them."""


def read(path: Path) -> Image:
    """BuildError if it is no ELF file."""
    with _opened(path) as elf:
        return _measure(elf)


def variables(path: Path) -> dict[str, int]:
    """Bytes of every named object, in RAM or flash; BuildError if it is no ELF file."""
    with _opened(path) as elf:
        return {symbol.name: int(symbol["st_size"]) for symbol in _objects(elf)}


@contextmanager
def _opened(path: Path) -> Iterator[ELFFile]:
    try:
        with path.open("rb") as file:
            yield ELFFile(file)
    except (OSError, ELFError) as error:
        raise BuildError(f"{path} is no firmware image: {error}.", "Build it again.") from error


def _objects(elf: ELFFile) -> list[Symbol]:
    return [
        symbol
        for table in elf.iter_sections()
        if isinstance(table, SymbolTableSection)
        for symbol in table.iter_symbols()
        if symbol["st_info"]["type"] == "STT_OBJECT"
    ]


def _measure(elf: ELFFile) -> Image:
    sizes = {section.name: int(section["sh_size"]) for section in elf.iter_sections()}
    arrays = [symbol for symbol in _objects(elf) if symbol.name.startswith(MODEL_PREFIX)]
    return Image(
        flash=sum(sizes.get(name, 0) for name in FLASH_SECTIONS),
        ram=sum(sizes.get(name, 0) for name in RAM_SECTIONS),
        model=sum(int(symbol["st_size"]) for symbol in arrays),
        model_end=max((int(symbol["st_value"]) + int(symbol["st_size"]) for symbol in arrays), default=0),
    )
