"""Firmware from a model: PlatformIO builds it once, and a cache by content keeps it.

The key of the cache is everything that decides the image: the model as C, every source of the firmware, the
board, the compiler and PlatformIO. So a change anywhere builds anew, and nothing else does.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from harness import image, paths, toolchain
from harness.boards import Board
from harness.errors import BuildError, DoesNotFit, SetupError
from models.device import CONSTANT_BYTES, WIRE_TYPES, DeviceModel

STACK_RESERVE = 128
"""RAM that an AVR's firmware leaves to its stack: the deepest kernel takes 53 bytes, an interrupt 22 more."""
WIDE_STACK_RESERVE = 512
"""The same of 32-bit chips, whose registers are wider and more. Float models on RISC-V take 220 bytes."""
CODE_RESERVE = 4_096
"""Flash to leave to the code when a model may be as large as it likes."""
AVR_ARRAY, AVR_FLASH = 32_767, 65_536
"""The largest array of avr-gcc, with its signed 16-bit sizes, and what the kernels' pointers reach."""
SOURCES = ("src", "lib", "platform")
SHOWN_ERRORS = 3
WORKSPACE = "building-"
_ERROR = re.compile(r"error|undefined reference|multiple definition|overflowed|will not fit", re.IGNORECASE)


@dataclass(frozen=True)
class Firmware:
    """A built image and what it takes of its board."""

    board: Board
    elf: Path
    hex: Path
    flash_total: int
    flash_model: int
    ram_static: int
    compiler: str
    flags: str
    streaming: bool
    cached: bool


def build(model: DeviceModel, board: Board, *, streaming: bool | None = None) -> Firmware:
    """The model's firmware for a board. DoesNotFit, BuildError or SetupError.

    streaming: fold features in as they come (True), keep the whole vector in RAM (False), or keep it if it
    fits (None).
    """
    stream = streams(model, board) if streaming is None else streaming
    firmware = _build(model, board, stream)
    if streaming is None and not stream and not _fits_ram(firmware):
        # The vector alone would fit, but not beside the kernel's own memory.
        firmware = _build(model, board, True)
    _check_size(model, firmware)
    return firmware


def streams(model: DeviceModel, board: Board) -> bool:
    """Whether a sample is too large to be kept in the board's RAM."""
    return vector_bytes(model) > vector_budget(board)


def faster(model: DeviceModel, board: Board, *, streaming: bool, within: int | None = None) -> DeviceModel:
    """The same model in the layout of the fewest cycles within so many bytes, or that the board has."""
    from models.layouts import fastest

    if board.family != "avr":
        return model
    most = board.flash_bytes - CODE_RESERVE
    return fastest(model, most if within is None else min(within, most), streaming=streaming)


def vector_bytes(model: DeviceModel) -> int:
    """What one sample takes."""
    return model.n_features * WIRE_TYPES[model.numbers].itemsize


