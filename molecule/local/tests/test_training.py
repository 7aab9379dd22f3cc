# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The training: a real PPO run with a critic, its record and its checkpoints."""

from __future__ import annotations

import json
import math

import pytest
import yaml

RANKS = 2
SAVED = (2, 4)


@pytest.fixture(scope="module")
def run(verdict) -> dict:
    return verdict("training")["details"]


@pytest.fixture(scope="module")
def steps(host, run) -> list[dict]:
    return [json.loads(line) for line in host.file(run["metrics_path"]).content_string.splitlines()]


def test_the_job_succeeded_under_the_id_of_the_run(host, run):
    record = json.loads(host.file(f"{run['run_dir']}/run.json").content_string)
    assert record["status"] == "SUCCEEDED"
    assert record["submission_id"] == run["id"]
    assert record["steps"] == record["last_step"] == 4


def test_every_step_has_finite_metrics_of_actor_and_critic(steps):
    assert [step["step"] for step in steps] == [1, 2, 3, 4]
    for step in steps:
        metrics = step["metrics"]
        wanted = ["actor/pg_loss", "actor/entropy", "actor/grad_norm", "critic/vf_loss", "critic/grad_norm"]
        wanted += ["critic/score/mean", "critic/advantages/mean", "timing_s/step"]
        assert [name for name in wanted if name not in metrics] == []
        assert [name for name, value in metrics.items() if not math.isfinite(value)] == []
        assert metrics["actor/grad_norm"] > 0
        assert metrics["critic/grad_norm"] > 0


def test_the_scores_are_those_of_the_rule(steps, run):
    """The reward lies between 0 and 1, and the summary quotes the first and last of the log."""
    scores = [step["metrics"]["critic/score/mean"] for step in steps]
    assert all(0 <= score <= 1 for score in scores)
    assert (run["first_score"], run["last_score"]) == (scores[0], scores[-1])


def test_the_policy_that_samples_is_the_policy_that_is_trained(steps):
    for step in steps:
        assert step["metrics"]["training/rollout_probs_diff_mean"] < 1e-3


@pytest.mark.parametrize("step", SAVED)
@pytest.mark.parametrize("component", ["actor", "critic"])
def test_checkpoints_have_the_files_of_all_ranks(host, run, step, component):
    there = set(host.file(f"{run['checkpoint_dir']}/global_step_{step}/{component}").listdir())
    kinds = ("model", "optim", "extra_state")
    assert {f"{kind}_world_size_{RANKS}_rank_{rank}.pt" for kind in kinds for rank in range(RANKS)} <= there


def test_only_the_wanted_steps_are_saved_and_the_last_is_tracked(host, run):
    folder = run["checkpoint_dir"]
    saved = {name for name in host.file(folder).listdir() if name.startswith("global_step_")}
    assert saved == {f"global_step_{step}" for step in SAVED}
    assert host.file(f"{folder}/latest_checkpointed_iteration.txt").content_string.strip() == str(max(SAVED))


def test_what_hydra_composed_is_kept(host, run):
    job = yaml.safe_load(host.file(f"{run['run_dir']}/job.yaml").content_string)
    places = [argument for argument in job["entrypoint"] if argument.startswith("hydra.run.dir=")]
    if not places:
        pytest.skip("this run was submitted by an earlier version")
    composed = yaml.safe_load(host.file(f"{run['run_dir']}/hydra/.hydra/config.yaml").content_string)
    assert composed["trainer"]["experiment_name"] == run["id"]


def test_the_log_of_the_driver_is_kept(host, run):
    log = host.file(run["log_path"]).content_string
    assert "step:4 - " in log
    assert "Traceback" not in log
