# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What is said about values that do not fit. That verl refuses the same is tested in tests/runtime."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ansible_collections.rlops.verl.plugins.module_utils import _hydra, _training_checks, _verdict

ROOT = Path(__file__).resolve().parents[4]
DOCUMENT = json.loads((ROOT / "roles/ppo_training/files/config_keys/0.9.1.json").read_text(encoding="utf-8"))

ACTOR = "actor_rollout_ref.actor"
ROLLOUT = "actor_rollout_ref.rollout"

FITTING = {
    "trainer": {
        "nnodes": 2,
        "n_gpus_per_node": 4,
        "save_freq": 10,
        "default_local_dir": "/ckpt/${trainer.experiment_name}",
    },
    "data": {"train_batch_size": 64, "train_files": "/t.parquet", "val_files": "/v.parquet"},
    "actor_rollout_ref.model.path": "/m",
    ACTOR: {"ppo_mini_batch_size": 32, "ppo_micro_batch_size_per_gpu": 2},
    ROLLOUT: {"name": "vllm", "tensor_model_parallel_size": 2, "log_prob_micro_batch_size_per_gpu": 2},
    "critic": {"model.path": "/m", "ppo_micro_batch_size_per_gpu": 2},
}
SLOTS = (4, 4)


def problems(change, slots=SLOTS, without=()):
    overrides = {path: o for path, o in _hydra.merge(FITTING, change).items() if path not in without}
    checks = _training_checks.check_overrides(overrides, DOCUMENT, slots, "my_overrides")
    assert _verdict.malformed(checks) is None
    return [check for check in checks if not check["ok"]]


def test_fitting_values_have_no_problem():
    assert problems({}) == []


def test_every_name_occurs():
    names = {check["name"] for check in _training_checks.check_overrides({}, DOCUMENT)}
    assert names >= {
        "override-keys",
        "example-values",
        "rollout-name",
        "checkpoint-frequency",
        "checkpoint-directory",
        "checkpoint-retention",
        "resume-path",
        "batch-sizes",
        "micro-batch-sizes",
        "rollout-parallelism",
        "worker-slots",
    }


@pytest.mark.parametrize(
    ("change", "name", "level", "found"),
    [
        ({"trainer.save_freq": -1}, "checkpoint-frequency", "warning", "trainer.save_freq -1"),
        ({"trainer.default_local_dir": "ckpt/x"}, "checkpoint-directory", "error", "trainer.default_local_dir ckpt/x"),
        ({"trainer.default_local_dir": "~/ckpt"}, "checkpoint-directory", "error", "trainer.default_local_dir ~/ckpt"),
        ({"trainer.default_local_dir": "/ckpt"}, "checkpoint-directory", "error", "trainer.default_local_dir /ckpt"),
        (
            {"trainer": {"default_local_dir": "/ckpt/mine2", "experiment_name": "mine"}},
            "checkpoint-directory",
            "error",
            "trainer.default_local_dir /ckpt/mine2",
        ),
        ({"trainer.max_actor_ckpt_to_keep": 1}, "checkpoint-retention", "warning", "trainer.max_actor_ckpt_to_keep 1"),
        (
            {"trainer.resume_mode": "resume_path"},
            "resume-path",
            "error",
            "resume_path with trainer.resume_from_path None",
        ),
        (
            {"trainer": {"resume_mode": "resume_path", "resume_from_path": "/ckpt/step_4"}},
            "resume-path",
            "error",
            "trainer.resume_from_path /ckpt/step_4",
        ),
        (
            {"trainer": {"resume_mode": "resume_path", "resume_from_path": "/ckpt/global_step_4/"}},
            "resume-path",
            "error",
            "trainer.resume_from_path /ckpt/global_step_4/",
        ),
        ({"trainer.resume_from_path": "/ckpt/global_step_4"}, "resume-path", "warning", "which does not use it"),
        ({"data.train_batch_size": 60}, "batch-sizes", "warning", "data.train_batch_size 60, critic.ppo_mini_batch"),
        ({f"{ACTOR}.ppo_mini_batch_size": 48}, "batch-sizes", "warning", f"{ACTOR}.ppo_mini_batch_size 48"),
        ({"critic.ppo_mini_batch_size": 128}, "batch-sizes", "error", "critic.ppo_mini_batch_size 128"),
        ({"critic.ppo_mini_batch_size": 4}, "batch-sizes", "error", "critic.ppo_mini_batch_size 4"),
        ({f"{ACTOR}.ppo_micro_batch_size_per_gpu": 3}, "micro-batch-sizes", "error", "(4 sequences a replica)"),
        ({f"{ACTOR}.ppo_micro_batch_size_per_gpu": None}, "micro-batch-sizes", "error", f"no {ACTOR}.ppo_micro"),
        ({f"{ACTOR}.ppo_micro_batch_size": 8}, "micro-batch-sizes", "error", "both "),
        ({f"{ROLLOUT}.tensor_model_parallel_size": 3}, "rollout-parallelism", "error", "3 workers for one rollout, 8"),
        ({f"{ROLLOUT}.name": None}, "rollout-name", "error", f"no {ROLLOUT}.name"),
        ({f"{ACTOR}.ulysses_sequence_parallel_size": 3}, "batch-sizes", "error", "3 workers for one replica of"),
    ],
)
def test_one_value_that_does_not_fit(change, name, level, found):
    named = [check for check in problems(change) if check["name"] == name]
    match = [check for check in named if check["level"] == level and found in check["found"]]
    assert len(match) == 1, named
    assert "my_overrides" in match[0]["remedy"]


