"""Images of known instructions, each in a window of its own: what a simulator proves itself with."""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

from harness import paths
from harness.errors import SetupError

REPEATS = 10


class Form(Protocol):
    """One instruction, or a group."""

    @property
    def code(self) -> str: ...
    @property
    def setup(self) -> str:
        """What comes before its window."""
        ...


def image(source: Path, forms: Iterable[Form], command: Sequence[str], remedy: str) -> Path:
    """The linked program, from the cache where it has been built before.

    source: includes forms.inc, and has the macros `high` and `low` that open and close a window.
    """
    lines = "".join(
        f"{form.setup}\nhigh\n.rept {REPEATS}\n{form.code}\n.endr\nlow\n" for form in forms
    ).encode()
    known = " ".join(command).encode() + b"\n" + lines + source.read_bytes()
    folder = paths.cache() / source.parent.name / hashlib.sha256(known).hexdigest()[:16]
    elf = folder / "selftest.elf"
    if not elf.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as work:
            draft = Path(work) / "selftest.elf"
            (Path(work) / "forms.inc").write_bytes(lines)
            done = subprocess.run(
                [*command, f"-I{work}", "-o", str(draft), str(source)],
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                message = " ".join(done.stderr.split())
                raise SetupError(f"The self-test cannot be built: {message}", remedy)
            draft.replace(elf)
    return elf
