#!/usr/bin/python
# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: verl_run_record
short_description: Keep the log and the metrics of a verl job on disk
version_added: 0.1.0
description:
  - Reads the driver log of a Ray job that runs verl and writes into the run's directory C(driver.log), C(metrics.jsonl)
    (one line C({"step", "metrics"}) for each step) and C(run.json) (status, times, summary).
  - Ray forgets its jobs and logs when the head is started anew. What this module has written stays.
  - A job that failed does not fail the task; look at RV(run.status). A job that the cluster does not know does.
author:
  - rlops contributors (@rlops)
extends_documentation_fragment:
  - rlops.verl.ray_api
options:
  submission_id:
    description: Id of the job.
    type: str
    required: true
  path:
    description: The run's directory on this host, which must exist.
    type: path
    required: true
attributes:
  check_mode:
    description: Can run in check_mode and return changed status prediction without modifying target.
    support: full
  diff_mode:
    description: Will return details on what has changed (or possibly needs changing in check_mode), when in diff mode.
    support: none
"""

EXAMPLES = r"""
- name: Keep the record of a run
  rlops.verl.verl_run_record:
    dashboard_url: http://10.0.0.1:8265
    token_path: /opt/verl/etc/ray_token
    submission_id: ppo-1a2b3c
    path: /opt/verl/runs/ppo/1a2b3c
"""

RETURN = r"""
run:
  description: The record, as it stands in C(run.json).
  returned: success
  type: dict
  contains:
    submission_id: {description: Id of the job., type: str}
    status: {description: Ray's status of the job., type: str}
    message: {description: The first line of Ray's words about it., type: str}
    seconds: {description: "Seconds from start to end, null while the job runs.", type: float}
    steps: {description: Number of training steps with metrics., type: int}
    last_step: {description: "Number of the last step, 0 when there is none.", type: int}
    first_score: {description: "Mean score of the first step, null when there is none.", type: float}
    last_score: {description: "Mean score of the last step, null when there is none.", type: float}
    seconds_per_step:
      description: Mean seconds of a step, null when there is none. The first is left out where there are more.
      type: float
    error: {description: "The line of the log that says why the job failed, empty otherwise.", type: str}
log_path:
  description: The kept driver log.
  returned: success
  type: str
"""

import json
import os

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.rlops.verl.plugins.module_utils import _atomic_file, _verl_log
from ansible_collections.rlops.verl.plugins.module_utils._ray_api import RayApiError
from ansible_collections.rlops.verl.plugins.module_utils._ray_connection import RAY_API_OPTIONS, connect


def write_if_other(path: str, text: str, check_mode: bool) -> bool:
    """Write the file atomically when its content differs; True when it did."""
    try:
        # As it is: progress bars have carriage returns.
        with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
            if file.read() == text:
                return False
    except OSError:
        pass
    if not check_mode:
        _atomic_file.write_text(path, text)
    return True


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            **RAY_API_OPTIONS,
            "submission_id": {"type": "str", "required": True},
            "path": {"type": "path", "required": True},
        },
        supports_check_mode=True,
    )
    api = connect(module)
    submission_id, path = module.params["submission_id"], module.params["path"]
    try:
        job = api.job(submission_id)
        log = api.logs(submission_id)
    except RayApiError as error:
        module.fail_json(msg=f"record of job {submission_id}: {error}")
    if job is None:
        module.fail_json(msg=f"record of job {submission_id}: the cluster does not know this job")

    lines = log.splitlines()
    steps = _verl_log.parse_steps(lines)
    run = {
        "submission_id": submission_id,
        "status": job.status,
        "message": job.message.partition("\n")[0],
        "seconds": round((job.end_time_ms - job.start_time_ms) / 1000, 1) if job.end_time_ms else None,
        **_verl_log.summary(steps),
        "error": _verl_log.first_error(lines) if job.status == "FAILED" else "",
    }
    files = {
        "driver.log": log,
        "metrics.jsonl": "".join(json.dumps(step, sort_keys=True) + "\n" for step in steps),
        "run.json": json.dumps(run, indent=2, sort_keys=True) + "\n",
    }
    try:
        changed = [
            name for name, text in files.items() if write_if_other(os.path.join(path, name), text, module.check_mode)
        ]
    except OSError as error:
        module.fail_json(msg=f"record of job {submission_id}: {path} cannot be written ({error.strerror})")
    module.exit_json(changed=bool(changed), run=run, log_path=os.path.join(path, "driver.log"))


if __name__ == "__main__":
    main()
