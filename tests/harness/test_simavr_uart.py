"""The simulated USART against hand counts. A frame is 160 cycles: 10 bits of 16 cycles."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from tests.harness.avrboards import FRAME, UNO, build, needs_simulator, running

pytestmark = needs_simulator


def test_transmitter_is_double_buffered_and_counts_ten_bits() -> None:
    """send.S, in cycles from the first STS: the looks at UDRE come at 4 + 5k, so the first that sees the end
    of frame 1 (160) is at 164, the pin falls at 168 and rose at -1. The second window begins at 169; the
    looks at TXC come at 172 + 5k, the first after frame 3 (480) at 482, and the pin falls at 486."""
    with running(build("send.S")) as (target, port):
        assert port.read(3) == b"abc"
        port.read(1)
        assert [window.cycles for window in target.windows()] == [168 + 1, 486 - 169]


def test_receiver_is_paced_by_the_host_at_ten_bits_a_byte() -> None:
    """100 frames lie between the first and the last of 101 bytes; a look at the flag comes every 5 cycles,
    and the last byte costs the loop's own 2 + 1 + 1 cycles more than the first."""
    with running(build("receive.S", "COUNT=101")) as (target, port):
        assert port.read(1) == b"R"
        port.write(bytes(range(101)))
        assert port.read(1) == bytes([100])
        (window,) = target.windows()
        assert abs(window.cycles - 100 * FRAME) <= 9
        assert target.facts().overruns == 0


@pytest.mark.parametrize(
    ("sent", "kept", "lost"),
    [
        (b"ab", b"ab", 0),
        (b"abc", b"abc", 0),  # the third waits in the shift register
        (b"abcd", b"abd", 1),  # the fourth's start bit overwrites it
        (b"abcde", b"abe", 2),
    ],
)
def test_two_bytes_fit_and_a_third_until_the_next_start_bit(sent: bytes, kept: bytes, lost: int) -> None:
    with running(build("overrun.c", f"WAIT={6 * FRAME}")) as (target, port):
        assert port.read(1) == b"R"
        port.write(sent)
        answer = port.read(1 + 2 * len(kept))
        assert answer[0] == len(kept)
        assert answer[1::2] == kept
        data_overrun = 1 << 3
        assert answer[2] == (data_overrun if lost else 0)
        assert set(answer[4::2]) == {0}, "the flag is gone once UDR has been read"
        assert target.facts().overruns == lost


def test_a_receiver_that_keeps_up_loses_nothing() -> None:
    with running(build("sleepy.c")) as (target, port):
        assert port.read(1) == b"S"
        for value in range(50):
            port.write(bytes([value]))
            assert port.read(1) == bytes([value + 1])
        assert target.facts().overruns == 0


def test_another_baud_rate_gives_garbage_both_ways() -> None:
    slow = replace(UNO, baud=500_000)
    with running(build("overrun.c", "WAIT=2000"), slow) as (_, port):
        assert port.read(1) == b"\0", "the device's R is not understood by the host"
        port.write(b"a")
        port.timeout = 1000 / UNO.clock_hz
        assert port.read(1) == b"", "the device has the byte and is still looking away"
        port.baudrate = UNO.baud
        port.timeout = 0.1
        count, byte, status = port.read(3)
        assert (count, byte, status) == (1, 0, 1 << 4), "a zero byte with a framing error"


@pytest.mark.parametrize(("baud", "understood"), [(1_030_000, True), (970_000, True), (1_080_000, False)])
def test_small_rate_errors_are_tolerated_as_on_the_chip(baud: int, understood: bool) -> None:
    with running(build("overrun.c", "WAIT=10"), replace(UNO, baud=baud)) as (_, port):
        assert (port.read(1) == b"R") == understood


def test_one_instruction_runs_before_an_interrupt_after_sei_and_reti() -> None:
    """latency.S: one INC before the first entry, one more before each of the nine others."""
    with running(build("latency.S")) as (_, port):
        before_first, before_tenth, entries = port.read(3)
        assert (before_first, before_tenth, entries) == (1, 10, 10)


def test_polling_the_status_does_not_sleep_on_the_host() -> None:
    """simavr would sleep a microsecond and more at each of the 3.2 million looks of a simulated second."""
    with running(build("overrun.c", "WAIT=10"), timeout=1.0) as (_, port):
        assert port.read(1) == b"R"
        begin = time.perf_counter()
        assert port.read(1) == b""
        assert time.perf_counter() - begin < 2.0
        assert port.now() > 1.0
