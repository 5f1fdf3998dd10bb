"""How long a model will take on a board, told before anything is built."""

from __future__ import annotations

from harness.boards import Board
from harness.build import faster, streams
from harness.errors import InputError
from models import costs
from models.device import Array, DeviceModel
from models.timelimit import TimeLimit


def predicted_ms(
    model: DeviceModel,
    board: Board,
    encoded: Array | None = None,
    *,
    speed: bool = False,
    streaming: bool | None = None,
) -> float | None:
    """Milliseconds of the firmware that `build` makes, or None where nobody can tell.

    encoded: samples, where cycles depend on them. speed: in the fastest layout the board has flash for.
    streaming: as for `build`.
    """
    if board.family != "avr":
        return None
    streaming = streams(model, board) if streaming is None else streaming
    built = faster(model, board, streaming=streaming) if speed else model
    stages = built.stages(streaming=streaming, encoded=encoded)
    return board.milliseconds(costs.total(stages)) if stages else None


def limit(board: Board, ms: float, *, speed: bool = False, streaming: bool | None = None) -> TimeLimit:
    """What training must keep to; InputError if this board's times cannot be predicted."""
    if board.family != "avr":
        raise InputError(
            f"Times on the {board.title} cannot be predicted.", "Train without a time limit for it."
        )

    def predict(model: DeviceModel, encoded: Array) -> float | None:
        return predicted_ms(model, board, encoded, speed=speed, streaming=streaming)

    return TimeLimit(ms, board.title, predict)
