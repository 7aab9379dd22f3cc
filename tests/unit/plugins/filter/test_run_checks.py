# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import pytest

from ansible_collections.rlops.verl.plugins.filter import run_checks
from ansible_collections.rlops.verl.plugins.module_utils._verdict import malformed

RUN = {"submission_id": "ppo-1", "status": "SUCCEEDED", "message": "", "error": "", "last_step": 4}


@pytest.mark.parametrize("status", ["SUCCEEDED", "FAILED"])
def test_the_example_compares_no_steps(example, status):
    task = example(run_checks, record={"run": {**RUN, "status": status}, "log_path": "/r/driver.log"})
    assert task["stage"] == "training"
    assert malformed(task["checks"]) is None
    ((name, ok, remedy),) = [(check["name"], check["ok"], check["remedy"]) for check in task["checks"]]
    assert (name, ok) == ("job ppo-1", status == "SUCCEEDED")
    assert remedy.startswith("The full log is /r/driver.log.")


@pytest.mark.parametrize(("total_steps", "ok"), [(None, [True]), (4, [True, True]), (5, [True, False])])
def test_declared_steps_are_compared(total_steps, ok):
    checks = run_checks.run_checks(RUN, "/r/driver.log", total_steps=total_steps)
    assert [check["ok"] for check in checks] == ok
