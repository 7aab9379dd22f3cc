# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""``torch.cpu`` plus the calls that verl makes on ``torch.<device>`` and that only ``torch.cuda`` has."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import psutil
import torch


class _CpuDevice(ModuleType):
    """A module object, as verl's platform interface wants; what is not defined here is taken from ``torch.cpu``."""

    def __getattr__(self, name: str) -> Any:
        return getattr(torch.cpu, name)

    @staticmethod
    def get_device_name(device: Any = None) -> str:
        return "CPU"

    @staticmethod
    def mem_get_info(device: Any = None) -> tuple[int, int]:
        """(free, total) bytes of the host."""
        memory = psutil.virtual_memory()
        return memory.available, memory.total

    @staticmethod
    def memory_allocated(device: Any = None) -> int:
        # 0 for all of these: there is no caching allocator whose books could be read.
        return 0

    memory_reserved = max_memory_allocated = max_memory_reserved = memory_allocated

    @staticmethod
    def empty_cache() -> None:
        pass

    ipc_collect = empty_cache

    @staticmethod
    def reset_peak_memory_stats(device: Any = None) -> None:
        pass

    reset_accumulated_memory_stats = reset_peak_memory_stats

    @staticmethod
    def get_rng_state(device: Any = None) -> torch.Tensor:
        return torch.get_rng_state()

    @staticmethod
    def set_rng_state(state: torch.Tensor, device: Any = None) -> None:
        torch.set_rng_state(state)

    @staticmethod
    def manual_seed(seed: int) -> None:
        torch.manual_seed(seed)

    manual_seed_all = manual_seed


CPU_DEVICE = _CpuDevice("rlops_verl_cpu.torch_cpu", "torch.cpu as verl expects it")