@pytest.mark.parametrize(
    ("place", "experiment", "shared"),
    [
        ("/ckpt/${trainer.experiment_name}", "ppo-1", False),
        ("/ckpt/${trainer.experiment_name}", "mine", True),
        ("/ckpt/ppo-1/x", "mine", False),
        ("/ckpt/ppo-12", "mine", True),
        ("/ckpt", "ppo-1", True),
    ],
)
def test_checkpoints_lie_in_a_directory_that_the_id_of_the_run_names(place, experiment, shared):
    overrides = _hydra.merge(FITTING, {"trainer": {"default_local_dir": place, "experiment_name": experiment}})
    checks = _training_checks.check_overrides(overrides, DOCUMENT, SLOTS, "my_overrides", run_id="ppo-1")
    assert [check["name"] for check in checks if not check["ok"]] == ["checkpoint-directory"] * shared


def test_an_indivisible_batch_is_reported_with_the_number_of_workers():
    errors = [check for check in problems({"data.train_batch_size": 60}) if check["level"] == "error"]
    assert [(check["name"], check["wanted"]) for check in errors] == [
        ("batch-sizes", "a multiple of 8 (trainer.nnodes 2, trainer.n_gpus_per_node 4)")
    ]


def test_samples_per_prompt_count_in_the_batch():
    assert [c for c in problems({"data.train_batch_size": 60, f"{ROLLOUT}.n": 2}) if c["level"] == "error"] == []


@pytest.mark.parametrize(
    "change",
    [
        {f"{ACTOR}.ppo_mini_batch_size": 64},
        {"trainer.default_local_dir": "${oc.env:CKPT}/${trainer.experiment_name}"},
        {"trainer": {"default_local_dir": "/ckpt/mine/x", "experiment_name": "mine"}},
        {"trainer": {"resume_mode": "resume_path", "resume_from_path": "/ckpt/global_step_4"}},
        # Two workers hold one replica, so there are four replicas.
        {
            "algorithm.adv_estimator": "grpo",
            "data.train_batch_size": 72,
            ACTOR: {"ulysses_sequence_parallel_size": 2, "ppo_mini_batch_size": 36, "ppo_micro_batch_size_per_gpu": 3},
        },
        {"critic": {"enable": False, "ppo_micro_batch_size_per_gpu": None}},
        {"trainer.v1.trainer_mode": "separate_async", f"{ROLLOUT}.tensor_model_parallel_size": 3},
    ],
)
def test_values_that_fit(change):
    assert problems(change) == []


def test_dynamic_batch_sizes_need_not_divide():
    change = {f"{ACTOR}.use_dynamic_bsz": True, "data.train_batch_size": 60}
    assert [check for check in problems(change) if check["level"] == "error"] == []


