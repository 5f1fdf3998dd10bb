"""Building: what goes in decides what comes out, once; and what can be wrong is said in a sentence."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from harness import boards, image, toolchain
from harness.build import STACK_RESERVE, Firmware, build, vector_budget, vector_bytes
from harness.errors import BuildError, DoesNotFit, SetupError
from models.device import DeviceModel
from tests.models.device_models import KINDS, make

pytestmark = pytest.mark.skipif(shutil.which("avr-gcc") is None, reason="avr-gcc is not on PATH")

UNO = boards.load("uno")
OFFLINE = "http://127.0.0.1:9"
"""A proxy that refuses every connection: whoever asks the network fails at once."""


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("KILOBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "firmware"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the firmware that a test may change."""
    copy = tmp_path / "firmware"
    shutil.copytree(toolchain.project(), copy, ignore=shutil.ignore_patterns(".pio", "__pycache__"))
    monkeypatch.setattr(toolchain, "project", lambda: copy)
    return copy


def no_start(*_: str, **__: object) -> None:
    raise AssertionError("PlatformIO was started")


def contents(firmware: Firmware) -> bytes:
    return firmware.hex.read_bytes()


def test_second_build_starts_nothing(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = make("linear", "int8")
    first = build(model, UNO)
    monkeypatch.setattr(toolchain, "platformio", no_start)
    second = build(model, UNO)
    assert (first.cached, second.cached) == (False, True)
    assert second.elf == first.elf and second.flags == first.flags
    assert first.elf.read_bytes()[:4] == b"\x7fELF" and contents(first).startswith(b":")
    assert [path.name for path in fresh.iterdir()] == [first.elf.parent.name]


def test_says_what_it_was_built_with() -> None:
    firmware = build(make("linear", "int8"), UNO)
    assert firmware.compiler.startswith("avr-gcc ") and firmware.compiler[8].isdigit()
    assert {"-O2", "-std=c11", "-Werror", "-mmcu=atmega328p"} <= set(firmware.flags.split())
    assert len(set(firmware.flags.split())) == len(firmware.flags.split())


@pytest.mark.parametrize(("family", "numbers"), KINDS)
def test_sizes_are_the_models_and_the_images(family: str, numbers: str) -> None:
    model = make(family, numbers, features=60, density=0.3)
    firmware = build(model, UNO)
    assert firmware.flash_model == model.flash_bytes
    size = subprocess.run(["avr-size", str(firmware.elf)], capture_output=True, text=True, check=True)
    text, data, bss = (int(word) for word in size.stdout.splitlines()[1].split()[:3])
    assert (firmware.flash_total, firmware.ram_static) == (text + data, data + bss)
    assert firmware.flash_model < firmware.flash_total <= UNO.flash_bytes


def test_256_features_take_less_than_a_kilobyte_of_ram() -> None:
    model = make("protonn", "int8", features=256, classes=10, rows=10, prototypes=30, density=0.2)
    firmware = build(model, UNO)
    assert not firmware.streaming
    assert firmware.ram_static + STACK_RESERVE <= 1024


@pytest.mark.parametrize(
    "change", ["nothing", "model", "board", "streaming", "source", "settings", "compiler"]
)
def test_any_change_builds_anew(change: str, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Path] = []

    def make_nothing(*arguments: object) -> None:
        asked.append(Path(str(arguments[-1])))
        raise InterruptedError

    monkeypatch.setattr("harness.build._make", make_nothing)
    monkeypatch.setenv("KILOBENCH_CACHE", str(project / "no-cache"))
    with pytest.raises(InterruptedError):
        build(make("linear", "int8"), UNO, streaming=False)
    if change == "source":
        (project / "lib" / "link" / "frame.c").write_text("/* another */")
    elif change == "settings":
        (project / "platformio.ini").write_text("; another")
    elif change == "compiler":
        monkeypatch.setattr(toolchain, "compiler", lambda _: "avr-gcc 99.0")
    model = make("linear", "int8", seed=1 if change == "model" else 0)
    board = boards.load("mega2560") if change == "board" else UNO
    with pytest.raises(InterruptedError):
        build(model, board, streaming=change == "streaming")
    assert (asked[0] == asked[1]) == (change == "nothing")


def test_parallel_builds_do_not_disturb_each_other(fresh: Path) -> None:
    """Two of one model and one of another, from an empty cache: the first start of PlatformIO included."""
    models = [make("linear", "int8", seed=seed) for seed in (0, 0, 1)]
    with ThreadPoolExecutor(len(models)) as pool:
        built = list(pool.map(lambda model: build(model, UNO), models))
    assert contents(built[0]) == contents(built[1])
    assert len({contents(firmware) for firmware in built}) == 2
    assert {path.name for path in fresh.iterdir()} == {firmware.elf.parent.name for firmware in built}
    for model, firmware in zip(models, built, strict=True):
        assert model.digest in firmware.elf.read_bytes()


def test_remains_of_killed_builds_are_swept_up(fresh: Path) -> None:
    dead, alive = fresh / "building-dead", fresh / "building-alive"
    for folder in (dead, alive):
        (folder / "model").mkdir(parents=True)
    os.utime(dead, (0, 0))
    build(make("linear", "int8"), UNO)
    assert alive.is_dir() and not dead.exists()


def test_model_larger_than_the_flash() -> None:
    with pytest.raises(DoesNotFit, match=r"alone is \d+ bytes, and the Arduino Uno R3 has 32256"):
        build(make("linear", "int8", features=12_000), UNO)


def test_model_that_leaves_no_room_for_the_code() -> None:
    model = make("linear", "int8", features=10_500)
    with pytest.raises(DoesNotFit) as caught:
        build(model, UNO)
    assert f"model {model.flash_bytes}, code " in caught.value.problem and "32256" in caught.value.problem
    assert build(model, boards.load("mega2560")).flash_model == model.flash_bytes


def test_array_beyond_what_the_compiler_takes() -> None:
    with pytest.raises(DoesNotFit, match=r"an array of 33000 bytes, and avr-gcc takes up to 32767"):
        build(make("linear", "int8", features=11_000), boards.load("mega2560"))


def test_model_beyond_what_kernels_can_read() -> None:
    model = make("protonn", "int8", features=320, classes=30, rows=100, prototypes=320)
    with pytest.raises(DoesNotFit, match="kernels read the first 65536 bytes only"):
        build(model, boards.load("mega2560"))


def test_vector_larger_than_the_ram() -> None:
    model = make("linear", "int8", features=2_000)
    with pytest.raises(DoesNotFit, match=r"bytes of RAM .* has 2048.* stream"):
        build(model, UNO, streaming=False)
    assert build(model, UNO).streaming
    assert not build(model, boards.load("mega2560")).streaming


def test_streams_when_the_kernel_leaves_no_room_for_the_vector() -> None:
    """A vector within the board's budget, beside a thousand bytes of scores and accumulators."""
    features, classes = 1_000, 125
    W = np.zeros((classes, features), dtype=np.int64)
    W[:, :3] = 1
    model = make_linear(W)
    assert vector_bytes(model) <= vector_budget(UNO)
    assert build(model, UNO).streaming
    with pytest.raises(DoesNotFit, match="RAM"):
        build(model, UNO, streaming=False)


def make_linear(W: np.typing.NDArray[np.int64]) -> DeviceModel:
    from models.linear_device import LinearInt8
    from tests.models.device_models import INT8

    return LinearInt8.from_integers(W, np.zeros(len(W), dtype=np.int64), INT8, range(len(W)))


def test_compilers_first_errors_are_shown(fresh: Path, project: Path) -> None:
    source = project / "lib" / "link" / "frame.c"
    source.write_text(source.read_text(encoding="utf8") + "\nint wrong = nonsense;\n", encoding="utf8")
    with pytest.raises(BuildError) as caught:
        build(make("linear", "int8"), UNO)
    assert "frame.c" in caught.value.problem and "nonsense" in caught.value.problem
    log = Path(caught.value.remedy.removesuffix(".").split()[-1])
    assert "nonsense" in log.read_text(encoding="utf8")
    assert list(fresh.iterdir()) == [log], "a failed build must leave nothing that looks like one"


def test_warning_is_an_error(fresh: Path, project: Path) -> None:
    source = project / "lib" / "link" / "frame.c"
    source.write_text(source.read_text(encoding="utf8") + "\nstatic int unused;\n", encoding="utf8")
    with pytest.raises(BuildError, match="unused"):
        build(make("linear", "int8"), UNO)


def test_array_that_the_kernel_does_not_use_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.build.CONSTANT_BYTES", 5)
    with pytest.raises(BuildError, match="which says that it has"):
        build(make("protonn", "int8"), UNO)


def test_missing_compiler_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SetupError, match=r"avr-gcc is not on PATH.*apt install gcc-avr avr-libc"):
        build(make("linear", "int8"), UNO)


