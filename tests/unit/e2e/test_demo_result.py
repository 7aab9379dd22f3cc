# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path

import pytest

from ansible_collections.rlops.verl.tests.e2e import demo_result

STARTED = datetime(2026, 12, 1, 12, 0, 0, tzinfo=timezone.utc)


def verdict(stage: str, ok: bool = True, checked_at: str = "2026-12-01T12:00:05Z", **fields: object) -> dict:
    details = {"model_path": "/home/me/verl/model"} if stage == "model" else {}
    return {"stage": stage, "ok": ok, "checked_at": checked_at, "checks": [], "details": details, **fields}


def run(**changes: object) -> dict:
    """The verdicts of a good run, with some of them replaced."""
    return {stage: verdict(stage) for stage in demo_result.STAGES} | changes


def test_a_good_run_names_the_model():
    result = demo_result.outcome(run(), STARTED, 0)
    assert result.ok
    assert result.line() == "demo: ok model=/home/me/verl/model"


@pytest.mark.parametrize("stage", demo_result.STAGES)
def test_the_first_stage_without_a_verdict_failed(stage):
    position = demo_result.STAGES.index(stage)
    verdicts = run(**dict.fromkeys(demo_result.STAGES[position:]))
    assert demo_result.outcome(verdicts, STARTED, 2).line() == f"demo: failed stage={stage}"


def test_a_stage_that_was_not_reached_is_not_ok_because_an_earlier_run_was():
    verdicts = run(training=verdict("training", checked_at="2026-12-01T11:59:59Z"))
    assert demo_result.outcome(verdicts, STARTED, 99).line() == "demo: failed stage=training"


def test_a_verdict_of_the_very_second_of_the_start_counts():
    verdicts = run(preflight=verdict("preflight", checked_at="2026-12-01T12:00:00Z"))
    assert demo_result.outcome(verdicts, STARTED, 0).ok


def test_a_run_of_some_stages_only_is_not_a_good_run():
    verdicts = run(model=verdict("model", checked_at="2026-11-30T12:00:00Z"))
    assert demo_result.outcome(verdicts, STARTED, 0).line() == "demo: failed stage=model"


def test_a_failed_stage_repeats_what_was_found_and_wanted():
    checks = [
        {"name": "memory", "ok": False, "level": "error", "found": "1 GiB", "wanted": "8 GiB", "remedy": "Take more."},
        {"name": "disk", "ok": False, "level": "warning", "found": "1 GiB", "wanted": "8 GiB", "remedy": ""},
        {"name": "python", "ok": True, "level": "error", "found": "3.11", "wanted": "3.11", "remedy": ""},
    ]
    result = demo_result.outcome(run(preflight=verdict("preflight", ok=False, checks=checks)), STARTED, 2)
    assert result.stage == "preflight"
    assert result.reasons == ("memory: found 1 GiB, wanted 8 GiB. Take more.",)


def test_a_bad_verdict_fails_although_the_playbook_did_not():
    assert demo_result.outcome(run(cluster=verdict("cluster", ok=False)), STARTED, 0).stage == "cluster"


def test_a_playbook_that_failed_after_the_last_stage():
    assert demo_result.outcome(run(), STARTED, 2).stage == "summary"


@pytest.mark.parametrize("details", [None, {}, {"model_path": ""}])
def test_a_model_without_a_path_is_none(details):
    assert demo_result.outcome(run(model=verdict("model", details=details)), STARTED, 0).stage == "model"


@pytest.mark.parametrize("checked_at", [None, "", "yesterday", "2026-12-01T12:00:05"])
def test_a_verdict_without_a_certain_time_does_not_count(checked_at):
    assert demo_result.outcome(run(runtime=verdict("runtime", checked_at=checked_at)), STARTED, 0).stage == "runtime"


@pytest.mark.parametrize(
    ("output", "value"),
    [
        ('head | SUCCESS => {"changed": false,"verl_state_dir": "/home/me/état"}', "/home/me/état"),
        ('[WARNING]: something\nhead | SUCCESS => {\n    "verl_state_dir": "/var/lib/verl"\n}\n', "/var/lib/verl"),
        ('head | SUCCESS => {"verl_state_dir": "VARIABLE IS NOT DEFINED!"}', None),
        ('head | SUCCESS => {"verl_state_dir": null}', None),
        ('head | FAILED! => {"msg": "recursive loop"}', None),
        ("", None),
    ],
)
def test_the_variable_in_the_output_of_ansible(output, value):
    assert demo_result.rendered(output, "verl_state_dir") == value


def test_a_verdict_that_cannot_be_read_counts_as_none(tmp_path):
    (tmp_path / "preflight.json").write_text('{"stage": "preflight", ')
    (tmp_path / "runtime.json").write_text("[]")
    (tmp_path / "cluster.json").write_text(json.dumps(verdict("cluster")))
    verdicts = demo_result.read(tmp_path)
    assert [stage for stage in demo_result.STAGES if verdicts[stage]] == ["cluster"]


@pytest.mark.parametrize(("exit_code", "ends_with"), [(0, 1), (99, 99)])
def test_the_program_asks_ansible_for_the_state_directory(tmp_path, exit_code, ends_with):
    inventory = tmp_path / "inventory.yml"
    host = {"ansible_connection": "local", "verl_state_dir": f"{tmp_path}/{{{{ 1 + 1 }}}}"}
    inventory.write_text(json.dumps({"all": {"hosts": {"head": host}}}))
    state = tmp_path / "2"
    state.mkdir()
    (state / "preflight.json").write_text(json.dumps(verdict("preflight")))
    program = Path(sys.executable).with_name("ansible")
    done = subprocess.run(
        [sys.executable, demo_result.__file__, "--ansible", program, "--inventory", inventory,
         "--started", "2026-12-01T12:00:00Z", "--exit-code", str(exit_code)],
        capture_output=True, text=True, check=False, env=os.environ | {"ANSIBLE_CALLBACK_RESULT_FORMAT": "yaml"},
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == "demo: failed stage=runtime"
    assert done.returncode == ends_with


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("", []),
        ("--diff -vv --tags x", []),
        ("--vault-pass-file=pw -e a=1", ["-e", "a=1", "--vault-password-file", "pw"]),
        ("--vault-id a@x --vault-id b@y", ["--vault-id", "a@x", "--vault-id", "b@y"]),
        ("-e a=1 --diff --extra-vars '@/x y.yml'", ["-e", "a=1", "-e", "@/x y.yml"]),
        ('-ea=1 --extra-vars=\'{"a": "b c"}\'', ["-e", "a=1", "-e", '{"a": "b c"}']),
    ],
)
def test_variables_of_the_run_are_known_to_its_result(arguments, expected):
    assert demo_result.about_variables(arguments) == expected
