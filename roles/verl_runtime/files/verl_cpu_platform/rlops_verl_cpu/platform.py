# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""verl platform ``cpu``: torch's CPU device, gloo collectives, Ray's "GPU" resource as plain worker slots."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import torch
from verl.plugin.platform import PlatformBase

from .device_module import CPU_DEVICE
from .errors import CpuPlatformError

NAME = "cpu"

_refusal: CpuPlatformError | None = None


def refuse(error: CpuPlatformError) -> None:
    """Let every attempt to create the platform raise ``error`` (see ``plugin.py``)."""
    global _refusal
    _refusal = error


class CpuPlatform(PlatformBase):
    """All methods of verl's PlatformBase; those about device memory, streams and profilers have nothing to do."""

    def __init__(self) -> None:
        if _refusal is not None:
            raise _refusal

    # --- device ---

    @property
    def device_name(self) -> str:
        return "cpu"

    @property
    def vendor_name(self) -> str:
        return "cpu"

    @property
    def device_module(self) -> ModuleType:
        return CPU_DEVICE

    def is_available(self) -> bool:
        return True

    def is_platform_available(self, use_smi_check: bool = False) -> bool:
        # Never chosen by auto-detection: a GPU node whose driver is broken must fail, not train on its CPU.
        return False

    def current_device(self) -> str:  # type: ignore[override]
        # verl passes this on to tensor.to(); the CPU has no index.
        return "cpu"

    def device_count(self) -> int:
        return 1

    def set_device(self, device_index: int) -> None:
        pass

    def synchronize(self, device_index: int | None = None) -> None:
        pass

    def get_device_capability(self, device_index: int = 0) -> tuple[int | None, int | None]:
        return None, None

    # --- random numbers ---

    def manual_seed(self, seed: int) -> None:
        torch.manual_seed(seed)

    def manual_seed_all(self, seed: int) -> None:
        torch.manual_seed(seed)

    # --- memory ---

    def set_allocator_settings(self, settings: str) -> None:
        pass

    def empty_cache(self) -> None:
        pass

    def is_ipc_supported(self) -> bool:
        return False

    # --- processes ---

    def communication_backend_name(self) -> str:
        return "gloo"

    def visible_devices_envvar(self) -> str:
        # What Ray sets for an actor that holds a "GPU"; verl's workers read their slot from it.
        return "CUDA_VISIBLE_DEVICES"

    def ray_resource_name(self) -> str:
        return "GPU"

    def ray_noset_envvars(self) -> list[str]:
        return []

    # --- profiling ---

    @contextmanager
    def nvtx_range(self, msg: str) -> Iterator[None]:
        yield

    def profiler_start(self) -> None:
        pass

    def profiler_stop(self) -> None:
        pass

    def cudart(self) -> Any:
        return None
