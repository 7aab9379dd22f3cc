# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Follow a Ray job from the controller: the module on the host reads, this plugin prints and waits."""

from __future__ import annotations

import time
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.rlops.verl.plugins.module_utils import _verl_log
from ansible_collections.rlops.verl.plugins.module_utils._ray_connection import RAY_API_OPTIONS
from ansible_collections.rlops.verl.plugins.module_utils._wait import Timeout, wait_for

display = Display()

OPTIONS: dict[str, dict[str, Any]] = {
    **RAY_API_OPTIONS,
    # A path of the host, on which the module expands it; here it is the controller's home that would be put in.
    "token_path": {"type": "str", "no_log": False},
    "submission_id": {"type": "str", "required": True},
    "show": {"type": "str", "choices": ["log", "steps", "none"], "default": "log"},
    "total_steps": {"type": "int"},
    "interval": {"type": "float", "default": 3},
    "timeout": {"type": "int", "default": 0},
    "patience": {"type": "int", "default": 120},
    "log_offset": {"type": "int", "default": 0},
}
FOREVER = 10 * 365 * 24 * 3600


class ActionModule(ActionBase):
    TRANSFERS_FILES = False
    _supports_check_mode = True
    _supports_async = False

    def run(self, tmp: str | None = None, task_vars: dict | None = None) -> dict:
        result = super().run(tmp, task_vars)
        _validation, options = self.validate_argument_spec(argument_spec=OPTIONS)
        if self._task.check_mode:
            result.update(skipped=True, msg="nothing is followed in check mode")
            return result

        self.options, self.task_vars = options, task_vars
        self.offset = options["log_offset"]
        self.view = _verl_log.LogView()
        self.silent_since: float | None = None
        job_id = options["submission_id"]
        if options["show"] != "none":
            display.display(f"following job {job_id}: Ctrl-C leaves it running, the same command takes it up again")
        try:
            job = wait_for(
                f"end of job {job_id}",
                self._look,
                lambda state: bool(state) and state["terminal"],
                options["timeout"] or FOREVER,
                options["interval"],
            )
        except Timeout as timeout:
            raise AnsibleActionFail(f"{timeout}. The job goes on; run again to take it up.") from None
        result.update(changed=False, job=job)
        return result

    def _look(self) -> dict[str, Any] | None:
        """Read the job once, print what is new, and return the job; None while the API does not answer."""
        names = [*RAY_API_OPTIONS, "submission_id"]
        arguments = {name: self.options[name] for name in names if self.options[name] is not None}
        answer = self._execute_module(
            module_name="rlops.verl.ray_job_info",
            module_args={**arguments, "log_offset": self.offset},
            task_vars=self.task_vars,
        )
        problem = answer.get("problem") or (answer.get("msg", "no reason given") if answer.get("failed") else "")
        if problem or not answer.get("reachable"):
            now = time.monotonic()
            self.silent_since = now if self.silent_since is None else self.silent_since
            silent = now - self.silent_since
            if silent >= self.options["patience"]:
                raise AnsibleActionFail(
                    f"job {self.options['submission_id']} cannot be read for {silent:.0f} s: {problem}"
                )
            return None
        self.silent_since = None
        if not answer["exists"]:
            raise AnsibleActionFail(
                f"job {self.options['submission_id']}: the cluster does not know it (any more). "
                "Ray forgets its jobs when the head is started anew: run again to submit it once more."
            )
        self.offset = answer["log_offset"]
        for line in _verl_log.split_lines(answer["log"]):
            self._show(line)
        return answer["job"]

    def _show(self, line: str) -> None:
        if self.options["show"] == "none":
            return
        step = _verl_log.parse_step(line)
        if step is not None:
            display.display(_verl_log.progress(step[0], step[1], self.options["total_steps"]), color="green")
        elif self.options["show"] == "log":
            for text in self.view.show(line):
                display.display(text)
