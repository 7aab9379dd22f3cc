# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.rlops.verl.plugins.filter import hydra_arguments, merge_overrides, override_checks

ROOT = Path(__file__).resolve().parents[4]
TABLE = json.loads((ROOT / "roles/ppo_training/files/config_keys/0.9.1.json").read_text(encoding="utf-8"))


def filter_of(module):
    (name,) = (found := module.FilterModule().filters())
    assert name == module.__name__.rpartition(".")[2]
    return found[name]


def test_arguments():
    overrides = {"trainer": {"nnodes": 2, "experiment_name": "10"}, "a": {"+b": ["x", "y z"]}}
    assert filter_of(hydra_arguments)(overrides) == [
        "+a.b=[x,'y z']",
        "trainer.experiment_name='10'",
        "trainer.nnodes=2",
    ]


def test_layers_become_arguments():
    cluster = {"trainer": {"nnodes": 2, "n_gpus_per_node": 8}, "m.override_config": {"+attn": "sdpa"}}
    user = {"trainer.nnodes": 1, "m.override_config": {"~attn": None}}
    merged = filter_of(merge_overrides)(cluster, {}, user)
    assert merged == {"trainer.n_gpus_per_node": 8, "trainer.nnodes": 1}
    assert filter_of(hydra_arguments)(merged) == ["trainer.n_gpus_per_node=8", "trainer.nnodes=1"]


@pytest.mark.parametrize("module", [hydra_arguments, merge_overrides])
def test_overrides_without_meaning_fail_with_the_path(module):
    with pytest.raises(AnsibleFilterError, match="override a.b: found it twice"):
        filter_of(module)({"a": {"b": 1}, "a.b": 2})


def test_checks():
    overrides = {"trainer.nnode": 2, "trainer.nnodes": 4, "trainer.n_gpus_per_node": 1}
    checks = filter_of(override_checks)(overrides, TABLE, slots=[1], variable="mine")
    wrong = {check["name"]: check for check in checks if not check["ok"]}
    assert wrong["override-keys"]["remedy"].startswith("In mine write trainer.nnodes instead.")
    assert wrong["worker-slots"]["level"] == "error"
    assert (checks[0]["name"], checks[0]["ok"]) == ("override-form", True)


def test_overrides_without_meaning_are_one_failed_check():
    (check,) = filter_of(override_checks)({"a": {10: 1}}, TABLE)
    assert check == {
        "name": "override-form",
        "ok": False,
        "level": "error",
        "found": "a: the key 10 of the type int",
        "wanted": "text",
        "remedy": "Quote it in YAML (an unquoted on, off, yes or no is a boolean, 10 is a number). "
        "It is in ppo_training_overrides.",
    }


def test_another_table_fails():
    with pytest.raises(AnsibleFilterError, match="key table: found"):
        filter_of(override_checks)({}, {"verl": "0.9.1"})
