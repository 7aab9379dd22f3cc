# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Rank side of the rollout: pushes the weights of the trained policy to the server of this rank."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import ray
import torch
from verl.workers.rollout.base import BaseRollout

from ..errors import CpuPlatformError
from .names import server_name


class HFWeightAdapter(BaseRollout):
    """verl makes one in each rank; rank and replica are the same number, for a replica has one rank."""

    def __init__(self, config: Any, model_config: Any, device_mesh: Any, replica_rank: int = -1) -> None:
        super().__init__(config, model_config, device_mesh)
        self.replica_rank = int(os.environ["RANK"]) if replica_rank == -1 else replica_rank
        self.is_leader_rank = True  # read by verl: this rank talks to the server

    async def resume(self, tags: list[str]) -> None:
        """Nothing was released."""

    async def release(self) -> None:
        """There is no device memory to give back."""

    @torch.no_grad()
    async def update_weights(
        self,
        weights: Iterable[tuple[str, torch.Tensor]],
        global_steps: int | None = None,
        wire_format: str = "named_tensors",
        peft_config: Any = None,
        **_: Any,
    ) -> None:
        """Send the whole state dict. ``weights`` gathers shard by shard: every rank must walk it to its end."""
        if wire_format != "named_tensors":
            raise CpuPlatformError(f"rollout hf takes full weights; found wire_format {wire_format!r}")
        if peft_config is not None:
            raise CpuPlatformError("rollout hf has no LoRA adapters: set actor_rollout_ref.model.lora.merge=true")
        full = {name: tensor.detach().to("cpu", copy=True) for name, tensor in weights}
        server = ray.get_actor(server_name(self.replica_rank))
        await server.load_weights.remote(full, global_steps)
