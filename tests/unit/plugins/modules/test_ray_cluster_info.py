# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import functools

import pytest

from ansible_collections.rlops.verl.plugins.modules import ray_cluster_info
from ansible_collections.rlops.verl.tests.unit import fake_ray_api


@pytest.fixture
def api(api):
    api.nodes = [node("head")]
    return api


@pytest.fixture
def info(api, capsys):
    return functools.partial(fake_ray_api.run, capsys, ray_cluster_info, api, wait_timeout=5)


def node(name: str, state: str = "ALIVE") -> dict:
    return {
        "node_id": f"{name}-id", "node_name": name, "node_ip": "10.0.0.1", "is_head_node": name == "head",
        "state": state, "state_message": None if state == "ALIVE" else "it has gone",
        "resources_total": {"GPU": 8.0, "CPU": 64.0, "memory": 1e12, "object_store_memory": 2e11, "node:10.0.0.1": 1.0},
    }  # fmt: skip


def test_nodes_and_jobs_of_the_cluster(api, info):
    api.nodes.append(node("worker", "DEAD"))
    for submission_id, status in [("b", "RUNNING"), ("a", "PENDING"), ("c", "SUCCEEDED"), ("d", "FAILED")]:
        api.add(submission_id, status)
    head = {
        "node_id": "head-id", "name": "head", "address": "10.0.0.1", "alive": True, "is_head": True,
        "state_message": "", "slots": 8, "cpus": 64, "memory_bytes": 10**12, "object_store_bytes": 2 * 10**11,
    }  # fmt: skip
    dead = {"node_id": "worker-id", "name": "worker", "alive": False, "is_head": False, "state_message": "it has gone"}
    answer = info()
    answer.pop("invocation")
    assert answer == {
        "changed": False, "reachable": True, "problem": "", "ray_version": "2.60.0", "session_name": "session_1",
        "nodes": [head, {**head, **dead}], "running_jobs": ["a", "b"],
    }  # fmt: skip
    assert api.changes == []


@pytest.mark.parametrize(
    ("stranger", "words"),
    [
        ((401, {}, b""), "refuses the token (HTTP 401)"),
        ((500, {}, b"Traceback\nValueError: no"), "HTTP 500: ValueError: no"),
        ((200, {}, b"<html>"), "the answer is not Ray's"),
    ],
)
def test_what_is_wrong_with_the_api_is_an_answer(api, info, stranger, words):
    api.stranger = stranger
    answer = info()
    assert [answer["changed"], answer["reachable"], "failed" in answer, "nodes" in answer] == [False] * 4
    assert words in answer["problem"]
    assert len(api.requests) == 1, "it has looked once"


def test_nobody_that_answers_is_an_answer(info):
    with fake_ray_api.nobody() as url:
        answer = info(dashboard_url=url)
    assert not answer["reachable"]
    assert f"{url} does not answer" in answer["problem"]


def test_a_token_file_that_cannot_be_read_fails(info, tmp_path):
    answer = info(token_path=str(tmp_path / "absent"))
    assert answer["failed"]
    assert f"{tmp_path}/absent cannot be read" in answer["msg"]


def test_it_waits_for_nodes_that_are_alive(api, info, monkeypatch):
    """The API comes up late, then a node comes back."""
    answer, early = api.answer, [(503, {}, b"starting")]
    looks = [[node("head")], [node("head"), node("worker", "DEAD")], [node("head"), node("worker")]]

    def changing(method: str, path: str, *rest: object) -> tuple:
        if early:
            return early.pop()
        if "/nodes" in path:
            api.nodes = looks.pop(0)
        return answer(method, path, *rest)

    monkeypatch.setattr(api, "answer", changing)
    assert [item["alive"] for item in info(wait_nodes=2, wait_timeout=60)["nodes"]] == [True, True]
    assert looks == []


def test_more_nodes_than_wanted_are_enough(api, info):
    api.nodes.append(node("worker"))
    assert len(info(wait_nodes=1)["nodes"]) == 2
    assert len(api.requests) == 3


def test_what_was_found_by_the_deadline_is_no_failure(api, info):
    answer = info(wait_nodes=2, wait_timeout=0)
    assert [answer["reachable"], len(answer["nodes"])] == [True, 1]
    assert "failed" not in answer
    api.stranger = (503, {}, b"starting")
    assert "starting" in info(wait_nodes=1, wait_timeout=0)["problem"]


@pytest.mark.parametrize("arguments", [{"wait_nodes": 2, "_ansible_check_mode": True}, {"wait_nodes": 0}, {}])
def test_check_mode_and_nothing_to_wait_for_look_once(api, info, arguments):
    api.nodes = []
    assert info(**arguments)["nodes"] == []
    assert len(api.requests) == 3
