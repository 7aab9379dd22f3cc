# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Driver side of the rollout: checks the settings and starts one server beside each training rank."""

from __future__ import annotations

from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
from verl.workers.rollout.replica import RolloutReplica

from ..errors import CpuPlatformError
from .names import server_name
from .server import HFServer, ServerConfig

_PARALLEL = ("tensor_model_parallel_size", "data_parallel_size", "pipeline_model_parallel_size")


class HFReplica(RolloutReplica):
    """One server with a whole copy of the policy."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in _PARALLEL:
            if (found := getattr(self.config, name)) != 1:
                raise CpuPlatformError(
                    f"actor_rollout_ref.rollout.{name}: found {found}, wanted 1. "
                    "Rollout hf keeps a whole copy of the policy for each rank."
                )
        if self.is_reward_model or self.is_teacher_model:
            raise CpuPlatformError(
                "rollout hf serves the policy only: use a rule reward (reward.custom_reward_function)"
            )

    async def launch_servers(self) -> None:
        """Start the server on the node of its rank, so that weights stay on that node, and wait until it has loaded."""
        node_id = await self.workers[0].__ray_call__.remote(_node_id)
        name = server_name(self.replica_rank)
        server = (
            ray.remote(HFServer)
            .options(
                name=name,
                num_cpus=0,  # it works while its rank waits, on the same cores
                max_concurrency=self.max_concurrency,
                scheduling_strategy=NodeAffinitySchedulingStrategy(node_id, soft=False),
            )
            .remote(self._server_config())
        )
        await server.ready.remote()
        self.servers = [server]
        self._server_handle = server
        self._server_address = name

    def _server_config(self) -> ServerConfig:
        return ServerConfig(
            model_path=self.model_config.path,
            prompt_length=self.config.prompt_length,
            response_length=self.config.response_length,
            seed=self.config.seed + self.replica_rank,  # ranks must not sample the same
            trust_remote_code=self.model_config.trust_remote_code,
        )


def _node_id(_worker: Any) -> str:
    return ray.get_runtime_context().get_node_id()
