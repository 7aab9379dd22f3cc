#!/usr/bin/python
# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: ray_job
short_description: Submit or stop a Ray job, once
version_added: 0.1.0
description:
  - Makes sure that a job has been submitted to a Ray cluster, by its REST API. Needs no Ray on the host it runs on.
  - The submission id is chosen by you. A job that runs is left alone, a job that has succeeded is not submitted again,
    and a job whose last attempt failed or was stopped is submitted again under the id with a number behind it, such as
    C(ppo-1a2b3c.2).
  - Does not wait for the end of the job; see M(rlops.verl.ray_job_follow).
author:
  - rlops contributors (@rlops)
extends_documentation_fragment:
  - rlops.verl.ray_api
options:
  submission_id:
    description: Id of the job. Derive it from the job's declaration, so that another declaration is another job.
    type: str
    required: true
  state:
    description:
      - V(submitted) makes sure that the job was submitted, V(stopped) that no attempt of it runs. A job that the
        cluster does not know counts as stopped.
    type: str
    choices: [submitted, stopped]
    default: submitted
  entrypoint:
    description: Shell command that the cluster runs on its head. Required with O(state=submitted).
    type: str
  runtime_env:
    description:
      - Ray's runtime environment of the job, such as C(env_vars), C(working_dir) and C(excludes).
      - A C(working_dir) that is a directory of the host that the module runs on is sent to the cluster as a package of
        at most 100 MiB, from which each node of the job gets a copy. M(rlops.verl.ray_working_dir_info) says what is
        sent. The address of a package, such as C(https://HOST/code.zip), is passed on.
    type: dict
    default: {}
  secret_env_vars:
    description:
      - Further C(env_vars) of O(runtime_env), whose values appear neither in logs nor in diffs nor in what the module
        returns. Ray itself keeps them in its store and shows them to everybody with the token of the cluster.
    type: dict
    default: {}
  working_dir_digest:
    description:
      - Fail when the content of the C(working_dir) in O(runtime_env) has another digest than this one by now. Without
        it, what is there at the time is sent.
      - When O(submission_id) is derived from the digest, this makes sure that the job runs what its name says.
    type: str
  metadata:
    description: Names and values attached to the job. Values become text.
    type: dict
    default: {}
  exclusive:
    description: Fail instead of submitting while another job runs on the cluster.
    type: bool
    default: false
  resubmit:
    description: Submit again when the last attempt failed or was stopped.
    type: bool
    default: true
  stop_timeout:
    description: Seconds within which each attempt has to stop. After them the task fails.
    type: int
    default: 60
  assume_cluster:
    description:
      - In check mode, treat a cluster that does not answer, or whose token is not there yet, as one that will be there
        and is empty. For playbooks that form the cluster in the same run.
    type: bool
    default: false
attributes:
  check_mode:
    description: Can run in check_mode and return changed status prediction without modifying target.
    support: full
  diff_mode:
    description: Will return details on what has changed (or possibly needs changing in check_mode), when in diff mode.
    support: partial
    details:
      - A submission is shown with its command, one argument a line, and its runtime environment. A stop shows nothing.
seealso:
  - module: rlops.verl.ray_job_follow
  - module: rlops.verl.ray_job_info
  - module: rlops.verl.ray_working_dir_info
"""

EXAMPLES = r"""
- name: Run a training
  rlops.verl.ray_job:
    dashboard_url: http://10.0.0.1:8265
    token_path: /opt/verl/etc/ray_token
    submission_id: ppo-1a2b3c
    entrypoint: /opt/verl/env/current/bin/python -m verl.trainer.main_ppo trainer.nnodes=2
    exclusive: true

- name: Run a program of a directory on this host
  rlops.verl.ray_job:
    dashboard_url: http://10.0.0.1:8265
    token_path: /opt/verl/etc/ray_token
    submission_id: evaluate-1
    entrypoint: python evaluate.py
    runtime_env:
      working_dir: /srv/evaluation
      excludes: ["/data/", "*.log"]

- name: Stop it
  rlops.verl.ray_job:
    dashboard_url: http://10.0.0.1:8265
    token_path: /opt/verl/etc/ray_token
    submission_id: ppo-1a2b3c
    state: stopped
"""

RETURN = r"""
submission_id:
  description: Id of the attempt that counts, the last one, or the one that was (or would be, in check mode) submitted.
  returned: success
  type: str
action:
  description:
    - What was done (or would be, in check mode).
    - V(submit), V(attach) (it was running already) or V(none) (it has ended) with O(state=submitted).
    - V(stop) or V(none) (no attempt was running) with O(state=stopped).
  returned: success
  type: str
  sample: submit
status:
  description: Ray's status of that attempt before the action, empty when there was none.
  returned: success
  type: str
  sample: RUNNING
reason:
  description: Why that was done, in words.
  returned: success, with O(state=submitted)
  type: str
  sample: the cluster does not know it
working_dir:
  description:
    - Address of the package of the C(working_dir) that the job was (or would be, in check mode) submitted with.
  returned: when a directory of this host is sent
  type: str
  sample: gcs://_ray_pkg_4f1c0e5b9d8a7c63e2b1a0f9d8c7b6a5.zip
"""

import os
import shlex

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.rlops.verl.plugins.module_utils import _ray_job, _verdict, _working_dir
from ansible_collections.rlops.verl.plugins.module_utils._ray_api import RayApi, RayApiError, RayJob
from ansible_collections.rlops.verl.plugins.module_utils._ray_connection import RAY_API_OPTIONS, connect
from ansible_collections.rlops.verl.plugins.module_utils._secrets import HIDDEN, SHORTEST, hidden_runtime_env
from ansible_collections.rlops.verl.plugins.module_utils._wait import Timeout, wait_for


def show(status: str, params: dict, package: _working_dir.Package | None) -> str:
    """The job as it stands in a diff: one argument a line."""
    lines = [f"status: {status}", "entrypoint:"]
    try:
        words = shlex.split(params["entrypoint"])
    except ValueError:
        words = [params["entrypoint"]]
    lines += [f"  {shlex.quote(word)}" for word in words]
    for name, value in sorted(hidden_runtime_env(with_variables(params, params["secret_env_vars"])).items()):
        lines.append(f"runtime_env.{name}: {value}")
    if package is not None:
        lines.append(f"sent as {package.uri}: {_working_dir.count(package.members)}")
    return "\n".join(lines) + "\n"


def with_variables(params: dict, variables: dict) -> dict:
    """The runtime environment with further variables."""
    if not variables:
        return dict(params["runtime_env"])
    return params["runtime_env"] | {"env_vars": (params["runtime_env"].get("env_vars") or {}) | variables}


def take_secrets(module: AnsibleModule) -> dict:
    """The secret variables, of which only the names stay among the parameters.

    Ansible blots out their values wherever they occur in the answer; a short one would occur in ids and numbers.
    """
    secrets = module.params["secret_env_vars"]
    module.params["secret_env_vars"] = dict.fromkeys(secrets, HIDDEN)
    module.no_log_values = {value for value in module.no_log_values if len(value) >= SHORTEST}
    return secrets


def cluster(module: AnsibleModule) -> RayApi | None:
    """The cluster; None for one that will only be there when this is no longer check mode."""
    token_path = module.params["token_path"]
    if module.check_mode and module.params["assume_cluster"] and token_path and not os.path.exists(token_path):
        return None
    return connect(module)


def read_jobs(module: AnsibleModule, api: RayApi | None) -> list[RayJob]:
    if api is None:
        return []
    try:
        return api.jobs()
    except RayApiError as error:
        if error.status == 0 and module.check_mode and module.params["assume_cluster"]:
            return []
        module.fail_json(msg=str(error))


def read_working_dir(module: AnsibleModule) -> _working_dir.Package | None:
    """The package of the job's working directory; None when it has none, or one that Ray can get by itself."""
    path = module.params["runtime_env"].get("working_dir")
    if not _working_dir.is_directory(path):
        return None
    excludes = module.params["runtime_env"].get("excludes") or []
    if not isinstance(excludes, list) or not all(isinstance(pattern, str) for pattern in excludes):
        module.fail_json(
            msg=f"runtime_env.excludes: found {excludes!r}, wanted a list of patterns. Write it as a list."
        )
    checks, package = _working_dir.prepare(path, excludes)
    if package is None:
        module.fail_json(msg="\n".join(map(_verdict.sentence, _verdict.failed(checks, "error"))))
    wanted = module.params["working_dir_digest"]
    if wanted and wanted != package.digest:
        module.fail_json(
            msg=f"{path}: found content with the digest {package.digest}, wanted {wanted}. Files were changed since "
            "the digest was taken: run again."
        )
    return package


def submit(module: AnsibleModule, api: RayApi | None, secrets: dict) -> None:
    base = module.params["submission_id"]
    plan = _ray_job.plan(read_jobs(module, api), base, module.params["exclusive"], module.params["resubmit"])
    if plan.action == "refuse":
        module.fail_json(
            msg=f"job {base} is not submitted: {plan.reason}, wanted an idle cluster. Wait for its end, or stop it "
            "with the module rlops.verl.ray_job and state=stopped, then run again."
        )
    changed = plan.action == "submit"
    result = {
        "changed": changed,
        "action": plan.action,
        "submission_id": plan.submission_id,
        "status": plan.status,
        "reason": plan.reason,
    }
    if changed:
        package = read_working_dir(module)
        runtime_env = with_variables(module.params, secrets)
        if package is not None:
            result["working_dir"] = runtime_env["working_dir"] = package.uri
        result["diff"] = {"before": "", "after": show(f"submitted as {plan.submission_id}", module.params, package)}
        if not module.check_mode and api is not None:
            try:
                # Asked each time, also where it is there: the cluster then keeps it until the job uses it.
                if package is not None and not api.has_package(package.name):
                    api.upload_package(package.name, package.archive())
                api.submit(
                    plan.submission_id,
                    module.params["entrypoint"],
                    runtime_env,
                    {str(key): str(value) for key, value in module.params["metadata"].items()},
                )
            except RayApiError as error:
                module.fail_json(msg=f"job {plan.submission_id} was not accepted: {error}", **result)
    module.exit_json(**result)


def stop(module: AnsibleModule, api: RayApi | None) -> None:
    base = module.params["submission_id"]
    running = [job for _number, job in _ray_job.attempts(read_jobs(module, api), base) if not job.terminal]
    result = {
        "changed": bool(running),
        "action": "stop" if running else "none",
        "submission_id": running[-1].submission_id if running else base,
        "status": running[-1].status if running else "",
    }
    if not module.check_mode and api is not None:
        for job in running:
            try:
                api.stop(job.submission_id)
                wait_for(
                    f"job {job.submission_id} stopped",
                    lambda job=job: api.job(job.submission_id),
                    lambda state: state is None or state.terminal,
                    module.params["stop_timeout"],
                )
            except (RayApiError, Timeout) as error:
                module.fail_json(msg=f"job {job.submission_id} was not stopped: {error}", **result)
    module.exit_json(**result)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            **RAY_API_OPTIONS,
            "submission_id": {"type": "str", "required": True},
            "state": {"type": "str", "choices": ["submitted", "stopped"], "default": "submitted"},
            "entrypoint": {"type": "str"},
            "runtime_env": {"type": "dict", "default": {}},
            "secret_env_vars": {"type": "dict", "default": {}, "no_log": True},
            "working_dir_digest": {"type": "str"},
            "metadata": {"type": "dict", "default": {}},
            "exclusive": {"type": "bool", "default": False},
            "resubmit": {"type": "bool", "default": True},
            "stop_timeout": {"type": "int", "default": 60},
            "assume_cluster": {"type": "bool", "default": False},
        },
        required_if=[("state", "submitted", ["entrypoint"])],
        supports_check_mode=True,
    )
    secrets = take_secrets(module)
    api = cluster(module)
    if module.params["state"] == "submitted":
        submit(module, api, secrets)
    else:
        stop(module, api)


if __name__ == "__main__":
    main()
