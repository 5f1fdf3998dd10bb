from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from harness.errors import NoAnswer, WrongFirmware
from harness.jobs import Job
from harness.session import BATCH, Checks, Measurement, Session
from harness.spool import SampleLog, Spool, quoted
from harness.tally import Sample
from harness.targets.base import Facts
from models.device import Array
from tests.harness.fake_device import FakeDevice, nothing, on
from tests.harness.fakes import FakeTarget, device_for, sum_model

JOB = Job("uno", "numbers", "sum", "int8", 2048)
MODEL = sum_model()
N = 70  # more than two batches of windows


def data() -> tuple[Array, Array]:
    X = np.random.default_rng(0).integers(-100, 100, (N, 8)).astype(float)
    return X, MODEL.predict(X)


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Spool]:
    spool = Spool(tmp_path / "parts")
    spool.prepare()
    yield spool


def run(target: FakeTarget, spool: Spool, checks: Checks | None = None, samples: int = N) -> Measurement:
    X, y = data()
    with SampleLog(spool, JOB) as log:
        return Session(target, MODEL, log).run(X[:samples], y[:samples], checks or Checks(4))


def stored(spool: Spool) -> list[Sample]:
    with SampleLog(spool, JOB) as log:
        return list(log.read())


def test_every_sample_is_measured_and_agrees(spool: Spool) -> None:
    measurement = run(FakeTarget(device_for(MODEL)), spool)
    assert [sample.number for sample in stored(spool)] == list(range(N))
    assert all(s.label == s.device_class == s.host_class for s in stored(spool))
    assert {sample.cycles for sample in stored(spool)} == {1000}
    assert (measurement.tally.n, measurement.tally.accuracy, measurement.tally.agreement) == (N, 1, 1)
    assert measurement.problems == ()
    assert measurement.facts.stack_peak == 77


def test_a_sample_is_stored_before_the_next_is_asked_for(spool: Spool) -> None:
    stored: list[int] = []

    class Watching(FakeDevice):
        def class_of(self, sample: bytes) -> int:
            stored.append(spool.samples_path(JOB).read_bytes().count(b"\n"))
            return super().class_of(sample)

    plain = device_for(MODEL)
    device = Watching(model=plain.model, model_hash=plain.model_hash)
    run(FakeTarget(device), spool, Checks(0))
    assert stored == list(range(N))


def test_the_lines_are_those_of_samples_csv(spool: Spool) -> None:
    run(FakeTarget(device_for(MODEL)), spool)
    lines = spool.samples_path(JOB).read_text().splitlines()
    first = stored(spool)[0]
    sample = (str(first.number), first.label, first.device_class, first.host_class, "1000")
    assert lines[0] == quoted((*JOB.key, *sample))
    assert len(lines) == N


