# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import functools
import json

import pytest

from ansible_collections.rlops.verl.plugins.modules import verl_run_record
from ansible_collections.rlops.verl.tests.unit import fake_ray_api

STEP = "(Runner pid=1) step:{0} - critic/score/mean:{1} - timing_s/step:{2}\n"
LOG = "start\n" + STEP.format(1, 0.25, 9.0) + " 50%|#| 1/2\r" + STEP.format(2, 0.5, 3.0) + "modèle"
FILES = ["driver.log", "metrics.jsonl", "run.json"]


@pytest.fixture
def kept(tmp_path):
    (tmp_path / "run").mkdir()
    return tmp_path / "run"


@pytest.fixture
def run(api, kept, capsys):
    return functools.partial(fake_ray_api.run, capsys, verl_run_record, api, submission_id="ppo", path=str(kept))


def test_log_metrics_and_summary_are_kept(api, run, kept):
    api.add("ppo", "SUCCEEDED", LOG, message="Job finished.\nwell")
    answer = run()
    assert (answer["changed"], answer["log_path"]) == (True, f"{kept}/driver.log")
    assert answer["run"] == json.loads((kept / "run.json").read_text())
    assert answer["run"] == {
        "submission_id": "ppo", "status": "SUCCEEDED", "message": "Job finished.", "seconds": 30.5, "steps": 2,
        "last_step": 2, "first_score": 0.25, "last_score": 0.5, "seconds_per_step": 3.0, "error": "",
    }  # fmt: skip
    assert (kept / "driver.log").read_bytes() == LOG.encode()
    assert [json.loads(line) for line in (kept / "metrics.jsonl").read_text().splitlines()] == [
        {"step": 1, "metrics": {"critic/score/mean": 0.25, "timing_s/step": 9.0}},
        {"step": 2, "metrics": {"critic/score/mean": 0.5, "timing_s/step": 3.0}},
    ]
    assert sorted(path.name for path in kept.iterdir()) == FILES
    assert api.changes == []


def test_a_record_that_is_there_is_left_alone(api, run, kept):
    api.add("ppo", "SUCCEEDED", LOG)
    run()
    before = [(kept / name).stat().st_ino for name in FILES]
    assert not run()["changed"]
    assert [(kept / name).stat().st_ino for name in FILES] == before


def test_only_what_differs_is_written_anew(api, run, kept):
    api.add("ppo", "RUNNING", LOG)
    assert run()["run"]["seconds"] is None
    before = (kept / "metrics.jsonl").stat().st_ino
    api.add("ppo", "SUCCEEDED", f"{LOG}\nend\n")
    answer = run()
    assert (answer["changed"], answer["run"]["status"]) == (True, "SUCCEEDED")
    assert (kept / "driver.log").read_text().endswith("\nend\n")
    assert (kept / "metrics.jsonl").stat().st_ino == before


def test_check_mode_predicts_and_writes_nothing(api, run, kept):
    api.add("ppo", "SUCCEEDED", LOG)
    predicted = run(_ansible_check_mode=True)
    assert (predicted["changed"], list(kept.iterdir())) == (True, [])
    assert predicted["run"] == run()["run"]
    assert not run(_ansible_check_mode=True)["changed"]


@pytest.mark.parametrize(("status", "error"), [("FAILED", "KeyError: 'x'"), ("STOPPED", ""), ("SUCCEEDED", "")])
def test_a_job_that_failed_is_a_record_with_the_cause(api, run, status, error):
    api.add("ppo", status, "KeyError: 'x'\n")
    answer = run()
    assert "failed" not in answer
    assert (answer["run"]["status"], answer["run"]["error"], answer["run"]["steps"]) == (status, error, 0)


def test_bytes_that_are_no_text_do_no_harm(api, run, kept):
    api.add("ppo", "SUCCEEDED", "a\udcffb")
    (kept / "driver.log").write_bytes(b"\xfe old")
    assert run()["changed"] and not run()["changed"]
    assert (kept / "driver.log").read_bytes() == b"a\xffb"


def test_an_unknown_job_fails_and_keeps_what_there_is(run, kept):
    (kept / "driver.log").write_text("of an earlier head")
    assert run()["msg"] == "record of job ppo: the cluster does not know this job"
    assert (kept / "driver.log").read_text() == "of an earlier head"


def test_without_a_cluster_nothing_is_written(run, kept):
    with fake_ray_api.nobody() as url:
        answer = run(dashboard_url=url)
    assert answer["failed"] and answer["msg"].startswith("record of job ppo: Ray's API at")
    assert list(kept.iterdir()) == []


def test_a_directory_that_is_not_there_fails(api, run, kept):
    api.add("ppo", "SUCCEEDED")
    answer = run(path=f"{kept}/absent")
    assert answer["msg"] == f"record of job ppo: {kept}/absent cannot be written (No such file or directory)"
