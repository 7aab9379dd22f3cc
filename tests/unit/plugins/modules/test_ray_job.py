# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import functools
import io
import zipfile
from pathlib import Path

import pytest

from ansible_collections.rlops.verl.plugins.module_utils._working_dir import prepare
from ansible_collections.rlops.verl.plugins.modules import ray_job
from ansible_collections.rlops.verl.tests.unit import fake_ray_api

CHECK = {"_ansible_check_mode": True}
SUBMITTED = "POST /api/jobs/"


@pytest.fixture
def run(api, capsys):
    job = {"submission_id": "ppo", "entrypoint": "python train.py 'a b'"}
    return functools.partial(fake_ray_api.run, capsys, ray_job, api, **job)


@pytest.fixture
def code(tmp_path):
    """A working directory."""
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "train.py").write_text("print()")
    (tmp_path / "code" / "train.log").write_text("no code")
    return tmp_path / "code"


def outcome(answer: dict) -> tuple:
    return answer["changed"], answer["action"], answer["submission_id"], answer["status"]


# ---- Submission


def test_a_job_is_submitted_once(api, run):
    answer = run(runtime_env={"env_vars": {"A": "1"}}, metadata={"step": 4, "ok": True})
    assert outcome(answer) == (True, "submit", "ppo", "")
    assert answer["reason"] == "the cluster does not know it"
    job = api.jobs["ppo"]
    assert (job["entrypoint"], job["runtime_env"]) == ("python train.py 'a b'", {"env_vars": {"A": "1"}})
    assert job["metadata"] == {"step": "4", "ok": "True"}
    again = run()
    assert outcome(again) == (False, "attach", "ppo", "PENDING")
    assert "diff" not in again
    assert api.changes == [SUBMITTED]


@pytest.mark.parametrize("mode", [{}, CHECK])
@pytest.mark.parametrize(
    ("jobs", "options", "expected"),
    [
        ({"ppo": "RUNNING", "other": "RUNNING"}, {"exclusive": True}, (False, "attach", "ppo", "RUNNING")),
        ({"ppo": "SUCCEEDED"}, {}, (False, "none", "ppo", "SUCCEEDED")),
        ({"ppo": "FAILED"}, {"resubmit": False}, (False, "none", "ppo", "FAILED")),
        ({"ppo": "FAILED"}, {}, (True, "submit", "ppo.2", "")),
        ({"ppo": "FAILED", "ppo.2": "STOPPED"}, {}, (True, "submit", "ppo.3", "")),
        ({"ppo": "FAILED", "ppo.2": "RUNNING"}, {}, (False, "attach", "ppo.2", "RUNNING")),
        ({"other": "RUNNING"}, {}, (True, "submit", "ppo", "")),
        ({"other": "FAILED"}, {"exclusive": True}, (True, "submit", "ppo", "")),
    ],
)
def test_the_last_attempt_decides(api, run, jobs, options, expected, mode):
    for name, status in jobs.items():
        api.add(name, status)
    assert outcome(run(**options, **mode)) == expected
    assert api.changes == ([SUBMITTED] if expected[0] and not mode else [])
    assert set(api.jobs) - set(jobs) == ({expected[2]} if api.changes else set())


@pytest.mark.parametrize("mode", [{}, CHECK])
def test_a_taken_cluster_is_refused_to_an_exclusive_job(api, run, mode):
    api.add("other")
    answer = run(exclusive=True, **mode)
    assert answer["failed"]
    assert "the cluster is taken by running job other, wanted an idle cluster" in answer["msg"]
    assert api.changes == []


def test_the_diff_shows_the_job_without_its_secrets(run):
    runtime_env = {"env_vars": {"A": "b", "HF_TOKEN": "s3cret"}, "working_dir": "https://host/code.zip"}
    for mode in (CHECK, {}):
        assert run(runtime_env=runtime_env, **mode)["diff"] == {
            "before": "",
            "after": "status: submitted as ppo\nentrypoint:\n  python\n  train.py\n  'a b'\n"
            "runtime_env.env_vars: {'A': 'b', 'HF_TOKEN': '********'}\n"
            "runtime_env.working_dir: https://host/code.zip\n",
        }


