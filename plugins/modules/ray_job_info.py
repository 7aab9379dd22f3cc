#!/usr/bin/python
# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: ray_job_info
short_description: Read the state and the log of a Ray job
version_added: 0.1.0
description:
  - Reads one job of a Ray cluster by its REST API. Changes nothing. Needs no Ray on the host it runs on.
  - The log is read from a given position, so that a growing log can be followed without losing or repeating a line.
  - An API that does not answer or refuses the token does not fail the task; look at RV(reachable) and RV(problem). A
    token file that cannot be read does.
author:
  - rlops contributors (@rlops)
extends_documentation_fragment:
  - rlops.verl.ray_api
options:
  submission_id:
    description: Id of the job.
    type: str
    required: true
  log_offset:
    description:
      - Number of characters of the driver log that are known already. What lies behind is returned, in whole lines
        while the job runs. A negative number returns no log.
      - A number larger than the log, as after a restart of the head, returns it from its start.
    type: int
    default: -1
attributes:
  check_mode:
    description: Can run in check_mode and return changed status prediction without modifying target.
    support: full
  diff_mode:
    description: Will return details on what has changed (or possibly needs changing in check_mode), when in diff mode.
    support: none
"""

EXAMPLES = r"""
- name: Read a job and its whole log
  rlops.verl.ray_job_info:
    dashboard_url: http://10.0.0.1:8265
    submission_id: ppo-1a2b3c
    log_offset: 0
  register: training
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
exists:
  description: Whether the cluster knows the job.
  returned: when reachable
  type: bool
job:
  description: The job.
  returned: when it exists
  type: dict
  contains:
    submission_id: {description: Its id., type: str}
    status: {description: "V(PENDING), V(RUNNING), V(SUCCEEDED), V(FAILED) or V(STOPPED).", type: str}
    terminal: {description: Whether it has ended., type: bool}
    message: {description: Ray's words about the status., type: str}
    entrypoint: {description: The command., type: str}
    driver_exit_code: {description: "Exit code of the driver, null where Ray does not know it (yet).", type: int}
    driver_node_id: {description: Node that the driver ran on., type: str}
    start_time_ms: {description: "Start, in milliseconds since 1970.", type: int}
    end_time_ms: {description: "End, in milliseconds since 1970, or 0.", type: int}
    metadata: {description: Names and values attached to the job., type: dict}
log:
  description: The part of the driver log behind O(log_offset).
  returned: when it exists and O(log_offset) is not negative
  type: str
log_offset:
  description: Number of characters that are known now, for the next O(log_offset).
  returned: when it exists and O(log_offset) is not negative
  type: int
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.rlops.verl.plugins.module_utils._ray_api import RayApiError
from ansible_collections.rlops.verl.plugins.module_utils._ray_connection import RAY_API_OPTIONS, connect
from ansible_collections.rlops.verl.plugins.module_utils._ray_job import new_lines


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            **RAY_API_OPTIONS,
            "submission_id": {"type": "str", "required": True},
            "log_offset": {"type": "int", "default": -1},
        },
        supports_check_mode=True,
    )
    api = connect(module)
    submission_id, offset = module.params["submission_id"], module.params["log_offset"]
    try:
        # The state first: a job that had ended by then has written its whole log.
        job = api.job(submission_id)
        if job is None:
            module.exit_json(changed=False, reachable=True, problem="", exists=False)
        result = {"changed": False, "reachable": True, "problem": "", "exists": True, "job": job.as_dict()}
        if offset >= 0:
            result["log"], result["log_offset"] = new_lines(api.logs(submission_id), offset, job.terminal)
    except RayApiError as error:
        module.exit_json(changed=False, reachable=False, problem=str(error))
    module.exit_json(**result)


if __name__ == "__main__":
    main()
