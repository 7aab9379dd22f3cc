#!/usr/bin/python
# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: ray_job_follow
short_description: Show the log of a Ray job while it runs and wait for its end
version_added: 0.1.0
description:
  - Prints new lines of the job's driver log on the terminal as they appear, and a short line for each finished training step
    of a verl job, until the job has ended.
  - The job's status decides, never the log. An API that does not answer for a while is waited for.
  - Interrupting the playbook leaves the job running; following it again shows its log from the start or from O(log_offset).
  - A job that failed does not fail the task; look at RV(job.status).
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
      - V(log) prints every line, V(steps) only the line of each finished step, V(none) nothing.
    type: str
    choices: [log, steps, none]
    default: log
  total_steps:
    description: Number of training steps to come, for the progress line.
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
    description: Number of characters of the log that need not be shown.
    type: int
    default: 0
notes:
  - The work is done by an action plugin, on the controller, which reads the job through M(rlops.verl.ray_job_info) on the host.
attributes:
  check_mode:
    description: Can run in check_mode and return changed status prediction without modifying target.
    support: full
  diff_mode:
    description: Will return details on what has changed (or possibly needs changing in check_mode), when in diff mode.
    support: none
"""

EXAMPLES = r"""
- name: Follow a training
  rlops.verl.ray_job_follow:
    dashboard_url: http://10.0.0.1:8265
    token_path: /opt/verl/etc/ray_token
    submission_id: ppo-1a2b3c
    total_steps: 100
"""

RETURN = r"""
job:
  description: The job as it ended, in the form of M(rlops.verl.ray_job_info).
  returned: success
  type: dict
"""
