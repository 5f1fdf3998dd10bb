"""Which layout a model is built in: the smallest, as it is stored, or the fastest that fits."""

from __future__ import annotations

from dataclasses import dataclass

from models import costs
from models.device import DeviceModel


@dataclass(frozen=True)
class Choice:
    """A model in one of its layouts, and what that costs on an AVR."""

    model: DeviceModel
    what: str
    """The layout, as its stage says it."""
    flash_bytes: int
    cycles: int


def choices(model: DeviceModel, *, streaming: bool) -> list[Choice]:
    """Every layout there is for such firmware, the smallest first; none without predicted cycles."""
    found = []
    for variant in model.variants(streaming=streaming):
        stages = variant.stages(streaming=streaming)
        if stages:
            found.append(Choice(variant, stages[0].what, variant.flash_bytes, costs.total(stages)))
    return sorted(found, key=lambda choice: choice.flash_bytes)


def fastest(model: DeviceModel, flash_bytes: int, *, streaming: bool) -> DeviceModel:
    """The model in the layout of the fewest predicted cycles within so many bytes, or itself."""
    fitting = [choice for choice in choices(model, streaming=streaming) if choice.flash_bytes <= flash_bytes]
    return min(fitting, key=lambda choice: choice.cycles).model if fitting else model