@pytest.mark.parametrize(
    ("overrides", "path", "value"),
    [
        ({}, "trainer.nnodes", 1),
        ({"trainer.nnodes": 3}, "trainer.nnodes", 3),
        ({"~trainer.nnodes": None}, "trainer.nnodes", None),
        ({"~trainer.v1": None}, "trainer.v1.trainer_mode", None),
        ({f"{ACTOR}.ppo_mini_batch_size": 7}, "critic.ppo_mini_batch_size", 7),
        ({"critic": "dp_critic"}, "critic.strategy", "fsdp"),
        ({"model_engine": "megatron"}, "critic.strategy", "megatron"),
    ],
)
def test_settings_are_overrides_over_defaults(overrides, path, value):
    flat = _hydra.flatten(overrides)
    settings = _training_checks.Settings(flat, _training_checks.KeyTable.of(DOCUMENT, flat), "x")
    assert settings.get(path) == value


def test_dynamic_batch_sizes_need_no_micro_batches():
    change = {f"{ACTOR}.use_dynamic_bsz": True, "data.train_batch_size": 64}
    assert (
        problems(change, without=[f"{ACTOR}.ppo_micro_batch_size_per_gpu", "critic.ppo_micro_batch_size_per_gpu"]) == []
    )


def test_without_a_critic_its_values_do_not_count():
    without = ["critic.model.path", "critic.ppo_micro_batch_size_per_gpu"]
    assert problems({"algorithm.adv_estimator": "grpo"}, without=without) == []
    assert {check["name"] for check in problems({}, without=without)} == {"example-values", "micro-batch-sizes"}


def test_a_reference_policy_needs_a_micro_batch_size():
    found = problems({f"{ACTOR}.use_kl_loss": True})
    assert [check["found"] for check in found] == ["no actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu"]


def test_the_parallel_sizes_of_megatron_make_replicas():
    megatron = {"model_engine": "megatron", f"{ACTOR}.megatron.tensor_model_parallel_size": 2}
    assert problems(megatron) == []
    found = problems({**megatron, f"{ACTOR}.megatron.pipeline_model_parallel_size": 3})
    assert "6 workers for one replica" in found[0]["found"]


def test_missing_save_freq_is_an_error():
    found = problems({}, without=["trainer.save_freq"])
    assert [(check["name"], check["level"], check["found"]) for check in found] == [
        ("checkpoint-frequency", "error", "trainer.save_freq not set, so -1")
    ]


def test_examples_of_verl_are_advice():
    found = problems({}, without=["data.train_files", "actor_rollout_ref.model.path"])
    assert [(check["name"], check["level"]) for check in found] == [("example-values", "warning")] * 2


@pytest.mark.parametrize(
    ("slots", "change", "level"),
    [
        ([4, 4], {}, None),
        ([8], {}, None),  # two groups of four fit on one node
        (None, {"trainer.nnodes": 100}, None),
        ([4], {}, "error"),
        ([7], {}, "error"),
        ([2, 2, 2, 2], {}, "error"),
        ([4, 4, 4], {}, "warning"),
        ([4, 4], {"trainer.nnodes": 1}, "warning"),
        ([4, 4, 4], {f"{ROLLOUT}.nnodes": 1}, None),
    ],
)
def test_worker_slots(slots, change, level):
    found = [check["level"] for check in problems(change, slots) if check["name"] == "worker-slots"]
    assert found == ([level] if level else [])


@pytest.mark.parametrize("slots", [[], [0], [0, 0]])
def test_a_cluster_without_worker_slots(slots):
    (found,) = (check for check in problems({"trainer.nnodes": 0}, slots) if check["name"] == "worker-slots")
    assert (found["level"], found["found"]) == ("error", "no worker slots in the whole cluster")
    assert found["remedy"].startswith("Set verl_slots_per_node ")


@pytest.mark.parametrize("path", ["trainer.nnodes", "trainer.n_gpus_per_node"])
@pytest.mark.parametrize("value", [0, -1])
@pytest.mark.parametrize("slots", [SLOTS, None])
def test_a_training_of_no_size(path, value, slots):
    (found,) = (check for check in problems({path: value}, slots) if check["name"] == "worker-slots")
    assert (found["level"], found["found"]) == ("error", f"{path} {value}")
    assert found["remedy"] == f"Set verl_slots_per_node, which it follows from, or {path} in my_overrides."


@pytest.mark.parametrize("path", ["trainer.nnodes", "data.train_batch_size", "trainer.save_freq", f"{ROLLOUT}.n"])
def test_interpolated_values_are_not_judged(path):
    assert problems({path: "${oc.decode:${oc.env:N}}"}) == []
