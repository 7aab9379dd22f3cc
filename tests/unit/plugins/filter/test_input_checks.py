# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.rlops.verl.plugins.filter import input_checks
from ansible_collections.rlops.verl.plugins.module_utils._verdict import malformed

FILE, DIRECTORY = {"exists": True, "isdir": False}, {"exists": True, "isdir": True}


@pytest.mark.parametrize(("stat", "ok"), [(DIRECTORY, True), (FILE, False), ({"exists": False}, False)])
def test_the_example_wants_a_model_in_a_directory(example, stat, ok):
    task = example(input_checks, found={"stat": stat})
    assert task["stage"] == "inputs"
    assert malformed(task["checks"]) is None
    assert [(check["name"], check["ok"]) for check in task["checks"]] == [("ppo_training_model_path", ok)]


@pytest.mark.parametrize(
    ("made_later", "ok"), [([], [False, False]), ([["/b"]], [False, True]), ([["/a", "/b"]], [True, True])]
)
def test_what_the_run_makes_itself_need_not_be_there(made_later, ok):
    checks = input_checks.input_checks({"ppo_training_train_files": ["/a", "/b"]}, {}, *made_later)
    assert [check["ok"] for check in checks] == ok


@pytest.mark.parametrize("nothing", [None, "", [], [None]])
def test_a_variable_without_a_path_fails(nothing):
    (check,) = input_checks.input_checks({"m": nothing}, {})
    assert (check["name"], check["ok"], check["found"]) == ("m", False, "nothing")


@pytest.mark.parametrize(("value", "found"), [(5, "5"), ({"a": 1}, "{'a': 1}"), (["/a", ["/b"]], "['/b']")])
def test_what_is_no_path_is_an_error_of_the_filter(value, found):
    with pytest.raises(AnsibleFilterError) as caught:
        input_checks.input_checks({"m": value}, {})
    assert caught.value.message == f"m: found {found}, wanted a path or a list of paths. Change m."