def vector_budget(board: Board) -> int:
    """The largest vector a board keeps in RAM, as its description for PlatformIO says."""
    known = int(toolchain.manifest(board.environment)["build"]["vector_bytes"])
    return known if board.name == board.environment else min(known, board.ram_bytes // 2)


def _build(model: DeviceModel, board: Board, streaming: bool) -> Firmware:
    from models.export import c_files

    if model.flash_bytes > board.flash_bytes:
        raise DoesNotFit(
            f"The model {model.name} alone is {model.flash_bytes} bytes, and the {board.title} has "
            f"{board.flash_bytes} bytes of flash.",
            "Train it with a smaller budget, or take a board with more flash.",
        )
    largest = max(array.nbytes for array in model.arrays.values())
    if board.family == "avr" and largest > AVR_ARRAY:
        raise DoesNotFit(
            f"The model {model.name} has an array of {largest} bytes, and avr-gcc takes up to {AVR_ARRAY}.",
            "Train it with a smaller budget.",
        )
    compiler = toolchain.compiler(board.family)
    sources = c_files(model)
    folder = paths.cache() / "firmware" / _key(sources, board, compiler, streaming)
    elf = folder / "firmware.elf"
    cached = elf.is_file()
    if not cached:
        _make(sources, board, streaming, folder)
    size = image.read(elf)
    if board.family == "avr" and size.model_end > AVR_FLASH:
        raise DoesNotFit(
            f"{model.name} reaches up to flash address {size.model_end}, but kernels read the first "
            f"{AVR_FLASH} bytes only.",
            "Train it with a smaller budget.",
        )
    return Firmware(
        board=board,
        elf=elf,
        hex=folder / "firmware.hex",
        flash_total=size.flash,
        flash_model=size.model + CONSTANT_BYTES * len(model.constants),
        ram_static=size.ram,
        compiler=compiler,
        flags=(folder / "flags.txt").read_text(encoding="utf8"),
        streaming=streaming,
        cached=cached,
    )


def _fits_ram(firmware: Firmware) -> bool:
    return firmware.ram_static + _stack_reserve(firmware.board) <= firmware.board.ram_bytes


def _stack_reserve(board: Board) -> int:
    return STACK_RESERVE if board.family == "avr" else WIDE_STACK_RESERVE


def _check_size(model: DeviceModel, firmware: Firmware) -> None:
    board = firmware.board
    code = firmware.flash_total - firmware.flash_model
    if firmware.flash_model != model.flash_bytes:
        raise BuildError(
            f"The firmware holds {firmware.flash_model} bytes of the model {model.name}, which says that "
            f"it has {model.flash_bytes}.",
            "An array of the model is unused by its kernel or counted twice; this is a defect of kilobench.",
        )
    if firmware.flash_total > board.flash_bytes:
        raise DoesNotFit(
            f"{model.name} takes {firmware.flash_total} bytes of flash (model {firmware.flash_model}, "
            f"code {code}), and the {board.title} has {board.flash_bytes}.",
            "Train it with a smaller budget, or take a board with more flash.",
        )
    if not _fits_ram(firmware):
        raise DoesNotFit(
            f"{model.name} takes {firmware.ram_static} bytes of RAM and at least {_stack_reserve(board)} for "
            f"the stack, and the {board.title} has {board.ram_bytes}.",
            "Take a smaller model, or a board with more RAM."
            if firmware.streaming
            else "Let it stream its features, take a smaller model, or a board with more RAM.",
        )


def _key(sources: dict[str, str], board: Board, compiler: str, streaming: bool) -> str:
    """A name for everything that decides the image."""
    about = [board.environment, compiler, toolchain.platformio_version(), str(streaming)]
    about += toolchain.own_facts(board).values()
    digest = hashlib.sha256(json.dumps([about, sources], sort_keys=True).encode())
    for path, content in _project_files():
        digest.update(f"{path} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:32]


def _project_files() -> list[tuple[str, bytes]]:
    root = toolchain.project()
    files = [root / "platformio.ini", *(path for top in SOURCES for path in (root / top).rglob("*"))]
    return [
        (path.relative_to(root).as_posix(), path.read_bytes())
        for path in sorted(files)
        if path.is_file() and "__pycache__" not in path.parts
    ]


def _make(sources: dict[str, str], board: Board, streaming: bool, folder: Path) -> None:
    """Build in a folder of its own, then move the result into place at once: two builds never meet."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        workspace = Path(tempfile.mkdtemp(prefix=WORKSPACE, dir=folder.parent))
    except OSError as error:
        raise SetupError(
            f"The cache {folder.parent} cannot be written: {error.strerror}.",
            "Set KILOBENCH_CACHE to a folder that can.",
        ) from error
    try:
        _sweep(folder.parent)
        model = workspace / "model"
        model.mkdir()
        for name, text in sources.items():
            (model / name).write_text(text, encoding="utf8")
        extra = {"KILOBENCH_MODEL": str(model), "KILOBENCH_STREAMING": "1" if streaming else "0"}
        extra |= toolchain.own_facts(board)
        done = toolchain.platformio(
            "--environment", board.environment, "--silent", workspace=workspace, extra=extra
        )
        made = workspace / "build" / board.environment
        # PlatformIO also fails when the image is too large for the board; _check_size says so with the sizes.
        if not (made / "firmware.hex").is_file():
            raise _failure((done.stdout + done.stderr).replace(f"{workspace}/", ""), folder)
        draft = workspace / "done"
        draft.mkdir()
        for name in ("firmware.elf", "firmware.hex"):
            (made / name).rename(draft / name)
        flags = dict.fromkeys((made / "flags.txt").read_text(encoding="utf8").split())
        (draft / "flags.txt").write_text(" ".join(flags), encoding="utf8")
        try:
            draft.rename(folder)
        except OSError:
            if not folder.is_dir():  # else another process has built the very same meanwhile
                raise
    finally:
        shutil.rmtree(workspace, ignore_errors=True)


def _sweep(folder: Path) -> None:
    """Remove what killed builds have left; a living one ends before it is that old."""
    for path in folder.glob(f"{WORKSPACE}*"):
        with contextlib.suppress(OSError):  # its owner, or another's sweep, was faster
            if time.time() - path.stat().st_mtime > 2 * toolchain.TIMEOUT_S:
                shutil.rmtree(path)


def _failure(output: str, folder: Path) -> BuildError:
    log = folder.parent / f"{folder.name}.log"
    log.write_text(output, encoding="utf8")
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if _ERROR.search(line)] or lines[-SHOWN_ERRORS:] or ["no output at all"]
    return BuildError(
        "The firmware could not be built: " + "; ".join(errors[:SHOWN_ERRORS]) + ".",
        f"The compiler's whole output is in {log}.",
    )
