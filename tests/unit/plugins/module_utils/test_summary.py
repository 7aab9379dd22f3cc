# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import pytest

from ansible_collections.rlops.verl.plugins.module_utils._summary import count, summary
from ansible_collections.rlops.verl.plugins.module_utils._verdict import check, verdict

DETAILS = {
    "model": {
        "model_path": "/m/4", "class": "Qwen3ForCausalLM", "auto_class": "AutoModelForCausalLM",
        "parameters": 596049920, "generation": {"prompt": "1+1=", "text": "2\n"},
    },
    "runtime": {
        "environment": "/opt/verl/env/x",
        "versions": {"python": "3.11.7", "torch": "2.13.0", "ray": "2.60.0", "verl": "0.9.1", "numpy": "2"},
    },
    "cluster": {
        "slots": 9, "dashboard_url": "http://10.0.0.1:8265", "token_file": "/opt/verl/etc/ray_token",
        "nodes": {"gpu1": {"address": "10.0.0.1", "slots": 8}, "gpu2": {"address": "10.0.0.2", "slots": 1}},
    },
    "training": {
        "id": "ppo-1", "steps": 4, "first_score": 0.19, "last_score": 0.2605, "seconds_per_step": 8.948,
        "log_path": "/r/driver.log", "metrics_path": "/r/metrics.jsonl",
    },
    "checkpoint": {"step": 4, "source": "/r/checkpoints/global_step_4"},
    "preflight": {"host": "gpu1"},
}  # fmt: skip


def verdicts(*checks: dict, **details: dict) -> dict:
    """A verdict for each stage with details, all with the same checks."""
    return {stage: verdict(stage, "here", "now", list(checks), value) for stage, value in details.items()}


def lines(*checks: dict, **details: dict) -> list[str]:
    return summary(verdicts(*checks, **details), "/opt/verl/state").splitlines()


def test_a_whole_run_in_the_order_of_its_stages():
    assert lines(**DETAILS) == [
        "runtime      verl 0.9.1, ray 2.60.0, torch 2.13.0, python 3.11.7 in /opt/verl/env/x",
        "cluster      2 nodes, 9 worker slots: gpu1 (10.0.0.1, 8 slots), gpu2 (10.0.0.2, 1 slot)",
        "dashboard    http://10.0.0.1:8265 (asks for the token in /opt/verl/etc/ray_token)",
        "training     ppo-1: 4 steps, score 0.190 at first, 0.261 at last, 8.9 s a step",
        "log          /r/driver.log",
        "metrics      /r/metrics.jsonl",
        "checkpoint   step 4 in /r/checkpoints/global_step_4",
        "model        /m/4 (Qwen3ForCausalLM, 596,049,920 parameters)",
        "it says      '1+1=' -> '2\\n'",
        'load it by   transformers.AutoModelForCausalLM.from_pretrained("/m/4")',
        "verdicts     /opt/verl/state",
    ]


def test_a_training_without_scores_and_times():
    details = {"id": "ppo-1", "steps": 1, "first_score": None, "last_score": None, "seconds_per_step": None}
    assert lines(training=details)[0] == "training     ppo-1: 1 step"


def test_a_score_of_zero_is_a_score():
    details = {"id": "ppo-1", "steps": 2, "first_score": 0.0, "last_score": 0.0, "seconds_per_step": 0.0}
    assert lines(training=details)[0].endswith(": 2 steps, score 0.000 at first, 0.000 at last, 0.0 s a step")


def test_a_model_that_nobody_asked_anything():
    assert lines(model={"model_path": "/m", "class": "X", "parameters": 1}) == [
        "model        /m (X, 1 parameter)",
        "verdicts     /opt/verl/state",
    ]


def test_a_stage_that_failed_says_why_and_nothing_else():
    error = check("slots", False, 2, 4, "Add a node.")
    warning = check("disk", False, "1 GiB", level="warning")
    assert lines(warning, error, check("fine", True), cluster=DETAILS["cluster"]) == [
        "! cluster    slots: found 2, wanted 4. Add a node.",
        "! cluster    disk: found 1 GiB.",
        "verdicts     /opt/verl/state",
    ]


def test_a_stage_with_a_warning_says_both():
    shown = lines(check("disk", False, "1 GiB", level="warning"), checkpoint=DETAILS["checkpoint"])
    assert shown[:2] == ["checkpoint   step 4 in /r/checkpoints/global_step_4", "! checkpoint disk: found 1 GiB."]


@pytest.mark.parametrize("found", [{}, {"cluster": None}, {"another": {"ok": True, "checks": [], "details": {}}}])
def test_without_verdicts_nothing_has_been_run(found):
    assert summary(found, "/opt/verl/state") == "No stage has been run yet: there is no verdict in /opt/verl/state."


@pytest.mark.parametrize(("number", "text"), [(0, "0 nodes"), (1, "1 node"), (2, "2 nodes"), (1000, "1,000 nodes")])
def test_count(number, text):
    assert count(number, "node") == text
