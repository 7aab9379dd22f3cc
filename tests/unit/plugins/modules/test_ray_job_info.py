# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from ansible_collections.rlops.verl.plugins.modules import ray_job_info
from ansible_collections.rlops.verl.tests.unit import fake_ray_api


@pytest.fixture
def run(api, capsys):
    return functools.partial(fake_ray_api.run, capsys, ray_job_info, api, submission_id="ppo")


def test_a_job_is_read_without_its_log(api, run):
    api.add("ppo", "FAILED", "a\n", message="exit 1", driver_exit_code=1, metadata={"a": "b"})
    answer = run()
    assert (answer["changed"], answer["reachable"], answer["problem"], answer["exists"]) == (False, True, "", True)
    assert answer["job"] == {
        "submission_id": "ppo", "status": "FAILED", "terminal": True, "message": "exit 1", "driver_exit_code": 1,
        "entrypoint": "python train.py", "driver_node_id": fake_ray_api.NODE, "start_time_ms": 60_000,
        "end_time_ms": 90_500, "metadata": {"a": "b"},
    }  # fmt: skip
    assert "log" not in answer and "log_offset" not in answer
    assert api.requests == ["GET /api/jobs/ppo"]


@pytest.mark.parametrize(
    ("status", "offset", "log", "known"),
    [
        ("RUNNING", 0, "first\n", 6),
        ("SUCCEEDED", 0, "first\nsecond", 12),
        ("SUCCEEDED", 6, "second", 12),
        ("RUNNING", 6, "", 6),
        ("RUNNING", 99, "first\n", 6),
    ],
)
def test_the_log_is_read_behind_what_is_known(api, run, status, offset, log, known):
    api.add("ppo", status, "first\nsecond")
    answer = run(log_offset=offset)
    assert (answer["log"], answer["log_offset"]) == (log, known)


def test_a_job_that_ends_between_two_requests_loses_no_line(api, run):
    api.add("ppo", log="first\nsec")
    api.later.append(lambda: api.add("ppo", "SUCCEEDED", "first\nsecond"))
    first = run(log_offset=0)
    assert (first["job"]["terminal"], first["log"]) == (False, "first\n")
    # The state is read before the log, never behind it.
    assert api.requests == ["GET /api/jobs/ppo", "GET /api/jobs/ppo/logs"]
    last = run(log_offset=first["log_offset"])
    assert (last["job"]["terminal"], last["log"]) == (True, "second")


@pytest.mark.parametrize("offset", [-1, 0])
def test_an_unknown_job_is_an_answer(run, offset):
    answer = run(log_offset=offset)
    assert (answer["reachable"], answer["problem"], answer["exists"]) == (True, "", False)
    assert not {"job", "log", "failed"} & set(answer)


@pytest.mark.parametrize(
    ("stranger", "token", "problem"),
    [
        (None, "another-token", "refuses the token (HTTP 403)"),
        ((200, {}, b"<html>"), None, "the answer is not Ray's"),
        ((503, {}, b"starting"), None, "HTTP 503: starting"),
    ],
)
def test_an_api_that_gives_no_answer_is_an_answer(api, run, stranger, token, problem):
    api.add("ppo")
    api.stranger = stranger
    if token:
        Path(api.token_path).write_text(token)
    answer = run(log_offset=0)
    assert (answer["changed"], answer["reachable"]) == (False, False)
    assert problem in answer["problem"]
    assert not {"exists", "job", "failed"} & set(answer)


def test_nobody_listening_is_an_answer_and_a_missing_token_file_is_none(api, run):
    with fake_ray_api.nobody() as url:
        assert "does not answer" in run(dashboard_url=url)["problem"]
    Path(api.token_path).unlink()
    assert "cannot be read" in run()["msg"]
