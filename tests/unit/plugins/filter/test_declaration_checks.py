# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from ansible_collections.rlops.verl.plugins.filter import declaration_checks
from ansible_collections.rlops.verl.plugins.module_utils._verdict import malformed

ROLES = Path(__file__).resolve().parents[4] / "roles"
RELEASES = yaml.safe_load((ROLES / "verl_runtime/vars/main.yml").read_text(encoding="utf-8"))["verl_runtime_releases"]
PORTS = yaml.safe_load((ROLES / "ray_cluster/vars/main.yml").read_text(encoding="utf-8"))["__ray_cluster_default_ports"]
DECLARED = {"release": "0.9.1", "accelerator": "cpu", "slots_per_node": 2, "prefix": "/opt/verl", "ports": PORTS}


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({}, []),
        ({"release": "0.9.0", "prefix": "verl"}, ["verl_release", "verl_prefix"]),
        ({"accelerator": "tpu", "slots_per_node": -1}, ["verl_accelerator", "verl_slots_per_node"]),
        ({"ports": {**PORTS, "gcs": 80}}, ["ports"]),
    ],
)
def test_the_example_tells_everything_that_is_wrong(example, changes, wrong):
    task = example(declaration_checks, declared={**DECLARED, **changes}, verl_runtime_releases=RELEASES)
    assert task["stage"] == "preflight"
    assert malformed(task["checks"]) is None
    assert [check["name"] for check in task["checks"] if not check["ok"]] == wrong
    names = ["verl_release", "verl_accelerator", "verl_slots_per_node", "verl_prefix", "ports"]
    assert [check["name"] for check in task["checks"]] == names
