"""A model's kernel, compiled for this machine: the firmware's own C, under sanitizers, without a board."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

import numpy as np
import numpy.typing as npt

from models.device import WIRE_TYPES, Array, DeviceModel
from models.errors import KilobenchError
from models.export import c_files, kernel_file, kernels_folder

COMPILER = "gcc"
FLAGS = ("-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off")
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def available() -> bool:
    return shutil.which(COMPILER) is not None


class HostKernel:
    """The compiled kernel of one model; a context manager, because it lives in a temporary folder."""

    def __init__(self, model: DeviceModel, *, sanitize: bool = True, buffered: bool = False) -> None:
        """`buffered` compiles it as for firmware that keeps the whole vector; `run` then takes no pieces."""
        self.model = model
        self._folder = tempfile.TemporaryDirectory(prefix="kilobench-kernel-")
        folder = Path(self._folder.name)
        for name, text in c_files(model).items():
            (folder / name).write_text(text, encoding="utf8")
        self._program = folder / "kernel"
        sources = [Path(__file__).with_name("host_driver.c"), kernel_file(model.family, model.numbers)]
        command = [
            COMPILER,
            *FLAGS,
            *(SANITIZERS if sanitize else ()),
            *(("-DSTREAMING=0",) if buffered else ()),
            f"-I{folder}",
            f"-I{kernels_folder()}",
        ]
        command += [*map(str, sources), "-o", str(self._program)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            self._folder.cleanup()
            raise KilobenchError(f"The kernel of {model.name} does not compile: {done.stderr.strip()}")

    def run(
        self, encoded: Array, pieces: Sequence[int] | None = None
    ) -> tuple[npt.NDArray[np.uint16], Array]:
        """Classes and scores of encoded samples, each vector given in pieces of these lengths, or whole."""
        lengths = np.asarray(pieces if pieces is not None else [encoded.shape[1]], dtype=np.uint16)
        head = np.uint16(lengths.size).tobytes() + lengths.tobytes()
        rows = np.ascontiguousarray(encoded, dtype=WIRE_TYPES[self.model.numbers])
        data = b"".join(head + row.tobytes() for row in rows)
        done = subprocess.run([str(self._program)], input=data, capture_output=True, check=False)
        if done.returncode:
            words = done.stderr.decode(errors="replace").strip() or f"exit status {done.returncode}"
            raise KilobenchError(f"The kernel of {self.model.name} failed on the host: {words}")
        score = np.dtype("f4" if self.model.numbers == "float32" else "i4")
        answer = np.dtype([("class", "u2"), ("scores", score, (self.model.n_scores,))])
        answers = np.frombuffer(done.stdout, dtype=answer)
        return answers["class"], answers["scores"]

    def __enter__(self) -> HostKernel:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._folder.cleanup()
