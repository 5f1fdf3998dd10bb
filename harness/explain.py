"""Where a firmware's flash, RAM and cycles go, stage by stage, beside the least that is known for each."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from harness.build import Firmware
from models import costs, layouts
from models.device import DeviceModel


@dataclass(frozen=True)
class Explanation:
    stages: tuple[costs.Stage, ...]
    """Empty where the family cannot tell, or the board is no AVR."""
    code_bytes: int
    """Flash that is not the model's: start-up, link, and all kernels' code."""
    other_ram: int
    """RAM that is no stage's: the frame, the reply, the features, the scores."""
    clock_hz: int
    choices: tuple[layouts.Choice, ...]
    """The layouts that the model could have in this firmware, its own among them."""
    chosen: bytes
    """The digest of the model as it was built."""

    @property
    def cycles(self) -> int:
        return costs.total(self.stages)

    def json(self) -> dict[str, Any]:
        return {
            "stages": [asdict(stage) for stage in self.stages],
            "cycles_predicted": self.cycles if self.stages else None,
            "code_bytes": self.code_bytes,
            "other_ram": self.other_ram,
            "reason": self.reason,
            "layouts": [
                {
                    "what": choice.what,
                    "flash_bytes": choice.flash_bytes,
                    "cycles": choice.cycles,
                    "chosen": choice.model.digest == self.chosen,
                }
                for choice in self.choices
            ],
        }

    def layout_rows(self) -> list[tuple[str, ...]]:
        """Chosen or not, the layout, the model's flash with it, its cycles: a row each."""
        return [
            (
                "→" if choice.model.digest == self.chosen else "",
                choice.what,
                str(choice.flash_bytes),
                str(choice.cycles),
            )
            for choice in self.choices
        ]

    @property
    def reason(self) -> str:
        """Why the layout is the one it is, in bytes and cycles."""
        own = next((choice for choice in self.choices if choice.model.digest == self.chosen), None)
        if own is None or len(self.choices) == 1:
            return "There is no other layout."
        fastest = min(self.choices, key=lambda choice: choice.cycles)
        if own.cycles == fastest.cycles:
            return "The layout is the fastest."
        less, more = own.cycles - fastest.cycles, fastest.flash_bytes - own.flash_bytes
        return (
            f"The layout is {'the smallest' if own is self.choices[0] else 'as it was stored'}; "
            f"{fastest.what} would save {less} cycles ({100 * less / own.cycles:.0f} %) "
            f"for {more} bytes more."
        )

    def rows(self) -> list[tuple[str, ...]]:
        """Stage, what it is, flash, RAM, cycles, floor and how far above it: a row each, then the sums."""
        lines: list[tuple[str, ...]] = [
            (
                stage.name,
                stage.what,
                str(stage.flash_bytes),
                str(stage.ram_bytes),
                str(stage.cycles),
                "" if stage.floor is None else str(stage.floor),
                "" if not stage.floor else f"{stage.cycles / stage.floor:.2f}×",
            )
            for stage in self.stages
        ]
        flash = sum(stage.flash_bytes for stage in self.stages)
        ram = sum(stage.ram_bytes for stage in self.stages)
        time = f"{1000 * self.cycles / self.clock_hz:.3f} ms"
        lines.append(
            (
                "the rest",
                "code; frame, reply, features",
                str(self.code_bytes),
                str(self.other_ram),
                "",
                "",
                "",
            )
        )
        lines.append(
            (
                "sum",
                time,
                str(flash + self.code_bytes),
                str(ram + self.other_ram),
                str(self.cycles),
                "",
                "",
            )
        )
        return lines


def stages(model: DeviceModel, firmware: Firmware) -> list[costs.Stage]:
    """Where a prediction's cycles go; only AVR's are counted line by line."""
    return model.stages(streaming=firmware.streaming) if firmware.board.family == "avr" else []


def explain(model: DeviceModel, firmware: Firmware) -> Explanation:
    """What the model says about its stages, completed by what the built image takes."""
    avr = firmware.board.family == "avr"
    told = tuple(stages(model, firmware))
    return Explanation(
        stages=told,
        code_bytes=firmware.flash_total - firmware.flash_model,
        other_ram=firmware.ram_static - sum(stage.ram_bytes for stage in told),
        clock_hz=firmware.board.clock_hz,
        choices=tuple(layouts.choices(model, streaming=firmware.streaming)) if avr else (),
        chosen=model.digest,
    )
