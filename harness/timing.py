"""How long a model will take on a board, told before anything is built."""

from __future__ import annotations

from dataclasses import dataclass

from harness import build
from harness.boards import Board
from harness.errors import InputError
from harness.jobs import Job
from models import costs
from models.device import Array, DeviceModel
from models.timelimit import TimeLimit


@dataclass(frozen=True)
class Plan:
    """How a model is to be built: whether it streams, and in which of its layouts."""

    streaming: bool | None = None
    """As for `build`."""
    speed: bool = False
    """In the fastest layout that the board has flash for."""
    within: int | None = None
    """Without speed: in the fastest layout of so many bytes; None leaves it as it is."""

    def streams(self, model: DeviceModel, board: Board) -> bool:
        return build.streams(model, board) if self.streaming is None else self.streaming

    def laid_out(self, model: DeviceModel, board: Board) -> DeviceModel:
        """The model as it is built."""
        if not self.speed and self.within is None:
            return model
        most = None if self.speed else self.within
        return build.faster(model, board, streaming=self.streams(model, board), within=most)

    def build(self, model: DeviceModel, board: Board) -> build.Firmware:
        """The firmware of a model that is laid out so."""
        relaid = self.speed or self.within is not None
        # A layout for whole vectors is none for pieces, so the choice is not left to `build`.
        return build.build(model, board, streaming=self.streams(model, board) if relaid else self.streaming)


def plan_of(job: Job) -> Plan:
    """Where time is limited, the bytes of the budget may be used for speed."""
    return Plan(job.stream, job.speed, None if job.max_ms is None else job.budget)


def predicted_ms(
    model: DeviceModel, board: Board, encoded: Array | None = None, *, plan: Plan | None = None
) -> float | None:
    """Milliseconds of the model's firmware, or None where nobody can tell.

    encoded: samples, where cycles depend on them.
    """
    if board.family != "avr":
        return None
    how = plan or Plan()
    built = how.laid_out(model, board)
    stages = built.stages(streaming=how.streams(model, board), encoded=encoded)
    return board.milliseconds(costs.total(stages)) if stages else None


def limit(board: Board, ms: float, plan: Plan) -> TimeLimit:
    """What training must keep to; InputError if this board's times cannot be predicted."""
    if board.family != "avr":
        raise InputError(
            f"Times on the {board.title} cannot be predicted.", "Train without a time limit for it."
        )

    def predict(model: DeviceModel, encoded: Array) -> float | None:
        return predicted_ms(model, board, encoded, plan=plan)

    return TimeLimit(ms, board.title, predict)
