# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.rlops.verl.plugins.module_utils._wait import Timeout, wait_for


class Time:
    """A clock that moves only while somebody pauses; the state that is read is its hand."""

    def __init__(self, slow_read: float = 0):
        self.now, self.slow_read = 100.0, slow_read
        self.pauses: list[float] = []
        self.reads: list[float] = []

    def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds

    def read(self) -> float:
        self.reads.append(self.now)
        self.now += self.slow_read
        return self.reads[-1]

    def wait(self, until: float, timeout: float, interval: float) -> float:
        arguments = {"clock": lambda: self.now, "pause": self.pause}
        return wait_for("the hour", self.read, lambda now: now >= until, timeout, interval, **arguments)


def test_a_state_that_is_there_needs_no_pause():
    time = Time()
    assert time.wait(until=100, timeout=0, interval=1) == 100
    assert time.pauses == []


def test_the_state_that_was_reached_comes_back():
    time = Time()
    assert time.wait(until=103, timeout=60, interval=2) == 104
    assert time.pauses == [2, 2]


def test_the_last_look_is_at_the_deadline():
    time = Time()
    assert time.wait(until=105, timeout=5, interval=2) == 105
    assert time.pauses == [2, 2, 1]


def test_a_timeout_says_what_was_waited_for_and_what_was_seen():
    time = Time()
    with pytest.raises(Timeout, match="^the hour: not reached within 5 s; last state: 105.0$") as caught:
        time.wait(until=1000, timeout=5, interval=2)
    assert caught.value.last == 105
    assert time.reads == [100, 102, 104, 105]


@pytest.mark.parametrize("timeout", [0, -1])
def test_without_time_there_is_one_look(timeout):
    time = Time()
    with pytest.raises(Timeout):
        time.wait(until=1000, timeout=timeout, interval=1)
    assert (time.reads, time.pauses) == ([100], [])


@given(st.integers(0, 20), st.integers(1, 5), st.integers(0, 7))
def test_no_pause_is_negative_or_passes_the_deadline(timeout, interval, slow_read):
    time = Time(slow_read)
    with pytest.raises(Timeout):
        time.wait(until=1000, timeout=timeout, interval=interval)
    assert all(0 < pause <= interval for pause in time.pauses)
    assert time.reads[-1] <= 100 + timeout
    assert time.now >= 100 + timeout


def test_an_error_of_the_reader_ends_the_wait():
    with pytest.raises(ZeroDivisionError):
        wait_for("nothing", lambda: 1 // 0, bool, 60)


def test_the_clock_of_the_system_is_the_default():
    with subprocess.Popen(["sleep", "0.01"]) as process:
        assert wait_for("its end", process.poll, lambda code: code is not None, 60, interval=0.01) == 0
