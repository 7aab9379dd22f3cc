# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""torch.distributed backend.

verl asks for ``cpu:gloo,<device>:<backend>``. With the device ``cpu`` that is ``cpu:gloo,cpu:gloo``, and torch refuses
a device that is named twice.
"""

from __future__ import annotations

import functools
from typing import Any

from verl.utils import distributed

from .. import expect

_NAME = "initialize_global_process_group_ray"


def check() -> Any:
    return expect.function(distributed, _NAME, ("timeout_second", "backend"))


def apply() -> None:
    original = check()

    @functools.wraps(original)
    def initialize_global_process_group_ray(timeout_second: int | None = None, backend: str | None = None) -> None:
        original(timeout_second=timeout_second, backend=backend or "cpu:gloo")

    setattr(distributed, _NAME, initialize_global_process_group_ray)
