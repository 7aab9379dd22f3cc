#!/usr/bin/python
# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: ray_node
short_description: Run a Ray node as plain processes, without systemd
version_added: 0.1.0
description:
  - Starts and stops one Ray node (head or worker) on machines without a service manager, such as containers, rented
    pods and workstations.
  - The node is C(ray start --block) in a session of its own and survives the connection that started it.
  - It is found again by that session, by its temporary directory and by a variable in its environment. Other Ray
    clusters of the same host are never touched, which C(ray stop) cannot promise.
  - A node whose processes have died is noticed and started anew. A node that was started with another command or other
    variables is restarted.
  - Before a restart or a stop, the cluster at O(dashboard_url) is asked for its jobs. While one runs, the task fails
    and names it. Where it is not asked, does not answer or refuses the token, the processes of the node tell. Tasks and
    actors of Ray name themselves, and while there are any, the task fails and names them. A node without its raylet, or
    a head without its GCS, can run nothing.
  - A node that does not come up within O(timeout) is ended, and the task fails with the last lines of O(log_file).
author:
  - rlops contributors (@rlops)
extends_documentation_fragment:
  - rlops.verl.ray_api
options:
  state:
    description: Whether the node shall run.
    type: str
    choices: [started, stopped]
    default: started
  command:
    description:
      - The C(ray start) command with absolute path, as a list. C(--block) and C(--temp-dir) are added.
      - Required with O(state=started).
    type: list
    elements: str
  temp_dir:
    description:
      - Ray's temporary directory, which belongs to this node alone. Sockets lie below it, so its path may have no
        more than 43 bytes.
      - It is made where it is missing, and is the working directory of the node. A job without a C(working_dir) of its
        own therefore finds and writes relative paths below it.
    type: path
    required: true
  env_file:
    description:
      - File with lines C(NAME=value) which become the node's environment, over C(PATH), C(HOME), C(USER), C(LOGNAME)
        and C(LANG), which the module sets. In check mode it need not exist yet.
    type: path
  environment:
    description: Further variables of the node, over those of O(env_file). Give their values as text.
    type: dict
    default: {}
  state_file:
    description:
      - File in which the module keeps what it started. Its directory must exist. It is removed when the node is
        stopped.
    type: path
    required: true
  log_file:
    description: File that receives the output of C(ray start), in place of that of the start before.
    type: path
    required: true
  dashboard_url:
    description:
      - Address of the cluster's dashboard, where its jobs can be asked for before the node is restarted or stopped.
    type: str
    required: false
  head:
    description: The node is the head. A O(command) with C(--head) says so, too.
    type: bool
    default: false
  force:
    description: Restart or stop the node even while a job runs.
    type: bool
    default: false
  timeout:
    description: Seconds within which the node has to come up. Stopping takes 20 seconds at most.
    type: int
    default: 120
attributes:
  check_mode:
    description: Can run in check_mode and return changed status prediction without modifying target.
    support: full
  diff_mode:
    description: Will return details on what has changed (or possibly needs changing in check_mode), when in diff mode.
    support: full
"""

EXAMPLES = r"""
- name: Run a head
  rlops.verl.ray_node:
    command: [/opt/verl/env/current/bin/ray, start, --head, --port=6379]
    temp_dir: /opt/verl/ray
    env_file: /opt/verl/etc/cluster.env
    state_file: /opt/verl/run/ray_node.json
    log_file: /opt/verl/run/ray_node.log

- name: Stop it, and nothing else
  rlops.verl.ray_node:
    state: stopped
    temp_dir: /opt/verl/ray
    state_file: /opt/verl/run/ray_node.json
    log_file: /opt/verl/run/ray_node.log
"""

RETURN = r"""
action:
  description: "What was done (or would be, in check mode): V(none), V(start), V(restart) or V(stop)."
  returned: success
  type: str
  sample: start
pid:
  description: Process id, and session id, of the node's leader.
  returned: when the node was started or restarted
  type: int