def test_a_wrong_class_is_kept_as_the_device_said_it(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    device = device_for(MODEL)
    honest = device.class_of
    monkeypatch.setattr(device, "class_of", lambda sample: (honest(sample) + (sample[0] > 200)) % 4)
    measurement = run(FakeTarget(device), spool, Checks(0))
    wrong = [s for s in stored(spool) if s.device_class != s.host_class]
    assert 0 < len(wrong) < N
    assert (measurement.tally.strays, measurement.tally.first_stray) == (len(wrong), wrong[0])


def test_timer_and_pin_must_agree(spool: Spool) -> None:
    measurement = run(FakeTarget(device_for(MODEL), drift=3), spool)
    assert len(measurement.problems) == 1
    assert (
        "on 70 of 70 samples, first on number 0: 1000 cycles by its timer and 1003" in measurement.problems[0]
    )


def test_the_known_offset_of_a_window_is_taken_off(spool: Spool) -> None:
    measurement = run(FakeTarget(device_for(MODEL), drift=3), spool, Checks(0, offset_cycles=3))
    assert measurement.problems == ()


@pytest.mark.parametrize(("checks", "found"), [(Checks(0), 0), (Checks(5), 5), (Checks(N), N)])
def test_scores_are_compared_as_often_as_asked(
    spool: Spool, monkeypatch: pytest.MonkeyPatch, checks: Checks, found: int
) -> None:
    device = device_for(MODEL)
    honest = device._scores

    def wrong(first: int) -> tuple[int, bytes]:
        kind, payload = honest(first)
        return kind, payload[:2] + bytes([payload[2] ^ 1]) + payload[3:]

    monkeypatch.setattr(device, "_scores", wrong)
    problems = run(FakeTarget(device), spool, checks).problems
    assert len(problems) == (1 if found else 0)
    assert not found or f"scores differ from the host's on {found} of {N}" in problems[0]


def test_how_many_scores_are_checked() -> None:
    assert [Checks.named(word, 100).scores for word in ("none", "some", "all")] == [0, 16, 100]
    assert Checks.named("some", 3).scores == 3


def test_a_session_continues_after_the_last_stored_sample(spool: Spool) -> None:
    run(FakeTarget(device_for(MODEL)), spool)
    whole = stored(spool)
    text = spool.samples_path(JOB).read_bytes()
    cut = text[: len(text) // 2]
    assert not cut.endswith(b"\n")  # a torn line is part of the test
    spool.samples_path(JOB).write_bytes(cut)
    device = device_for(MODEL)
    again = run(FakeTarget(device), spool)
    assert stored(spool) == whole
    assert (again.tally.n, again.tally.right) == (N, N)
    assert spool.samples_path(JOB).read_bytes() == text
    # The batch of the last stored sample is asked for again, for its windows and as a proof of sameness.
    assert len(device.predictions) == N - (cut.count(b"\n") - 1) // BATCH * BATCH


def test_the_deepest_stack_is_that_of_all_samples(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = FakeTarget(device_for(MODEL))
    monkeypatch.setattr(deep, "facts", lambda: Facts("fake", "invented", cycles=1, stack_peak=99))
    run(deep, spool, samples=BATCH + 3)
    assert run(FakeTarget(device_for(MODEL)), spool).facts.stack_peak == 99


def test_a_pin_that_never_rises_is_noticed(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    target = FakeTarget(device_for(MODEL))
    monkeypatch.setattr(target, "windows", list)
    assert "0 windows of the pin for 32 samples" in run(target, spool).problems[0]


def test_a_pin_that_cannot_be_seen_is_not_missed(spool: Spool) -> None:
    assert run(FakeTarget(device_for(MODEL), pin_visible=False, drift=3), spool).problems == ()


def test_problems_survive_a_kill(spool: Spool) -> None:
    run(FakeTarget(device_for(MODEL), drift=3), spool, samples=BATCH)
    assert "on 32 of 70" in run(FakeTarget(device_for(MODEL)), spool).problems[0]


def test_another_device_is_measured_from_the_beginning(spool: Spool) -> None:
    run(FakeTarget(device_for(MODEL), drift=3), spool, samples=10)
    measurement = run(FakeTarget(device_for(MODEL, compute_cycles=900)), spool)
    assert {sample.cycles for sample in stored(spool)} == {900}
    assert measurement.tally.n == len(stored(spool)) == N
    assert measurement.problems == ()


def test_a_restart_in_the_middle_loses_and_doubles_nothing(spool: Spool) -> None:
    device = device_for(MODEL, reset_at={5, 11, 15})
    measurement = run(FakeTarget(device), spool, Checks(0))
    assert [sample.number for sample in stored(spool)] == list(range(N))
    assert all(sample.device_class == sample.host_class for sample in stored(spool))
    assert measurement.restarts == 3
    assert measurement.problems == ()


def test_a_board_that_hangs_is_reset_and_continues(spool: Spool) -> None:
    target = FakeTarget(device_for(MODEL), to_device=on(set(range(10, 15)), nothing))
    run(target, spool, Checks(0))
    assert target.resets == 1
    assert [sample.number for sample in stored(spool)] == list(range(N))


def test_a_board_that_hangs_now_and_then_is_reset_each_time(spool: Spool) -> None:
    """Three hangs are more than two resets allow, but in between it was well for long enough."""
    requests = (10, 60, 110)
    hangs = {first + at for first in requests for at in range(5)}
    X = np.random.default_rng(0).integers(-100, 100, (130, 8)).astype(float)
    target = FakeTarget(device_for(MODEL), to_device=on(hangs, nothing))
    with SampleLog(spool, JOB) as log:
        Session(target, MODEL, log).run(X, MODEL.predict(X), Checks(0))
    assert target.resets == 3
    assert [sample.number for sample in stored(spool)] == list(range(130))


def test_a_dead_board_is_reset_twice_and_given_up_with_what_was_stored(spool: Spool) -> None:
    target = FakeTarget(device_for(MODEL), to_device=on(set(range(10, 10_000)), nothing))
    with pytest.raises(NoAnswer, match="PREDICT_REPLY") as caught:
        run(target, spool, Checks(0))
    assert target.resets == 2
    assert "2 resets did not help" in str(caught.value)
    assert spool.samples_path(JOB).read_bytes().count(b"\n") == 9


def test_another_model_is_refused_before_the_first_sample(spool: Spool) -> None:
    with pytest.raises(WrongFirmware, match="'other'"):
        run(FakeTarget(device_for(sum_model(9, name="other"))), spool)
    assert spool.samples_path(JOB).read_bytes() == b""
