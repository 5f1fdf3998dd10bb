"""Which layout a model is built in, and the time that is predicted for it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from harness import boards, timing
from harness.errors import InputError
from harness.jobs import Job
from harness.timing import Plan
from models import costs
from models.errors import TooSlow
from tests.models.device_models import make

UNO = boards.load("uno")
MODEL = make("linear", "int8", features=256, classes=4, density=0.2)


def test_without_a_reason_a_model_stays_as_it_is() -> None:
    assert Plan().laid_out(MODEL, UNO) is MODEL
    stages = MODEL.stages(streaming=False)
    assert timing.predicted_ms(MODEL, UNO) == pytest.approx(costs.total(stages) / 16_000)


def test_speed_takes_the_flash_of_the_board() -> None:
    fast = Plan(speed=True).laid_out(MODEL, UNO)
    assert fast.flash_bytes > 2 * MODEL.flash_bytes
    samples = MODEL.encode(np.random.default_rng(0).integers(-127, 128, size=(5, 256)))
    assert np.array_equal(fast.scores(samples), MODEL.scores(samples))
    times = [timing.predicted_ms(MODEL, UNO, plan=plan) or 0 for plan in (Plan(speed=True), Plan())]
    assert 0 < times[0] < times[1]


@pytest.mark.parametrize("spare", [0, 40, 10_000])
def test_a_budget_bounds_the_layout(spare: int) -> None:
    plan = Plan(within=MODEL.flash_bytes + spare)
    built = plan.laid_out(MODEL, UNO)
    assert built.flash_bytes <= MODEL.flash_bytes + spare
    assert (timing.predicted_ms(MODEL, UNO, plan=plan) or 0) <= (timing.predicted_ms(MODEL, UNO) or 0)


def test_what_streams_is_laid_out_for_streaming() -> None:
    built = Plan(streaming=True, speed=True).laid_out(MODEL, UNO)
    assert "w_code" not in built.arrays
    assert "w_code" in Plan(streaming=False, speed=True).laid_out(MODEL, UNO).arrays


def test_the_budget_of_a_job_is_for_speed_where_its_time_is_limited() -> None:
    job = Job("uno", "digits", "linear", "int8", 2048, stream=True)
    assert timing.plan_of(job) == Plan(streaming=True)
    assert timing.plan_of(replace(job, max_ms=1.0)) == Plan(streaming=True, within=2048)


def test_a_limit_is_about_the_plan() -> None:
    X = np.zeros((3, 256))
    slow, fast = (timing.predicted_ms(MODEL, UNO, plan=plan) or 0 for plan in (Plan(), Plan(speed=True)))
    between = (slow + fast) / 2
    with pytest.raises(TooSlow, match=f"{slow:.3g} ms on the Arduino Uno R3"):
        timing.limit(UNO, between, Plan()).check(MODEL, X)
    assert timing.limit(UNO, between, Plan(speed=True)).check(MODEL, X) == pytest.approx(fast)


def test_other_processors_are_not_predicted() -> None:
    other = replace(UNO, family="abacus", title="Abacus")
    assert timing.predicted_ms(MODEL, other) is None
    with pytest.raises(InputError, match="Times on the Abacus cannot be predicted"):
        timing.limit(other, 1.0, Plan())
