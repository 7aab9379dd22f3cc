# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What playbooks say about declarations, run for real on this host. None of them gets as far as changing anything."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]

# All that the local inventory declares, but for where, with what and on how many.
OVERRIDES = yaml.safe_load((ROOT / "inventories/local/group_vars/all.yml").read_text())["ppo_training_overrides"]


@dataclass
class Place:
    """A directory that a declaration puts everything into."""

    path: Path

    @property
    def verdict(self) -> dict[str, Any] | None:
        file = self.path / "state/preflight.json"
        return json.loads(file.read_text()) if file.exists() else None

    def play(self, playbook: str | Path, slots: list[int | None], **declared: object) -> tuple[int, str]:
        """Exit code and output. ``slots`` are those of each host, the head first; None declares none."""
        hosts = {f"n{n}": {} if slot is None else {"verl_slots_per_node": slot} for n, slot in enumerate(slots)}
        (head, head_vars), *workers = hosts.items()
        common = {
            "ansible_connection": "local",
            "ansible_python_interpreter": sys.executable,
            "verl_prefix": str(self.path),
            **declared,
        }
        inventory = {
            "all": {"vars": common},
            "head": {"hosts": {head: head_vars}},
            "workers": {"hosts": dict(workers)},
        }
        file = self.path / "hosts.yml"
        file.write_text(yaml.safe_dump(inventory))
        done = subprocess.run(
            [Path(sys.executable).with_name("ansible-playbook"), ROOT / "playbooks" / playbook, "-i", file],
            cwd=ROOT,
            env=os.environ | {"ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, " ".join((done.stdout + done.stderr).split())


@pytest.fixture
def place(tmp_path) -> Place:
    return Place(tmp_path)


def with_reward(path: str) -> dict[str, Any]:
    return {**OVERRIDES, "reward": {"custom_reward_function": {"path": path, "name": "compute_score"}}}


def test_a_wrong_declaration_is_the_verdict_of_preflight(place):
    (place.path / "model").mkdir()
    code, output = place.play(
        "preflight.yml",
        # Without a number it is 8, the default of the roles; a node without slots takes no part.
        [None, 4, 0],
        ppo_training_model_path=f"{place.path}/model/",
        ppo_training_train_files="/nowhere/train.parquet",
        ppo_training_overrides=with_reward("/nowhere/reward.py"),
    )
    assert code == 2
    failed = {check["name"]: check["found"] for check in place.verdict["checks"] if not check["ok"]}
    assert (
        failed.items()
        >= {
            "ppo_training_model_path": f"{place.path}/model/, a directory without config.json",
            "ppo_training_train_files": "/nowhere/train.parquet, which does not exist",
            "ppo_training_val_files": "/nowhere/train.parquet, which does not exist",
            "ppo_training_overrides.reward.custom_reward_function.path": "/nowhere/reward.py, which does not exist",
            "worker-slots": "trainer.nnodes 2, trainer.n_gpus_per_node 8 on 2 nodes with 8, 4 worker slots",
        }.items()
    )
    assert (place.verdict["stage"], place.verdict["ok"]) == ("preflight", False)
    assert "preflight on n0: " in output


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        (
            {"ray_cluster_supervisor": "upstart"},
            "value of ray_cluster_supervisor must be one of: auto, systemd, process",
        ),
        (
            {"ray_cluster_ports": {"gcss": 1}},
            "ray_cluster_ports.gcss. Supported parameters include: autoscaler_metrics",
        ),
        ({"ppo_training_show": "quiet"}, "value of ppo_training_show must be one of: log, steps, none, got: quiet"),
        ({"verl_slots_per_node": "two"}, "verl_slots_per_node: found 'two', wanted a whole number"),
    ],
)
def test_preflight_judges_the_variables_of_all_roles(place, declared, message):
    code, output = place.play("preflight.yml", [None], **declared)
    assert code == 2
    assert message in output


def test_a_training_that_is_refused_leaves_the_verdict_of_preflight(place):
    code, output = place.play("train.yml", [0], ppo_training_overrides=OVERRIDES)
    assert code == 2
    assert "training on n0:" in output
    assert "worker-slots: found no worker slots in the whole cluster, wanted one or more. Set verl_slots_per_node" in (
        output
    )
    assert place.verdict is None


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        (
            {"verl_release": "7"},
            "ppo_training_release: found 7, wanted one of 0.9.1. Correct verl_release, or ppo_training_release where "
            "that is set.",
        ),
        (
            {"verl_accelerator": "tpu"},
            "ppo_training_accelerator: found tpu, wanted one of cpu, cuda. Correct verl_accelerator, or "
            "ppo_training_accelerator where that is set.",
        ),
    ],
)
def test_a_training_with_a_release_or_accelerator_that_is_not_known(place, declared, message):
    code, output = place.play("train.yml", [2], **declared)
    assert code == 2
    assert message in output


JUDGE = """
- hosts: head
  gather_facts: false
  tasks:
    - ansible.builtin.include_role:
        name: rlops.verl.ppo_training
        tasks_from: declaration
        public: true
      vars:
        __ppo_training_stage: preflight
    - ansible.builtin.debug:
        msg: "makes the tiny workload: {{ __ppo_training_uses_tiny }}"
      vars:
        role_path: ROLE
""".replace("ROLE", str(ROOT / "roles/ppo_training"))


@pytest.mark.parametrize(("reward", "made"), [("workloads/tiny/reward.py", True), ("own.py", False)])
def test_a_right_declaration_leaves_the_verdict_to_the_hosts(place, reward, made):
    """The reward of the tiny workload is made, too, where it is all that is left of it."""
    playbook = place.path / "judge.yml"
    playbook.write_text(JUDGE)
    (place.path / "model").mkdir()
    for name in ("model/config.json", "train.parquet", "own.py"):
        (place.path / name).touch()
    code, output = place.play(
        playbook,
        [2],
        ppo_training_model_path=f"{place.path}/model",
        ppo_training_train_files=f"{place.path}/train.parquet",
        ppo_training_overrides=with_reward(f"{place.path}/{reward}"),
    )
    assert code == 0, output
    assert f"makes the tiny workload: {made}" in output
    assert place.verdict is None