def test_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("KILOBENCH_CACHE", str(tmp_path / "file"))
    with pytest.raises(SetupError, match="Set KILOBENCH_CACHE"):
        build(make("linear", "int8"), UNO)


def test_options_of_the_users_shell_do_not_reach_the_firmware(
    fresh: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = build(make("linear", "int8"), UNO)
    monkeypatch.setenv("KILOBENCH_CACHE", str(fresh.parent) + "-2")
    monkeypatch.setenv("PLATFORMIO_BUILD_FLAGS", "-DMODEL_FEATURES=1 -O0")
    assert contents(build(make("linear", "int8"), UNO)) == contents(plain)


def test_image_of_something_else(tmp_path: Path) -> None:
    path = tmp_path / "firmware.elf"
    path.write_bytes(b"not an ELF file at all")
    with pytest.raises(BuildError, match="no firmware image"):
        image.read(path)


def test_pio_run_works_by_itself_without_a_network(tmp_path: Path) -> None:
    """As a user types it, in a fresh checkout: every environment, nothing set, nobody to download from."""
    copy = tmp_path / "firmware"
    shutil.copytree(toolchain.project(), copy, ignore=shutil.ignore_patterns(".pio", "__pycache__"))
    ours = ("PLATFORMIO", "KILOBENCH")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    environment |= dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), OFFLINE)
    environment["HOME"] = str(tmp_path)
    compilers = {name: toolchain.TOOLCHAINS[boards.load(name).family].program for name in boards.names()}
    names = [name for name, compiler in compilers.items() if shutil.which(compiler)]
    words = [word for name in names for word in ("-e", boards.load(name).environment)]
    done = subprocess.run(
        [sys.executable, "-m", "platformio", "run", *words],
        cwd=copy,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for name in names:
        assert (copy / ".pio" / "build" / name / "firmware.hex").is_file()
    assert not (tmp_path / ".platformio").exists(), "the user's own PlatformIO must be left alone"