stopped_processes:
  description: Number of processes that were ended (or would be, in check mode).
  returned: success
  type: int
running_jobs:
  description:
    - What kept the node from being restarted or stopped. Submission ids of jobs, drivers that joined by themselves, or
      names of the node's processes.
  returned: when the task failed because of them
  type: list
  elements: str
"""

import os
import pwd
import signal
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.rlops.verl.plugins.module_utils import _proc, _ray_node
from ansible_collections.rlops.verl.plugins.module_utils._detached import start_detached
from ansible_collections.rlops.verl.plugins.module_utils._ray_api import RayApiError
from ansible_collections.rlops.verl.plugins.module_utils._ray_connection import RAY_API_OPTIONS, describe
from ansible_collections.rlops.verl.plugins.module_utils._wait import Timeout, wait_for

STARTED = "Ray runtime started."
GRACE = 10  # seconds between SIGTERM and SIGKILL
PATIENCE = 10  # seconds for the workers of an ended job to end


class Node:
    """The node as this module reads and changes it."""

    def __init__(self, module: AnsibleModule):
        self.module = module
        self.temp_dir = module.params["temp_dir"].rstrip("/")
        self.state_file = Path(module.params["state_file"])
        self.log_file = Path(module.params["log_file"])
        self.command = list(module.params["command"] or [])
        if self.command:
            self.command += [f"--temp-dir={self.temp_dir}", "--block"]
        head = module.params["head"] or "--head" in self.command
        self.vital = _ray_node.VITAL_HEAD if head else _ray_node.VITAL_WORKER
        self.environment = self._environment()
        self.digest = _ray_node.start_digest(self.command, self.environment)

    def _environment(self) -> dict[str, str]:
        user = pwd.getpwuid(os.geteuid())
        environment = {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": user.pw_dir,
            "USER": user.pw_name,
            "LOGNAME": user.pw_name,
            "LANG": "C.UTF-8",
            _ray_node.MARKER: self.temp_dir,
        }
        env_file = self.module.params["env_file"]
        if env_file:
            try:
                environment.update(_ray_node.parse_env_file(Path(env_file).read_text(encoding="utf-8")))
            except OSError as error:
                if not self.module.check_mode:
                    self.module.fail_json(msg=f"env_file: {env_file} cannot be read ({error.strerror})")
        environment.update({name: str(value) for name, value in self.module.params["environment"].items()})
        return environment

    def read(self) -> _ray_node.NodeState:
        return _ray_node.look(self.state_file, _proc.processes(), self.temp_dir, self.vital)

    def refuse_while_a_job_runs(self, action: str, before: _ray_node.NodeState) -> None:
        """A running job is sacred: fail, naming it, unless told otherwise."""
        if self.module.params["force"] or before.missing:
            return
        running = self.jobs()
        if running is None:
            # Workers of a job that has just ended take a moment.
            try:
                wait_for("work ended", lambda: self.read().work, lambda work: not work, PATIENCE)
            except Timeout as timeout:
                running = list(timeout.last)
        if running:
            self.module.fail_json(
                msg=f"Ray on this host has to {action}, but a job runs on the cluster: found {', '.join(running)}, "
                "wanted none. Wait for its end or stop it, then run again; to end it with Ray, "
                "set ray_cluster_force to true.",
                running_jobs=running,
            )

    def jobs(self) -> list[str] | None:
        """Running jobs of the cluster; None where it does not tell."""
        if not self.module.params["dashboard_url"]:
            return None
        try:
            return describe(self.module).running()
        except (RayApiError, ValueError):
            return None

    def start(self) -> int:
        try:
            os.makedirs(self.temp_dir, mode=0o700, exist_ok=True)
            self.state_file.touch()  # what cannot be kept must not be started
            leader = start_detached(self.command, self.environment, self.log_file, self.temp_dir)
        except OSError as error:
            self.module.fail_json(msg=f"Ray did not start on this host: {error.filename}: {error.strerror}")
        process = _proc.processes().get(leader.pid)
        start_ticks = process.start_ticks if process else 0
        record = _ray_node.NodeRecord(leader.pid, start_ticks, _proc.boot_id(), self.digest)
        self.state_file.write_text(record.to_json(), encoding="utf-8")

        def read() -> tuple[bool, bool]:
            """Whether the leader has ended, and whether Ray said that it runs."""
            return leader.poll() is not None, STARTED in self.log_file.read_text(errors="replace")

        timeout = self.module.params["timeout"]
        try:
            ended, _started = wait_for("Ray started", read, any, timeout)
            reason = f"it ended with exit code {leader.returncode}"
        except Timeout:
            ended, reason = True, f"it did not come up within {timeout} s"
        if ended:
            self.end(self.read().members)
            tail = "\n".join(self.log_file.read_text(errors="replace").splitlines()[-15:])
            self.module.fail_json(
                msg=f"Ray did not start on this host: {reason}. Its whole output is in {self.log_file}; it ends with:\n"
                + tail
            )
        return leader.pid

    def end(self, members: tuple[int, ...]) -> None:
        """End the given processes, politely first, and wait until they are gone."""

        def alive() -> list[int]:
            table = _proc.processes()
            return [pid for pid in members if pid in table and not table[pid].zombie]

        for number, patience in ((signal.SIGTERM, GRACE), (signal.SIGKILL, GRACE)):
            for pid in alive():
                try:
                    os.kill(pid, number)
                except ProcessLookupError:
                    pass
                except PermissionError:
                    self.module.fail_json(
                        msg=f"process {pid} of this Ray node belongs to another user: run as that user"
                    )
            try:
                wait_for("processes ended", alive, lambda left: not left, patience, interval=0.2)
                return
            except Timeout:
                continue
        self.module.fail_json(msg=f"processes {alive()} of this Ray node do not end, not even by SIGKILL")


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            **RAY_API_OPTIONS,
            "dashboard_url": {"type": "str"},
            "state": {"type": "str", "choices": ["started", "stopped"], "default": "started"},
            "command": {"type": "list", "elements": "str"},
            "temp_dir": {"type": "path", "required": True},
            "env_file": {"type": "path"},
            "environment": {"type": "dict", "default": {}},
            "state_file": {"type": "path", "required": True},
            "log_file": {"type": "path", "required": True},
            "head": {"type": "bool", "default": False},
            "force": {"type": "bool", "default": False},
            "timeout": {"type": "int", "default": 120},
        },
        required_if=[("state", "started", ["command"])],
        supports_check_mode=True,
    )
    node = Node(module)
    if len(os.fsencode(node.temp_dir)) > _ray_node.LONGEST_TEMP_DIR:
        module.fail_json(
            msg=f"temp_dir: found {node.temp_dir} with {len(os.fsencode(node.temp_dir))} bytes, wanted at most "
            f"{_ray_node.LONGEST_TEMP_DIR}: the paths of Ray's sockets would be longer than the system allows. "
            "Choose a shorter one."
        )
    before = node.read()
    action = _ray_node.decide(module.params["state"], before, node.digest)
    result = {
        "changed": action != "none",
        "action": action,
        "stopped_processes": len(before.members) if action in ("restart", "stop") else 0,
        "diff": {
            "before": f"state: {'started' if before.running else 'stopped'}\n",
            "after": f"state: {module.params['state']}\n",
        },
    }
    if action == "restart":
        result["diff"]["after"] += f"restarted because: {restart_reason(before)}\n"
    if action in ("restart", "stop"):
        node.refuse_while_a_job_runs(action, before)
    if not module.check_mode:
        if action in ("restart", "stop"):
            node.end(before.members)
        if action == "stop":
            node.state_file.unlink(missing_ok=True)
        if action in ("restart", "start"):
            result["pid"] = node.start()
    module.exit_json(**result)


def restart_reason(state: _ray_node.NodeState) -> str:
    if state.missing:
        return f"{', '.join(state.missing)} has died"
    return "its command or environment has changed" if state.running else "its leader has died"


if __name__ == "__main__":
    main()
