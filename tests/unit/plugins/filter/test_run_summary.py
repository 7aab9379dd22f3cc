# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

from ansible_collections.rlops.verl.plugins.filter import run_summary
from ansible_collections.rlops.verl.plugins.module_utils._verdict import check, verdict


def test_the_example_says_where_everything_is(example):
    found = {
        "cluster": verdict("cluster", "head", "now", [check("slots", False, 2, 4, "Add a node.")], {}),
        "checkpoint": verdict("checkpoint", "head", "now", [], {"step": 4, "source": "/r/global_step_4"}),
    }
    assert example(run_summary, verdicts=found)["msg"].splitlines() == [
        "! cluster    slots: found 2, wanted 4. Add a node.",
        "checkpoint   step 4 in /r/global_step_4",
        "verdicts     /opt/verl/state",
    ]


def test_without_verdicts_the_example_names_the_directory(example):
    assert example(run_summary, verdicts={}) == {
        "msg": "No stage has been run yet: there is no verdict in /opt/verl/state."
    }
