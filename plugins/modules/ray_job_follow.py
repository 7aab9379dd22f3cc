#!/usr/bin/python
# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: ray_job_follow
short_description: Show the log of a Ray job while it runs and wait for its end
version_added: 0.1.0
description:
  - Prints new lines of the job's driver log on the terminal as they appear, and a short line for each finished training
    step of a verl job, until the job has ended.
  - The job's status decides, never the log. An API that does not answer for a while is waited for.
  - Interrupting the playbook leaves the job running; following it again shows its log from the start or from
    O(log_offset).
  - A job that failed does not fail the task; look at RV(job.status). A job that the cluster does not know does.
author:
  - rlops contributors (@rlops)
extends_documentation_fragment:
  - rlops.verl.ray_api
options:
  submission_id:
    description: Id of the job.
    type: str
    required: true
  show:
    description:
      - V(log) prints the log and the line of each finished step, V(steps) only the latter, V(none) nothing.
      - In the log that is printed, colours, empty lines and progress bars are left out, and the configuration that verl
        prints at its start is one line.
    type: str
    choices: [log, steps, none]
    default: log
  total_steps:
    description: Number of training steps of the whole run, for the time that is left in the line of each step.
    type: int
  interval:
    description: Seconds between two looks at the job.
    type: float
    default: 3
  timeout:
    description: Seconds after which following is given up with an error. The job goes on. 0 waits without end.
    type: int
    default: 0
  patience:
    description: Seconds for which the API may be unreachable before following is given up with an error.
    type: int
    default: 120
  log_offset:
    description: Number of characters at the start of the log that are not shown.
    type: int
    default: 0
notes:
  - The work is done by an action plugin, on the controller, which reads the job through M(rlops.verl.ray_job_info) on
    the host.
attributes:
  check_mode:
    description: Can run in check_mode and return changed status prediction without modifying target.
    support: partial
    details:
      - In check mode nothing is followed and the task is skipped.
  diff_mode:
    description: Will return details on what has changed (or possibly needs changing in check_mode), when in diff mode.
    support: none
seealso:
  - module: rlops.verl.ray_job
  - module: rlops.verl.ray_job_info
  - module: rlops.verl.verl_run_record
"""

EXAMPLES = r"""
- name: Follow a training
  rlops.verl.ray_job_follow:
    dashboard_url: http://10.0.0.1:8265
    token_path: /opt/verl/etc/ray_token
    submission_id: ppo-1a2b3c
    total_steps: 100
  register: followed
  failed_when: followed.job.status != 'SUCCEEDED'
"""

RETURN = r"""
job:
  description: The job as it ended, in the form of M(rlops.verl.ray_job_info).
  returned: success
  type: dict
  contains:
    submission_id: {description: Its id., type: str}
    status: {description: "V(SUCCEEDED), V(FAILED) or V(STOPPED).", type: str}
    terminal: {description: "Whether it has ended, which is so.", type: bool}
    message: {description: Ray's words about the status., type: str}
    entrypoint: {description: The command., type: str}
    driver_exit_code: {description: "Exit code of the driver, null where Ray does not know it.", type: int}
    driver_node_id: {description: Node that the driver ran on., type: str}
    start_time_ms: {description: "Start, in milliseconds since 1970.", type: int}
    end_time_ms: {description: "End, in milliseconds since 1970.", type: int}
    metadata: {description: Names and values attached to the job., type: dict}
"""