def test_secret_variables_reach_the_job_and_nobody_else(api, run):
    answer = run(runtime_env={"env_vars": {"A": "b"}}, secret_env_vars={"WANDB_API_KEY": "s3cret-value", "N": 41234})
    assert api.jobs["ppo"]["runtime_env"]["env_vars"] == {"A": "b", "WANDB_API_KEY": "s3cret-value", "N": 41234}
    assert "'WANDB_API_KEY': '********'" in answer["diff"]["after"]
    assert "s3cret-value" not in str(answer) and "41234" not in str(answer)


@pytest.mark.parametrize("value", ["1", 1, True, "pp", "ppo", ""])
def test_a_short_secret_does_not_blot_out_the_id(run, value):
    for mode in (CHECK, {}):
        answer = run(secret_env_vars={"HF_HUB_DISABLE_IMPLICIT_TOKEN": value}, submission_id="ppo-1a1b", **mode)
        assert answer["submission_id"] == "ppo-1a1b"
        assert "submitted as ppo-1a1b\n" in answer.get("diff", {}).get("after", "submitted as ppo-1a1b\n")


def test_a_command_that_no_shell_reads_is_shown_as_it_is(run):
    after = run(entrypoint="echo 'a", **CHECK)["diff"]["after"]
    assert after.splitlines()[1:] == ["entrypoint:", "  'echo '\"'\"'a'"]


def test_a_job_that_ray_does_not_accept_fails_with_rays_reason(api, run):
    api.refusal = "RuntimeError: no agent"
    answer = run()
    assert answer["failed"] and answer["action"] == "submit"
    assert answer["msg"] == f"job ppo was not accepted: {SUBMITTED} at {api.url}: HTTP 500: RuntimeError: no agent"


# ---- The working directory


def test_a_directory_is_sent_as_a_package(api, run, code):
    runtime_env = {"working_dir": str(code), "excludes": ["*.log"]}
    predicted = run(runtime_env=runtime_env, **CHECK)
    assert (api.packages, api.jobs) == ({}, {})
    answer = run(runtime_env=runtime_env)
    assert answer["working_dir"] == predicted["working_dir"] == api.jobs["ppo"]["runtime_env"]["working_dir"]
    assert f"sent as {answer['working_dir']}: 1 file\n" in answer["diff"]["after"]
    ((name, archive),) = api.packages.items()
    assert answer["working_dir"] == f"gcs://{name.removeprefix('gcs/')}"
    with zipfile.ZipFile(io.BytesIO(archive)) as package:
        assert {name: package.read(name) for name in package.namelist()} == {"train.py": b"print()"}


def test_a_package_that_the_cluster_has_is_not_sent_again(api, run, code):
    run(runtime_env={"working_dir": str(code)})
    run(runtime_env={"working_dir": str(code)}, submission_id="other")
    assert [request.split("/")[0] for request in api.changes] == ["PUT ", "POST ", "POST "]


def test_nothing_is_read_or_sent_for_a_job_that_runs(api, run):
    api.add("ppo")
    assert "working_dir" not in run(runtime_env={"working_dir": "/absent"})
    assert api.changes == []


def test_the_address_of_a_package_is_passed_on(api, run):
    assert "working_dir" not in run(runtime_env={"working_dir": "https://host/code.zip"})
    assert api.jobs["ppo"]["runtime_env"] == {"working_dir": "https://host/code.zip"}
    assert api.changes == [SUBMITTED]


@pytest.mark.parametrize(
    ("runtime_env", "message"),
    [
        ({"working_dir": "/absent/code"}, "working-dir: found /absent/code"),
        ({"working_dir": "code"}, "working-dir: found code"),
        ({"working_dir": "/", "excludes": "*.log"}, "runtime_env.excludes: found '*.log', wanted a list of patterns"),
        ({"working_dir": "/", "excludes": [1]}, "runtime_env.excludes: found [1]"),
    ],
)
@pytest.mark.parametrize("mode", [{}, CHECK])
def test_a_directory_that_cannot_be_sent_fails(api, run, runtime_env, message, mode):
    answer = run(runtime_env=runtime_env, **mode)
    assert answer["failed"] and message in answer["msg"]
    assert api.changes == []


def test_a_directory_that_was_changed_meanwhile_is_not_sent(api, run, code):
    digest = prepare(str(code), [])[1].digest
    (code / "train.py").write_text("other()")
    answer = run(runtime_env={"working_dir": str(code)}, working_dir_digest=digest)
    assert f"wanted {digest}. Files were changed since" in answer["msg"]
    assert api.changes == []
    (code / "train.py").write_text("print()")
    assert run(runtime_env={"working_dir": str(code)}, working_dir_digest=digest)["changed"]


