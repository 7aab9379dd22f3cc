# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The places where verl 0.9.1 has no switch for the CPU. One file each: what verl does there, and what it does now."""

from __future__ import annotations

from . import cpu_offload, process_group, rollout_registry, value_head

ALL = (process_group, value_head, cpu_offload, rollout_registry)


def apply() -> None:
    """Apply every patch. Raises CpuPlatformError, before anything is changed, where verl is not as expected."""
    for patch in ALL:
        patch.check()
    for patch in ALL:
        patch.apply()
