"""Compiles our own C programs for this machine when they are first needed, and keeps them by content."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness import paths
from harness.errors import SetupError


@dataclass(frozen=True)
class Program:
    """What is compiled from a folder of C files beside this module, and how."""

    name: str
    what: str
    """As an error calls it: the simulator."""
    sources: Path
    flags: tuple[str, ...]
    """Warnings are errors in the tests only: a compiler to come may have new ones."""
    libraries: tuple[str, ...]
    packages: str
    """Of Debian, that bring all it needs."""

    @property
    def remedy(self) -> str:
        return f"Install it: apt-get install {self.packages}"

    def compiler(self) -> str:
        found = shutil.which("cc") or shutil.which("gcc")
        if found is None:
            raise SetupError(f"There is no C compiler to build {self.what} with.", self.remedy)
        return found

    def command(self, compiler: str, target: Path) -> list[str]:
        files = map(str, sorted(self.sources.glob("*.c")))
        return [compiler, *self.flags, "-o", str(target), *files, *self.libraries]

    def obtain(self, installed: Iterable[Path] = ()) -> Path:
        """The compiled program, anew where its sources, the compiler or a file that it uses has changed."""
        compiler = self.compiler()
        program = paths.cache() / self.name / self._key((Path(compiler), *installed)) / self.name
        if not program.exists():
            self._compile(compiler, program)
        return program

    def _key(self, installed: Sequence[Path]) -> str:
        digest = hashlib.sha256(" ".join((*self.flags, *self.libraries)).encode())
        for source in sorted(self.sources.glob("*.[ch]")):
            digest.update(source.name.encode() + b"\0" + source.read_bytes())
        for file in installed:
            status = file.stat()
            digest.update(f"{file} {status.st_size} {status.st_mtime_ns}\n".encode())
        return digest.hexdigest()[:16]

    def _compile(self, compiler: str, program: Path) -> None:
        """Builds beside the final place and moves it there, so that parallel builds never see half of it."""
        program.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=program.parent, prefix=f".{self.name}-")
        os.close(handle)
        draft = Path(name)
        try:
            result = subprocess.run(
                self.command(compiler, draft), capture_output=True, text=True, check=False
            )
            if result.returncode:
                last = result.stderr.strip().splitlines()[-1:] or ["no message"]
                what = self.what[0].upper() + self.what[1:]
                raise SetupError(f"{what} cannot be compiled: {last[0]}.", self.remedy)
            draft.chmod(0o755)
            draft.replace(program)
        finally:
            draft.unlink(missing_ok=True)
