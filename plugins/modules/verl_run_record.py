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
  - A run may take several attempts, each of which goes on from the newest checkpoint. The metrics are those of all
    attempts (a step that was repeated has its last values), C(driver.log) is the log of the last one, and the logs of
    those before become C(driver.1.log), C(driver.2.log) and so on.
  - A job that failed does not fail the task; look at RV(run.status). A job that the cluster does not know does.
author:
  - rlops contributors (@rlops)
extends_documentation_fragment:
  - rlops.verl.ray_api
options:
  submission_id:
    description:
      - Id of the job, as in M(rlops.verl.ray_job). Its further attempts (C(ID.2), C(ID.3)) are recorded with it, as far
        as the cluster knows them.
    type: str
    required: true
  path:
    description: The run's directory on this host, which must exist.
    type: path
    required: true
  checkpoint_dir:
    description: Where the run saves its checkpoints, to learn the last step that was saved.
    type: path
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
    attempts:
      description: "C(submission_id), C(start_time_ms), C(status), C(seconds) and C(log) of each attempt, oldest first."
      type: list
      elements: dict
    status: {description: Ray's status of the job., type: str}
    message: {description: The first line of Ray's words about it., type: str}
    seconds: {description: "Seconds of the last attempt from start to end, null while it runs.", type: float}
    steps: {description: Number of training steps with metrics., type: int}
    last_step: {description: "Number of the last step, 0 when there is none.", type: int}
    saved_step: {description: "Step of the last checkpoint in O(checkpoint_dir), 0 when there is none.", type: int}
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

import contextlib
import json
import os
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.rlops.verl.plugins.module_utils import _atomic_file, _verl_log
from ansible_collections.rlops.verl.plugins.module_utils._ray_api import TERMINAL, RayApiError, RayJob
from ansible_collections.rlops.verl.plugins.module_utils._ray_connection import RAY_API_OPTIONS, connect
from ansible_collections.rlops.verl.plugins.module_utils._ray_job import attempts

LOG = "driver.log"
METRICS = "metrics.jsonl"
RECORD = "run.json"
# verl writes the number of the step when its checkpoint is complete.
TRACKER = "latest_checkpointed_iteration.txt"


class Kept:
    """The directory of a run, and what earlier attempts have left there."""

    def __init__(self, path: str):
        self.path = path
        record, metrics = self._read(RECORD), self._read(METRICS)
        try:
            self.attempts: list[dict] = json.loads(record or "{}").get("attempts", [])
            self.steps: list[dict] = [json.loads(line) for line in metrics.split("\n") if line]
        except (ValueError, AttributeError) as error:
            raise OSError(0, f"{RECORD} or {METRICS} is not what this module has written: {error}") from None

    def _read(self, name: str) -> str:
        try:
            # As it is: progress bars have carriage returns.
            with open(os.path.join(self.path, name), encoding="utf-8", errors="surrogateescape", newline="") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def add(self, attempt: dict, steps: list[dict]) -> None:
        """Add an attempt, or what is new of it. The last one that was started stands last."""
        self.attempts = sorted(
            [one for one in self.attempts if identity(one) != identity(attempt)] + [attempt],
            key=lambda one: one["start_time_ms"],
        )
        self.steps = _verl_log.continued(self.steps, steps)

    def set_aside(self, name: str, check_mode: bool) -> None:
        if not check_mode and not os.path.exists(os.path.join(self.path, name)):
            with contextlib.suppress(FileNotFoundError):
                os.rename(os.path.join(self.path, LOG), os.path.join(self.path, name))

    def write(self, name: str, text: str, check_mode: bool) -> bool:
        """Write a file atomically when its content differs; True when it did."""
        if os.path.exists(os.path.join(self.path, name)) and self._read(name) == text:
            return False
        if not check_mode:
            _atomic_file.write_text(os.path.join(self.path, name), text)
        return True


def identity(attempt: dict) -> tuple[str, int]:
    """A cluster that was started anew gives the same id to another attempt."""
    return attempt["submission_id"], attempt["start_time_ms"]


def described(job: RayJob) -> dict:
    seconds = round((job.end_time_ms - job.start_time_ms) / 1000, 1) if job.end_time_ms else None
    return {
        "submission_id": job.submission_id,
        "start_time_ms": job.start_time_ms,
        "status": job.status,
        "seconds": seconds,
    }


def saved_step(checkpoint_dir: str | None) -> int:
    try:
        return int(Path(checkpoint_dir or "", TRACKER).read_text())
    except (OSError, ValueError):
        return 0


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            **RAY_API_OPTIONS,
            "submission_id": {"type": "str", "required": True},
            "path": {"type": "path", "required": True},
            "checkpoint_dir": {"type": "path"},
        },
        supports_check_mode=True,
    )
    api = connect(module)
    submission_id, path = module.params["submission_id"], module.params["path"]
    try:
        kept = Kept(path)
        ended = {identity(attempt) for attempt in kept.attempts if attempt["status"] in TERMINAL}
        jobs = [job for _number, job in attempts(api.jobs(), submission_id)]
        if not jobs:
            module.fail_json(msg=f"record of job {submission_id}: the cluster does not know this job")
        last = jobs[-1]
        before = [identity(attempt) for attempt in kept.attempts]
        logs = {}
        for job in jobs:
            attempt = described(job)
            if job is last or identity(attempt) not in ended:
                logs[identity(attempt)] = log = api.logs(job.submission_id)
                kept.add(attempt, _verl_log.parse_steps(_verl_log.split_lines(log)))
        for number, attempt in enumerate(kept.attempts, 1):
            attempt["log"] = LOG if attempt is kept.attempts[-1] else f"driver.{number}.log"
        run = {
            **{name: described(last)[name] for name in ("submission_id", "status", "seconds")},
            "attempts": kept.attempts,
            "message": last.message.partition("\n")[0],
            **_verl_log.summary(kept.steps),
            "saved_step": saved_step(module.params["checkpoint_dir"]),
            "error": "",
        }
        if last.status == "FAILED":
            run["error"] = _verl_log.first_error(_verl_log.split_lines(logs[identity(described(last))]))
        # The log of an attempt that the cluster has forgotten moves out of the way. Whatever breaks off in between, the
        # next run finds either the old record or all logs of the new one.
        for attempt in kept.attempts[:-1]:
            if before and identity(attempt) == before[-1] and identity(attempt) not in logs:
                kept.set_aside(attempt["log"], module.check_mode)
        files = {attempt["log"]: logs[identity(attempt)] for attempt in kept.attempts if identity(attempt) in logs}
        newest = files.pop(LOG)
        files |= {
            RECORD: json.dumps(run, indent=2, sort_keys=True) + "\n",
            METRICS: "".join(json.dumps(step, sort_keys=True) + "\n" for step in kept.steps),
            LOG: newest,
        }
        changed = [name for name, text in files.items() if kept.write(name, text, module.check_mode)]
    except RayApiError as error:
        module.fail_json(msg=f"record of job {submission_id}: {error}")
    except OSError as error:
        module.fail_json(msg=f"record of job {submission_id}: {path} cannot be read or written ({error.strerror})")
    module.exit_json(changed=bool(changed), run=run, log_path=os.path.join(path, LOG))


if __name__ == "__main__":
    main()
