# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import re
from functools import partial
from types import SimpleNamespace

import pytest
import yaml
from ansible.errors import AnsibleActionFail
from ansible.parsing.dataloader import DataLoader
from ansible.playbook.play_context import PlayContext
from ansible.playbook.task import Task
from ansible.plugins.connection.local import Connection

from ansible_collections.rlops.verl.plugins.action import ray_job_follow
from ansible_collections.rlops.verl.plugins.doc_fragments.ray_api import ModuleDocFragment
from ansible_collections.rlops.verl.plugins.modules import ray_job_follow as documented
from ansible_collections.rlops.verl.plugins.modules import ray_job_info
from ansible_collections.rlops.verl.tests.unit import fake_ray_api

FOLLOWING = "following job ppo: Ctrl-C leaves it running, the same command takes it up again"
STEP = "\x1b[36m(TaskRunner pid=7)\x1b[0m step:{} - critic/score/mean:0.25 - timing_s/step:10.0\n"
DOWN = (503, {}, b"starting")


@pytest.fixture
def api(tmp_path):
    with fake_ray_api.serving(tmp_path) as served:
        yield served


def after(changes, monkeypatch):
    """Changes of the cluster, each some seconds after the one before."""
    now = 0
    monkeypatch.setattr(ray_job_follow, "time", SimpleNamespace(monotonic=lambda: now))

    def later(seconds, change):
        nonlocal now
        now += seconds
        change()

    return [partial(later, seconds, change) for seconds, change in changes]


@pytest.fixture
def follow(api, capsys):
    """Run the plugin on this process as its host. Returns its result, or its failure as text, and what it printed.

    Before each look at the job, one of ``changes`` is made to the cluster.
    """

    looks = []

    def run(*changes, check_mode=False, **options):
        task, printed, left = Task(), [], iter(changes)
        looks.clear()
        task.check_mode = check_mode
        usual = {"dashboard_url": api.url, "token_path": api.token_path, "submission_id": "ppo", "interval": 0}
        task.args = {name: value for name, value in {**usual, **options}.items() if value is not None}

        class OnThisProcess(ray_job_follow.ActionModule):
            def _execute_module(self, module_name, module_args, task_vars):
                assert (module_name, task_vars) == ("rlops.verl.ray_job_info", {"a": "variable"})
                looks.append(module_args)
                assert len(printed) < len(changes) + 5, "it looks without an end"
                next(left, lambda: None)()
                printed.append(capsys.readouterr().out)
                module_args = {"dashboard_url": None, "token_path": None, **module_args}
                return fake_ray_api.run(capsys, ray_job_info, api, **module_args)

        plugin = OnThisProcess(task, Connection(PlayContext()), PlayContext(), DataLoader(), None, None)
        try:
            result = plugin.run(task_vars={"a": "variable"})
        except AnsibleActionFail as error:
            result = error.message
        return result, re.findall("(.*)\n", "".join(printed) + capsys.readouterr().out)

    run.looks = looks
    return run


def test_a_job_is_followed_to_its_end_without_repeating_or_losing_a_line(api, follow):
    api.add("ppo", "PENDING")
    result, printed = follow(
        lambda: None,
        lambda: api.add("ppo", "RUNNING", "one\nt"),
        lambda: api.add("ppo", "RUNNING", "one\ntwo\n" + STEP.format(1)),
        lambda: api.add("ppo", "SUCCEEDED", "one\ntwo\n" + STEP.format(1) + "the end"),
        total_steps=4,
    )
    assert printed == [FOLLOWING, "one", "two", "step 1/4  score 0.250  10.0 s  about 0:30 left", "the end"]
    assert (result["changed"], result["job"]["status"], result["job"]["end_time_ms"]) == (False, "SUCCEEDED", 90_500)
    assert len(api.requests) == 8


@pytest.mark.parametrize("status", ["FAILED", "STOPPED"])
def test_a_job_that_failed_does_not_fail_the_task(api, follow, status):
    api.add("ppo", status, message="exit 1")
    result, _printed = follow()
    assert (result["job"]["status"], result["job"]["message"]) == (status, "exit 1")


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ({}, [FOLLOWING, "one", "step 1  score 0.250  10.0 s", "(TaskRunner pid=7) two"]),
        ({"log_offset": 4}, [FOLLOWING, "step 1  score 0.250  10.0 s", "(TaskRunner pid=7) two"]),
        ({"show": "steps"}, [FOLLOWING, "step 1  score 0.250  10.0 s"]),
        ({"show": "none"}, []),
    ],
)
def test_what_is_shown_can_be_chosen(api, follow, options, shown):
    api.add("ppo", "SUCCEEDED", "one\n" + STEP.format(1) + "\x1b[36m(TaskRunner pid=7)\x1b[0m two\n\n")
    assert follow(**options)[1] == shown


def test_a_configuration_that_comes_in_pieces_is_one_line(api, follow):
    _result, printed = follow(
        lambda: api.add("ppo", "RUNNING", "{'a': 1,\n"),
        lambda: api.add("ppo", "SUCCEEDED", "{'a': 1,\n 'b': 2}\nrest\n"),
    )
    assert printed == [FOLLOWING, "(2 lines of configuration)", "rest"]


