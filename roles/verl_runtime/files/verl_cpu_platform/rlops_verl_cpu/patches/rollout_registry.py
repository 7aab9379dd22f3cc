# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The rollout name ``hf``.

verl 0.9.1 knows vllm, sglang and trtllm. A rollout has two halves: a replica (driver side, starts the servers), for
which verl has a public registry, and an adapter (in each rank, pushes weights), whose table is private.
"""

from __future__ import annotations

from typing import Any

from verl.workers.rollout import base, replica

from .. import expect

ROLLOUT = "hf"


def check() -> Any:
    expect.function(replica.RolloutReplicaRegistry, "register", ("name", "loader"))
    return expect.mapping(base, "_ROLLOUT_REGISTRY", ("vllm", "async"))


def apply() -> None:
    adapters = check()
    adapters[(ROLLOUT, "async")] = "rlops_verl_cpu.rollout.adapter.HFWeightAdapter"
    replica.RolloutReplicaRegistry.register(ROLLOUT, _load_replica)


def _load_replica() -> type:
    from ..rollout.replica import HFReplica

    return HFReplica
