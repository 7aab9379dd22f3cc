# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Read environment variables from inside a Ray task on each node and write them to a file for its owner alone.

Argument: base64 of JSON {"address": "10.0.0.1:6379", "names": [...], "key": "...", "path": "..."}. The file gets the
key when all nodes have answered, and an empty one otherwise.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import tempfile

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

PATIENCE = 60  # seconds for all nodes together


@ray.remote(num_cpus=0)
def read(names: list[str]) -> dict[str, str]:
    return {name: os.environ[name] for name in names if name in os.environ}


def main() -> None:
    request = json.loads(base64.b64decode(sys.argv[1]))
    ray.init(address=request["address"], log_to_driver=False, logging_level="ERROR")
    tasks = {}
    for node in ray.nodes():
        if node["Alive"]:
            here = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            tasks[read.options(scheduling_strategy=here).remote(request["names"])] = node["NodeManagerAddress"]
    ready, late = ray.wait(list(tasks), num_returns=len(tasks), timeout=PATIENCE)
    proof = {"key": "" if late else request["key"], "nodes": {tasks[task]: ray.get(task) for task in ready}}
    # Not printed: some of the values may be secrets.
    descriptor, partial = tempfile.mkstemp(dir=os.path.dirname(request["path"]))
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(proof, file)
    os.replace(partial, request["path"])


if __name__ == "__main__":
    main()
