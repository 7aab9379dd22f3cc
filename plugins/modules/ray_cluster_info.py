#!/usr/bin/python
# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: ray_cluster_info
short_description: Read the nodes and jobs of a Ray cluster
version_added: 0.1.0
description:
  - Asks the cluster's REST API which nodes it has, with their resources, and which jobs run on it.
  - Changes nothing. Needs no Ray on the host it runs on.
  - An API that does not answer or refuses the token does not fail the task; look at RV(reachable) and RV(problem). A
    token file that cannot be read does.
author:
  - rlops contributors (@rlops)
extends_documentation_fragment:
  - rlops.verl.ray_api
options:
  wait_nodes:
    description:
      - Wait until at least this many nodes are alive. What was found by the deadline is returned in any case.
      - With 0, and in check mode, the cluster is read once and nothing is waited for.
    type: int
    default: 0
  wait_timeout:
    description: Seconds to wait for O(wait_nodes), during which the API need not answer.
    type: int
    default: 60
attributes:
  check_mode:
    description: Can run in check_mode and return changed status prediction without modifying target.
    support: full
  diff_mode:
    description: Will return details on what has changed (or possibly needs changing in check_mode), when in diff mode.
    support: none
"""

EXAMPLES = r"""
- name: Look at the cluster
  rlops.verl.ray_cluster_info:
    dashboard_url: http://10.0.0.1:8265
    token_path: /opt/verl/etc/ray_token
  register: cluster
"""

RETURN = r"""
reachable:
  description: Whether the API answered.
  returned: always
  type: bool
problem:
  description: Why it did not, empty otherwise.
  returned: always
  type: str
ray_version:
  description: Version of Ray that the head runs.
  returned: when reachable
  type: str
session_name:
  description: Name of the head's session, which tells one cluster from another.
  returned: when reachable
  type: str
nodes:
  description: The nodes, alive or not.
  returned: when reachable
  type: list
  elements: dict
  contains:
    node_id: {description: Ray's id of the node., type: str}
    name: {description: Name given at its start., type: str}
    address: {description: Address the node advertises., type: str}
    alive: {description: Whether the cluster takes it to be alive., type: bool}
    is_head: {description: Whether it is the head., type: bool}
    state_message: {description: Why it is dead., type: str}
    slots: {description: "Ray resource C(GPU): worker slots.", type: int}
    cpus: {description: Logical processors., type: int}
    memory_bytes: {description: "Memory for tasks and actors, in bytes.", type: int}
    object_store_bytes: {description: "Size of the object store, in bytes.", type: int}
running_jobs:
  description: Submission ids of jobs that have not ended. Drivers that joined by themselves are not among them.
  returned: when reachable
  type: list
  elements: str
"""

from dataclasses import asdict

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.rlops.verl.plugins.module_utils._ray_api import RayApi, RayApiError
from ansible_collections.rlops.verl.plugins.module_utils._ray_connection import RAY_API_OPTIONS, connect
from ansible_collections.rlops.verl.plugins.module_utils._wait import Timeout, wait_for


def read(api: RayApi) -> dict:
    """The cluster's state; an API that does not answer (yet) is a state too."""
    try:
        ray_version, session_name = api.version()
        nodes = api.nodes()
        jobs = api.jobs()
    except RayApiError as error:
        return {"reachable": False, "problem": str(error)}
    return {
        "reachable": True,
        "problem": "",
        "ray_version": ray_version,
        "session_name": session_name,
        "nodes": [asdict(node) for node in nodes],
        "running_jobs": sorted(job.submission_id for job in jobs if not job.terminal),
    }


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            **RAY_API_OPTIONS,
            "wait_nodes": {"type": "int", "default": 0},
            "wait_timeout": {"type": "int", "default": 60},
        },
        supports_check_mode=True,
    )
    api = connect(module)
    wanted = module.params["wait_nodes"]

    def formed(state: dict) -> bool:
        return state["reachable"] and sum(node["alive"] for node in state["nodes"]) >= wanted

    if module.check_mode or not wanted:
        module.exit_json(changed=False, **read(api))
    try:
        state = wait_for(f"{wanted} Ray nodes alive", lambda: read(api), formed, module.params["wait_timeout"])
    except Timeout as timeout:
        state = timeout.last
    module.exit_json(changed=False, **state)


if __name__ == "__main__":
    main()
