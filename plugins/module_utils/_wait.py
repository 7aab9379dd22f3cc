# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Waiting for a named state with a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

State = TypeVar("State")


class Timeout(Exception):
    """The deadline passed; ``last`` is the last state that was read."""

    def __init__(self, what: str, seconds: float, last: object):
        super().__init__(f"{what}: not reached within {seconds:g} s; last state: {last}")
        self.last = last


def wait_for(
    what: str,
    read: Callable[[], State],
    reached: Callable[[State], bool],
    timeout: float,
    interval: float = 0.5,
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> State:
    """Read the state until ``reached`` says yes and return it; raise Timeout with the last state otherwise."""
    deadline = clock() + timeout
    while True:
        state = read()
        if reached(state):
            return state
        left = deadline - clock()
        if left <= 0:
            raise Timeout(what, timeout, state)
        pause(min(interval, left))