def test_only_a_line_feed_ends_a_line(api, follow):
    log = "one\u2028and\x0ca half\rtwo\x85 halves\n1%\r" + STEP.format(1) + "{'a': 1,\n 'b': 2}\nrest\r\n"
    api.add("ppo", "SUCCEEDED", log)
    step = "step 1  score 0.250  10.0 s"
    assert follow()[1] == [FOLLOWING, "two\x85 halves", step, "(2 lines of configuration)", "rest"]


def test_an_api_that_is_silent_for_a_while_is_waited_for(api, follow):
    api.add("ppo", "RUNNING", "one\n")
    result, printed = follow(
        lambda: None,
        lambda: setattr(api, "stranger", DOWN),
        lambda: setattr(api, "stranger", None),
        lambda: api.add("ppo", "SUCCEEDED", "one\ntwo\n"),
    )
    assert result["job"]["status"] == "SUCCEEDED"
    assert printed == [FOLLOWING, "one", "two"]


def test_an_api_that_is_silent_for_too_long_is_an_error_with_its_answer(api, follow):
    api.stranger = DOWN
    result, _printed = follow(patience=0)
    assert result.startswith("job ppo cannot be read for 0 s: GET /api/jobs/ppo")
    assert result.endswith("HTTP 503: starting")


def test_patience_counts_from_the_first_silence_in_a_row(api, follow, monkeypatch):
    def answer(value):
        return lambda: setattr(api, "stranger", value)

    api.add("ppo")
    changes = [(0, None), (100, DOWN), (119, DOWN), (1000, None), (1000, DOWN), (119, DOWN), (1, DOWN)]
    result, _printed = follow(*after([(s, answer(value)) for s, value in changes], monkeypatch), patience=120)
    assert result.startswith("job ppo cannot be read for 120 s: ")
    assert len(follow.looks) == len(changes)


def test_one_silence_is_waited_for_whatever_the_interval(api, follow, monkeypatch):
    api.add("ppo", "RUNNING")
    changes = [
        (0, lambda: None),
        (600, lambda: setattr(api, "stranger", DOWN)),
        (600, lambda: (setattr(api, "stranger", None), api.add("ppo", "SUCCEEDED"))),
    ]
    result, _printed = follow(*after(changes, monkeypatch), patience=120)
    assert result["job"]["status"] == "SUCCEEDED"


def test_a_token_that_cannot_be_read_is_an_error_with_its_reason(follow, tmp_path):
    result, _printed = follow(patience=0, token_path=str(tmp_path / "absent"))
    assert result.startswith(f"job ppo cannot be read for 0 s: token_path: {tmp_path}/absent cannot be read (No such")


def test_a_cluster_without_a_token_is_asked_without_one(follow):
    result, _printed = follow(patience=0, token_path=None)
    assert "HTTP 401" in result


def test_the_path_of_the_token_is_one_of_the_host(follow):
    follow(patience=0, token_path="~/$USER/token")
    assert [look["token_path"] for look in follow.looks] == ["~/$USER/token"]


def test_a_job_that_the_cluster_does_not_know_is_an_error(api, follow):
    api.add("ppo", "RUNNING", "one\n")
    result, printed = follow(lambda: None, api.jobs.clear)
    assert result.startswith("job ppo: the cluster does not know it (any more). Ray forgets its jobs when the head")
    assert printed == [FOLLOWING, "one"]


def test_a_job_that_does_not_end_in_time_is_left_running(api, follow):
    api.add("ppo", "RUNNING")
    result, _printed = follow(timeout=1, interval=0.4)
    assert result.startswith("end of job ppo: not reached within 1 s; last state: {'submission_id': 'ppo'")
    # Ansible appends the text of a cause.
    assert result.endswith("}. The job goes on; run again to take it up.")
    assert api.requests.count("GET /api/jobs/ppo") > 2 and api.changes == []


def test_nothing_is_followed_in_check_mode(api, follow):
    assert follow(check_mode=True) == ({"skipped": True, "msg": "nothing is followed in check mode"}, [])
    assert api.requests == []


@pytest.mark.parametrize("check_mode", [False, True])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"submission_id": None}, "missing required arguments: submission_id"),
        ({"show": "all"}, "value of show must be one of: log, steps, none, got: all"),
        ({"id": "ppo"}, "Unsupported parameters"),
    ],
)
def test_wrong_options_are_an_error(api, follow, options, message, check_mode):
    result, printed = follow(**options, check_mode=check_mode)
    assert message in result
    assert (printed, api.requests) == ([], [])


def test_the_options_are_the_documented_ones():
    options = yaml.safe_load(documented.DOCUMENTATION)["options"]
    options.update(yaml.safe_load(ModuleDocFragment.DOCUMENTATION)["options"])
    for option in options.values():
        del option["description"]
    # The path of the token is shown, other than the token: nothing that a user has to know.
    options["token_path"]["no_log"] = False
    # The module on the host makes a path of it.
    assert options["token_path"].pop("type") == "path"
    options["token_path"]["type"] = "str"
    assert options == ray_job_follow.OPTIONS
