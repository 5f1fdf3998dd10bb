from __future__ import annotations

from pathlib import Path

from harness.events import Event, EventFile, EventReader, Kind, SampleTicker
from harness.tally import Sample, Tally


def test_events_reach_another_process_once_and_in_order(tmp_path: Path) -> None:
    reader = EventReader(tmp_path)
    file = EventFile(tmp_path / "one.events")
    first = Event(Kind.STARTED, 0, "one")
    second = Event(Kind.SAMPLE, 0, "one", 7, 9, 5, "note")
    file.tell(first)
    assert reader.new() == [first]
    assert reader.new() == []
    file.tell(second)
    EventFile(tmp_path / "two.events").tell(first)
    assert reader.new() == [second, first]
    file.close()


def test_half_a_line_is_left_until_it_is_whole(tmp_path: Path) -> None:
    reader = EventReader(tmp_path)
    path = tmp_path / "one.events"
    EventFile(path).tell(Event(Kind.BUILT, 1, "x"))
    whole = path.read_bytes()
    path.write_bytes(whole[:-9])
    assert reader.new() == []
    path.write_bytes(whole)
    assert reader.new() == [Event(Kind.BUILT, 1, "x")]


def test_samples_are_told_now_and_then_and_at_the_end() -> None:
    told: list[Event] = []
    tally = Tally()
    ticker = SampleTicker(told.append, 2, "job", 100_000, tally)
    for done in range(1, 100_001):
        tally.add(Sample(done - 1, "a", "a" if done % 4 else "b", "a", 9))
        ticker(done)
    assert told[0].done == 1
    assert (told[-1].done, told[-1].of, told[-1].right, told[-1].job) == (100_000, 100_000, 75_000, 2)
    assert len(told) < 100
