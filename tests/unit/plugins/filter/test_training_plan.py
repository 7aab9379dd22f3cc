# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import shlex
from datetime import date

import pytest
import yaml
from ansible.errors import AnsibleFilterError

from ansible_collections.rlops.verl.plugins.filter import training_plan

DECLARED = {
    "name": "ppo", "release": "0.9.1", "nnodes": 2, "slots_per_node": 4, "model_path": "/m", "critic_model_path": "",
    "train_files": ["/t 1.parquet"], "val_files": [], "overrides": {"trainer.total_training_steps": 6},
    "env_vars": {"A": 1}, "working_dir": "", "excludes": [], "runs_dir": "/runs", "python": "/env/bin/python",
}  # fmt: skip


def test_the_plan_has_what_is_documented():
    planned = training_plan.training_plan(DECLARED, {})
    documented = yaml.safe_load(training_plan.RETURN)["_value"]["contains"]
    found = {name: type(planned[name]).__name__ for name in documented}
    assert found == {name: value["type"] for name, value in documented.items()}
    assert set(planned) == set(documented)


def test_the_example_shows_the_command(example):
    planned = training_plan.training_plan(DECLARED, {})
    command = example(training_plan, declared=DECLARED)["msg"]
    assert shlex.split(command) == ["/env/bin/python", "-m", "verl.trainer.main_ppo", *planned["arguments"]]


def test_the_declaration_wins_over_the_accelerator():
    overrides = {"trainer": {"device": "cpu", "total_training_steps": 1, "nnodes": 9}}
    arguments = training_plan.training_plan(DECLARED, overrides)["arguments"]
    assert {"trainer.device=cpu", "trainer.total_training_steps=6", "trainer.nnodes=2"} <= set(arguments)


@pytest.mark.parametrize(("val", "expected"), [("/v", "[/v]"), ("", "['/t 1.parquet']"), ([], "['/t 1.parquet']")])
def test_one_file_needs_no_list(val, expected):
    planned = training_plan.training_plan({**DECLARED, "train_files": "/t 1.parquet", "val_files": val}, {})
    assert {"data.train_files=['/t 1.parquet']", f"data.val_files={expected}"} <= set(planned["arguments"])


def test_one_file_is_the_same_training_as_a_list_of_it():
    one = {**DECLARED, "train_files": "/t 1.parquet", "val_files": ""}
    assert training_plan.training_plan(one, {}) == training_plan.training_plan(DECLARED, {})


@pytest.mark.parametrize("wrong", [{"a": {"b": 1}, "a.b": 2}, {"a": {"b": {1, 2}}}, ["a.b"]])
def test_wrong_overrides_of_the_accelerator_are_named(wrong):
    with pytest.raises(AnsibleFilterError) as caught:
        training_plan.training_plan(DECLARED, wrong)
    assert caught.value.message.startswith("accelerator_overrides: override a")
    assert "ppo_training_overrides" not in caught.value.message


def test_an_error_is_told_once():
    with pytest.raises(AnsibleFilterError) as caught:
        training_plan.training_plan({**DECLARED, "overrides": {"a": date(2026, 1, 31)}}, {})
    assert caught.value.message == (
        "ppo_training_overrides: override a: found a value of the type date, wanted null, a boolean, a number, text, "
        "a list or a dictionary. Quote the value in YAML (an unquoted 2026-01-31 is a date). "
        "Change ppo_training_overrides."
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "p p"}, "ppo_training_name: found 'p p', wanted letters, digits, '.', '_' and '-', at most 64."),
        ({"overrides": ["a"]}, "ppo_training_overrides: found list, wanted a dictionary. Write ppo_training_overrides"),
        ({"overrides": {"a": {"b": 1}, "a.b": 2}}, "ppo_training_overrides: override a.b: found it twice"),
    ],
)
def test_what_describes_no_training_is_an_error_of_the_filter(change, message):
    with pytest.raises(AnsibleFilterError) as caught:
        training_plan.training_plan({**DECLARED, **change}, {})
    assert caught.value.message.startswith(message)
