"""Which class runs which kind of simulated board: ours, and those that other packages bring.

A board file's `simulator.kind` is looked up here. Another package adds a kind by an entry point, which names
what makes a target from a board and an ELF file:

    [project.entry-points."kilobench.targets"]
    wokwi = "my_package.wokwi:WokwiTarget"

`harness.targets.checks.check_target` says whether it keeps the contract of `harness.targets.base.Target`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from harness.boards import Board
from harness.errors import SetupError, SimulatorError
from harness.targets.base import Target

GROUP = "kilobench.targets"
OURS = {"simavr": "harness.targets.simavr:SimavrTarget", "qemu": "harness.targets.qemu:QemuTarget"}

Maker = Callable[[Board, Path], Target]


def kinds() -> list[str]:
    return sorted({*OURS, *(point.name for point in _foreign())})


def simulated(board: Board, elf: Path) -> Target:
    """The board's simulator with an image, not yet started."""
    return _maker(board)(board, elf)


def _maker(board: Board) -> Maker:
    kind = board.simulator.kind
    if kind in OURS:
        module, _, name = OURS[kind].partition(":")
        maker: Maker = getattr(import_module(module), name)
        return maker
    for point in _foreign():
        if point.name == kind:
            try:
                found: Maker = point.load()
            except (ImportError, AttributeError) as error:
                raise SetupError(
                    f"The simulator {kind!r} of {point.value} cannot be loaded: {error}.",
                    "Install that package again, or take it off.",
                ) from error
            return found
    raise SimulatorError(
        f"There is no simulator {kind!r} for the {board.title}.",
        f"Known: {', '.join(kinds())}. Or connect the board and name its port.",
    )


def _foreign() -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=GROUP))
