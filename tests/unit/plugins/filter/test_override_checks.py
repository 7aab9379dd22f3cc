# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

from pathlib import Path

from ansible_collections.rlops.verl.plugins.filter import override_checks

ROLE = Path(__file__).resolve().parents[4] / "roles/ppo_training"
FITTING = {
    "data": {"train_batch_size": 64, "train_files": ["/t"], "val_files": ["/v"]},
    "trainer": {"nnodes": 2, "n_gpus_per_node": 8, "save_freq": 10},
}


def test_the_example_shows_what_is_wrong(example):
    shown = {}
    for nodes in (2, 3):
        overrides = {**FITTING, "trainer.nnodes": nodes}
        overrides["trainer"] = {"n_gpus_per_node": 8, "save_freq": 10}
        task = example(override_checks, ppo_training_overrides=overrides, ansible_search_path=[str(ROLE)])
        shown[nodes] = task["fail_msg"]
    assert shown == {}
