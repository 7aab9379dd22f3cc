# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

from ansible_collections.rlops.verl.plugins.filter import env_checks
from ansible_collections.rlops.verl.plugins.module_utils._verdict import malformed


def test_the_example_passes_whatever_else_a_task_sees(example):
    task = example(env_checks)
    assert task["stage"] == "environment"
    assert malformed(task["checks"]) is None
    assert [(check["name"], check["ok"]) for check in task["checks"]] == [("environment of 10.0.0.1", True)]


def test_what_was_given_is_compared_with_what_was_found(example):
    given = {"10.0.0.1": {"A": "1"}, "10.0.0.2": {"A": "1"}, "10.0.0.3": {}}
    seen = {"10.0.0.1": {"A": "2"}, "10.0.0.3": {"A": "2"}, "10.0.0.4": {}}
    checks = example(env_checks, given=given, seen=seen)["checks"]
    assert [(check["ok"], check["found"]) for check in checks] == [
        (False, "A=2 instead of 1"),
        (False, "no Ray task ran on this node"),
        (True, "0 variables as declared"),
    ]