# ---- Stop


@pytest.mark.parametrize("mode", [{}, CHECK])
@pytest.mark.parametrize(
    ("jobs", "expected", "stopped"),
    [
        ({}, (False, "none", "ppo", ""), []),
        ({"other": "RUNNING"}, (False, "none", "ppo", ""), []),
        ({"ppo": "FAILED"}, (False, "none", "ppo", ""), []),
        ({"ppo": "RUNNING", "other": "RUNNING"}, (True, "stop", "ppo", "RUNNING"), ["ppo"]),
        ({"ppo": "FAILED", "ppo.2": "PENDING"}, (True, "stop", "ppo.2", "PENDING"), ["ppo.2"]),
        ({"ppo": "RUNNING", "ppo.2": "RUNNING"}, (True, "stop", "ppo.2", "RUNNING"), ["ppo", "ppo.2"]),
    ],
)
def test_what_runs_of_a_job_is_stopped(api, run, jobs, expected, stopped, mode):
    for name, status in jobs.items():
        api.add(name, status)
    answer = run(state="stopped", **mode)
    assert outcome(answer) == expected
    assert "diff" not in answer
    assert api.changes == ([] if mode else [f"POST /api/jobs/{name}/stop" for name in stopped])


def test_a_job_that_does_not_stop_fails(api, run):
    api.add("ppo", "STOPPING")
    answer = run(state="stopped", stop_timeout=0)
    assert answer["failed"]
    assert answer["msg"].startswith("job ppo was not stopped: job ppo stopped: not reached within 0 s")


def test_a_stop_needs_no_command_and_a_submission_does(api, run):
    assert not run(state="stopped", entrypoint=None)["changed"]
    assert "entrypoint" in run(entrypoint=None)["msg"]
    assert api.changes == []


# ---- No cluster


@pytest.mark.parametrize("state", ["submitted", "stopped"])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("another-token", "refuses the token (HTTP 403)"),
        ("\n", "ray_token is empty"),
        (None, "ray_token cannot be read (No such file or directory)"),
    ],
)
def test_without_the_right_token_nothing_is_done(api, run, content, message, state):
    api.add("ppo", "RUNNING" if state == "stopped" else "FAILED")
    Path(api.token_path).unlink() if content is None else Path(api.token_path).write_text(content)
    answer = run(state=state)
    assert answer["failed"] and message in answer["msg"]
    assert "another-token" not in str(answer)
    assert api.changes == []


@pytest.mark.parametrize("body", [b"<html>It works!</html>", b'{"ok": true}'])
@pytest.mark.parametrize("state", ["submitted", "stopped"])
def test_another_program_on_the_port_is_told_from_ray(api, run, state, body):
    api.stranger = (200, {}, body)
    answer = run(state=state, assume_cluster=True, **CHECK)
    assert answer["failed"] and "the answer is not Ray's" in answer["msg"]


@pytest.mark.parametrize("state", ["submitted", "stopped"])
def test_a_cluster_that_is_yet_to_come_is_assumed_in_check_mode_alone(run, state):
    with fake_ray_api.nobody() as url:
        asked = functools.partial(run, dashboard_url=url, state=state)
        assert asked(assume_cluster=True, **CHECK)["action"] == ("submit" if state == "submitted" else "none")
        for options in ({"assume_cluster": True}, CHECK, {}):
            answer = asked(**options)
            assert answer["failed"] and f"{url} does not answer" in answer["msg"]


@pytest.mark.parametrize("state", ["submitted", "stopped"])
def test_a_token_that_is_yet_to_come_is_assumed_in_check_mode_alone(api, run, state):
    asked = functools.partial(run, token_path=f"{api.token_path}.later", state=state)
    assert asked(assume_cluster=True, **CHECK)["action"] == ("submit" if state == "submitted" else "none")
    for options in ({"assume_cluster": True}, CHECK, {}):
        answer = asked(**options)
        assert answer["failed"] and f"{api.token_path}.later cannot be read" in answer["msg"]
    assert api.requests == []


def test_what_a_server_says_is_shown_without_the_token(api, run):
    api.stranger = (500, {}, f"bad header: Bearer {fake_ray_api.TOKEN}".encode())
    assert run()["msg"].endswith("HTTP 500: bad header: Bearer ********")
