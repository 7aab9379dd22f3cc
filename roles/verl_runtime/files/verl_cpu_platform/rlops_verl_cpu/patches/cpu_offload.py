# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""FSDP2's CPU offload.

verl gives the reference model (and any model with ``offload_policy=true``) ``CPUOffloadPolicy(pin_memory=True)``.
Pinned memory is memory that a GPU can read; without an accelerator torch cannot pin.
"""

from __future__ import annotations

from typing import Any

from verl.utils import fsdp_utils

from .. import expect

_NAME = "CPUOffloadPolicy"


def check() -> Any:
    return expect.function(fsdp_utils, _NAME, ("pin_memory",))


def apply() -> None:
    original = check()

    class CPUOffloadPolicy(original):  # type: ignore[misc]  # a subclass: torch tests with isinstance
        def __init__(self, pin_memory: bool = False) -> None:
            super().__init__(pin_memory=False)

    # verl's FSDP engine imports the name from here, and is itself imported after the plugins.
    setattr(fsdp_utils, _NAME, CPUOffloadPolicy)
