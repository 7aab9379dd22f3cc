# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import json

import pytest

from ansible_collections.rlops.verl.plugins.module_utils import _model_check
from ansible_collections.rlops.verl.plugins.module_utils._verdict import check, verdict

GOOD = check("tensors", True, "all 25")


def test_the_command_names_what_is_given():
    assert _model_check.check_command("py", "/m", None, "", "") == [
        "py",
        "-m",
        "rlops_model_check",
        "--json",
        "--model",
        "/m",
    ]
    assert _model_check.check_command("py", "/m", "/b", "/t", "Why?")[-6:] == [
        "--base", "/b", "--tokenizer-source", "/t", "--prompt", "Why?"
    ]  # fmt: skip


def test_the_package_comes_first_and_the_user_wins():
    environment = _model_check.check_environment({"PYTHONPATH": "/more"}, "/lib", {"HF_HUB_OFFLINE": 0})
    assert environment["PYTHONPATH"] == "/lib:/more"
    assert environment["HF_HUB_OFFLINE"] == "0"
    assert _model_check.check_environment({}, "/lib", {})["PYTHONPATH"] == "/lib"


def test_a_fingerprint_changes_with_path_size_and_time():
    files = {"a": (1, 2), "b": (3, 4)}
    prints = {
        _model_check.fingerprint(variant)
        for variant in (files, {**files, "b": (4, 4)}, {**files, "b": (3, 5)}, {"a": (1, 2)}, {**files, "c": (0, 0)})
    }
    assert len(prints) == 5
    assert _model_check.fingerprint(dict(reversed(files.items()))) == _model_check.fingerprint(files)


def test_the_answer_is_found_among_other_output():
    answer = json.dumps({"checks": [GOOD], "details": {"a": 1}})
    assert _model_check.parse_answer(["a warning", answer, "a late warning"]) == ([GOOD], {"a": 1})


@pytest.mark.parametrize("line", ["", '{"checks"', '{"checks": [{}], "details": {}}', '{"checks": [], "details": 1}'])
def test_anything_else_is_no_answer(line):
    assert _model_check.parse_answer([line]) is None


INPUTS = {"model": "x", "prompt": "p"}


def recorded(checks: list, inputs: dict) -> dict:
    return verdict("model", "here", "2026-12-01T00:00:00Z", checks, {"inputs": inputs})


def test_a_good_verdict_on_the_same_inputs_is_reused():
    assert _model_check.reusable(recorded([GOOD], INPUTS), dict(INPUTS))


@pytest.mark.parametrize(
    "last",
    [
        None,
        {},
        recorded([GOOD], {**INPUTS, "prompt": "q"}),
        recorded([check("tensors", False, "1 missing")], INPUTS),
        {**recorded([GOOD], INPUTS), "checks": "many"},
        {**recorded([GOOD], INPUTS), "details": None},
    ],
)
def test_any_other_is_not(last):
    assert not _model_check.reusable(last, INPUTS)
