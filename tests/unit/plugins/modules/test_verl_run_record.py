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
START = 60_000  # as fake_ray_api has it
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
        "last_step": 2, "first_score": 0.25, "last_score": 0.5, "seconds_per_step": 3.0, "error": "", "saved_step": 0,
        "attempts": [attempt("ppo", "SUCCEEDED")],
    }  # fmt: skip
    assert (kept / "driver.log").read_bytes() == LOG.encode()
    assert [json.loads(line) for line in (kept / "metrics.jsonl").read_text().splitlines()] == [
        {"step": 1, "metrics": {"critic/score/mean": 0.25, "timing_s/step": 9.0}},
        {"step": 2, "metrics": {"critic/score/mean": 0.5, "timing_s/step": 3.0}},
    ]
    assert sorted(path.name for path in kept.iterdir()) == FILES
    assert api.changes == []


def attempt(submission_id: str, status: str, log: str = "driver.log") -> dict:
    return {"submission_id": submission_id, "start_time_ms": START, "status": status, "seconds": 30.5, "log": log}


def test_attempts_continue_each_other(api, run, kept):
    first, second = (
        STEP.format(1, 0.1, 9.0) + STEP.format(2, 0.2, 9.0) + STEP.format(3, 0.3, 9.0),
        STEP.format(3, 0.4, 3.0),
    )
    api.add("ppo", "FAILED", first)
    run()
    api.add("ppo.2", "FAILED", second)
    run(submission_id="ppo.2")
    api.add("ppo.3", "SUCCEEDED", STEP.format(4, 0.5, 3.0))
    record = run(submission_id="ppo.3")["run"]
    assert (record["steps"], record["last_step"], record["first_score"], record["last_score"]) == (4, 4, 0.1, 0.5)
    scores = [json.loads(line)["metrics"]["critic/score/mean"] for line in (kept / "metrics.jsonl").open()]
    assert scores == [0.1, 0.2, 0.4, 0.5]
    assert record["attempts"] == [
        attempt("ppo", "FAILED", "driver.1.log"),
        attempt("ppo.2", "FAILED", "driver.2.log"),
        attempt("ppo.3", "SUCCEEDED"),
    ]
    logs = [(kept / name).read_text() for name in ("driver.1.log", "driver.2.log", "driver.log")]
    assert logs == [first, second, STEP.format(4, 0.5, 3.0)]
    assert not run(submission_id="ppo.3")["changed"]


def test_attempts_that_nobody_followed_are_recorded_with_the_next(api, run, kept):
    api.add("ppo", "FAILED", STEP.format(1, 0.1, 9.0) + STEP.format(2, 0.2, 9.0))
    api.add("ppo.2", "STOPPED", STEP.format(2, 0.3, 3.0), start_time=START + 1000)
    api.add("ppo.3", "SUCCEEDED", STEP.format(3, 0.5, 3.0), start_time=START + 2000)
    api.add("ppo2", "SUCCEEDED", STEP.format(9, 0.9, 9.0))
    record = run()["run"]
    assert (record["submission_id"], record["status"], record["first_score"], record["steps"]) == (
        "ppo.3", "SUCCEEDED", 0.1, 3,
    )  # fmt: skip
    assert [(one["submission_id"], one["log"]) for one in record["attempts"]] == [
        ("ppo", "driver.1.log"),
        ("ppo.2", "driver.2.log"),
        ("ppo.3", "driver.log"),
    ]
    assert (kept / "driver.2.log").read_text() == STEP.format(2, 0.3, 3.0)
    scores = [json.loads(line)["metrics"]["critic/score/mean"] for line in (kept / "metrics.jsonl").open()]
    assert scores == [0.1, 0.3, 0.5]
    assert not run()["changed"]


def test_an_attempt_that_was_recorded_while_it_ran_is_brought_up_to_date(api, run, kept):
    api.add("ppo", "RUNNING", STEP.format(1, 0.1, 9.0))
    run()
    api.add("ppo", "FAILED", STEP.format(1, 0.1, 9.0) + STEP.format(2, 0.2, 9.0))
    api.add("ppo.2", "SUCCEEDED", STEP.format(3, 0.5, 3.0), start_time=START + 1000)
    record = run()["run"]
    assert [one["status"] for one in record["attempts"]] == ["FAILED", "SUCCEEDED"]
    assert (record["steps"], (kept / "driver.1.log").read_text().count(") step:")) == (3, 2)


@pytest.mark.parametrize("broken", ["run.json", "metrics.jsonl", "driver.log"])
def test_a_write_that_fails_loses_no_log(api, run, kept, monkeypatch, broken):
    first, second = STEP.format(1, 0.1, 9.0), STEP.format(2, 0.2, 9.0)
    api.add("ppo", "FAILED", first)
    run()
    del api.jobs["ppo"]
    api.add("ppo.2", "SUCCEEDED", second, start_time=START + 1000)
    write = verl_run_record._atomic_file.write_text

    def fails(path, *content):
        if path.endswith(f"/{broken}"):
            raise OSError(28, "No space left on device")
        write(path, *content)

    with monkeypatch.context() as patch:
        patch.setattr(verl_run_record._atomic_file, "write_text", fails)
        assert "No space left on device" in run()["msg"]
    run()
    assert [(kept / name).read_text() for name in ("driver.1.log", "driver.log")] == [first, second]


def test_the_same_id_on_a_cluster_that_was_started_anew_is_another_attempt(api, run, kept):
    api.add("ppo", "FAILED", "of the first")
    run()
    api.add("ppo", "SUCCEEDED", "of the second", start_time=START + 1)
    assert [one["log"] for one in run()["run"]["attempts"]] == ["driver.1.log", "driver.log"]
    assert [(kept / name).read_text() for name in ("driver.1.log", "driver.log")] == ["of the first", "of the second"]


@pytest.mark.parametrize(("text", "step"), [("4", 4), ("4\n", 4), ("", 0), (None, 0)])
def test_the_last_saved_step_is_that_of_verls_tracker(api, run, tmp_path, text, step):
    if text is not None:
        (tmp_path / "latest_checkpointed_iteration.txt").write_text(text)
    api.add("ppo", "SUCCEEDED", "nothing was left to do")
    record = run(checkpoint_dir=str(tmp_path))["run"]
    assert (record["last_step"], record["saved_step"]) == (0, step)


@pytest.mark.parametrize("name", ["run.json", "metrics.jsonl"])
def test_what_the_module_has_not_written_is_not_overwritten(api, run, kept, name):
    (kept / name).write_text("[")
    api.add("ppo", "SUCCEEDED", LOG)
    assert f"{kept} cannot be read or written (run.json or metrics.jsonl is not what" in run()["msg"]
    assert (kept / name).read_text() == "["


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
    assert answer["msg"] == f"record of job ppo: {kept}/absent cannot be read or written (No such file or directory)"
