"""What a perceptron takes of an AVR (models.costs)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from models import costs, costs_nodes, nibbles
from models.costs import Stage

if TYPE_CHECKING:
    from models.mlp_device import MlpInt8

SCORE = 24
"""Cycles of a score beside its row, in the compiler's words."""


def stages(model: MlpInt8, *, streaming: bool) -> list[Stage]:
    width = model.c_sizes()["w_sum_bytes"]
    scale = nibbles.scale_in_sums("w", model.arrays)
    shift = int(model.constants["h_shift"]) + scale.bit_length() - 1
    return [
        nibbles.projection_stage("w", model.arrays, model.W.shape, width, streaming),
        costs_nodes.offset_rounding(model.hidden, width, shift),
        _outputs(model),
        costs.overhead(40 if scale == 1 else 150),
    ]


def _outputs(model: MlpInt8) -> Stage:
    flash = sum(model.arrays[name].nbytes for name in model.arrays if name.startswith("out"))
    rows = costs_nodes.Rows(
        columns=model.hidden + 1,
        packed=nibbles.scale_in_sums("out", model.arrays) > 1,
        sum_bytes=model.c_sizes()["node_sum_bytes"],
        shift=nibbles.scale_in_sums("out", model.arrays).bit_length() - 1,
        flash_bytes=flash,
    )
    score = rows.cycles + costs_nodes.places(rows.sum_bytes, rows.shift) + SCORE
    scores = model.n_scores
    return Stage(
        "scores",
        f"{scores} × {rows.columns}, and the largest",
        flash,
        0,
        scores * score + costs.argmax(scores),
        costs.whole(scores * rows.floor),
    )
