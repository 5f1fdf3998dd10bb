"""The firmware compiled for this machine under sanitizers, as a process that speaks the link on its pipes."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

import pytest

from harness import paths
from harness.link.frames import Decoder, Frame, encode
from models.device import DeviceModel
from models.export import c_files

FIRMWARE = paths.project() / "firmware"
WARNINGS = ("-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror")
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
INCLUDES = tuple(f"-I{FIRMWARE / 'lib' / name}" for name in ("link", "hal", "kernels"))
needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not on PATH")


def compile_host(sources: Iterable[Path], program: Path, *flags: str) -> Path:
    """One program from C sources of the firmware, with every check the compiler has."""
    command = ["gcc", *WARNINGS, *SANITIZERS, *INCLUDES, *flags, *map(str, sources), "-o", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return program


def compile_firmware(model: DeviceModel, folder: Path, *, vector_bytes: int = 4096) -> Path:
    """main.c, link and kernels as they are, on lib/hal/host. A small vector_bytes makes it stream."""
    for name, text in c_files(model).items():
        (folder / name).write_text(text, encoding="utf8")
    sources = [
        *(FIRMWARE / "src").glob("*.c"),
        *(path for part in ("link", "kernels", "hal/host") for path in (FIRMWARE / "lib" / part).glob("*.c")),
    ]
    defines = ("-D_POSIX_C_SOURCE=200809L", "-DF_CPU=1000000000UL", '-DHAL_BOARD="host"')
    return compile_host(
        sources,
        folder / "firmware",
        *defines,
        f"-DHAL_VECTOR_BYTES={vector_bytes}",
        "-ffp-contract=off",
        f"-I{folder}",
    )


class HostFirmware:
    """A running copy. Every wait has an end: a firmware that hangs is a failed test, not a stuck one."""

    def __init__(self, program: Path) -> None:
        self._process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
        )
        self._decoder = Decoder()
        self._frames: list[Frame] = []

    def __enter__(self) -> HostFirmware:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()

    def write(self, data: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(data)

    def frame(self, seconds: float = 5.0) -> Frame:
        """The next frame it sends."""
        assert self._process.stdout is not None
        while not self._frames:
            ready, _, _ = select.select([self._process.stdout], [], [], seconds)
            assert ready, "the firmware is silent"
            data = os.read(self._process.stdout.fileno(), 4096)
            assert data, f"the firmware has ended: {self._error()}"
            self._frames += self._decoder.feed(data)
        return self._frames.pop(0)

    def silent(self, seconds: float = 0.05) -> bool:
        """Whether nothing comes for a while."""
        assert self._process.stdout is not None
        return not self._frames and not select.select([self._process.stdout], [], [], seconds)[0]

    def ask(self, kind: int, seq: int, payload: bytes = b"") -> Frame:
        self.write(encode(kind, seq, payload))
        return self.frame()

    def finish(self) -> list[Frame]:
        """Close the line and take what was still sent; a sanitizer's complaint fails the test."""
        rest, complaint = self._process.communicate(timeout=20)
        assert self._process.returncode == 0, complaint.decode()
        frames, self._frames = self._frames + self._decoder.feed(rest), []
        return frames

    def _error(self) -> str:
        assert self._process.stderr is not None
        return self._process.stderr.read().decode()
