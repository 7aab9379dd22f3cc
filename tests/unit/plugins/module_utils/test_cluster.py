# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import pytest

from ansible_collections.rlops.verl.plugins.module_utils._cluster import cluster_checks
from ansible_collections.rlops.verl.plugins.module_utils._verdict import malformed

GIB = 1024**3


def node(address: str, **changes: object) -> dict:
    return {"address": address, "alive": True, "slots": 8, "object_store_bytes": 64 * GIB, **changes}


CLUSTER = {
    "reachable": True,
    "problem": "",
    "ray_version": "2.60.0",
    "session_name": "session_1",
    "nodes": [node("10.0.0.1"), node("10.0.0.2")],
}
WANTED = {
    "ray_version": "2.60.0",
    "session_name": "session_1",
    "nodes": {
        name: {"address": address, "slots": 8, "object_store_bytes": 64 * GIB}
        for name, address in (("head", "10.0.0.1"), ("worker", "10.0.0.2"))
    },
}


def judged(**changes: object) -> list[dict]:
    checks = cluster_checks({**CLUSTER, **changes}, WANTED)
    assert malformed(checks) is None
    return checks


def problems(**changes: object) -> list[dict]:
    found = [check for check in judged(**changes) if not check["ok"]]
    assert all(check["remedy"] and check["level"] == "error" for check in found)
    return found


def with_second(*nodes: dict) -> dict:
    return {"nodes": [node("10.0.0.1"), *nodes]}


def test_the_declared_cluster_has_no_problem():
    checks = judged()
    assert all(check["ok"] for check in checks)
    assert [check["name"] for check in checks] == [
        "cluster-reachable", "ray-version", "same-cluster",
        "node head", "slots of head", "object store of head",
        "node worker", "slots of worker", "object store of worker",
        "no-other-node",
    ]  # fmt: skip


def test_a_cluster_that_does_not_answer_is_the_only_problem():
    (check,) = judged(reachable=False, problem="GET /api/version: connection refused")
    assert (check["ok"], check["name"]) == (False, "cluster-reachable")
    assert check["found"] == "GET /api/version: connection refused"
    assert "ray_node.log in ray_cluster_run_dir of the head" in check["remedy"]


@pytest.mark.parametrize(
    ("changes", "name", "found", "wanted", "remedy"),
    [
        ({"ray_version": "2.9.0"}, "ray-version", "2.9.0", "2.60.0", "playbooks/cluster.yml"),
        (
            {"session_name": "session_2"},
            "same-cluster",
            "session_2",
            "session_1, the session of this head",
            "Change ray_cluster_ports",
        ),
        (
            with_second(),
            "node worker",
            "not among the living nodes of the cluster (10.0.0.2)",
            "alive",
            "log of Ray on worker",
        ),
        (
            with_second(node("10.0.0.2", alive=False)),
            "node worker",
            "not among the living nodes of the cluster (10.0.0.2)",
            "alive",
            "playbooks/cluster.yml",
        ),
        (with_second(node("10.0.0.2", slots=4)), "slots of worker", "4", "8", "verl_slots_per_node for worker"),
        (
            with_second(node("10.0.0.2", object_store_bytes=32 * GIB)),
            "object store of worker",
            "32.0 GiB",
            "64.0 GiB",
            "restarted on worker",
        ),
        (
            with_second(node("10.0.0.2"), node("10.0.0.9"), node("10.0.0.3")),
            "no-other-node",
            "10.0.0.3, 10.0.0.9",
            "no node that is not in the inventory",
            "Add it to the inventory",
        ),
    ],
)
def test_one_thing_that_differs(changes, name, found, wanted, remedy):
    (check,) = problems(**changes)
    assert (check["name"], check["found"], check["wanted"]) == (name, found, wanted)
    assert remedy in check["remedy"]


def test_a_missing_node_is_not_measured():
    assert "slots of worker" not in {check["name"] for check in judged(**with_second())}


def test_a_node_that_came_back_is_alive_and_its_dead_entry_does_not_count():
    assert problems(**with_second(node("10.0.0.2"), node("10.0.0.2", alive=False, slots=0))) == []
    assert problems(**with_second(node("10.0.0.2"), node("10.0.0.9", alive=False))) == []


@pytest.mark.parametrize(("share", "ok"), [(0.991, True), (1.009, True), (0.98, False), (1.02, False)])
def test_a_store_that_ray_rounded_is_the_one_that_was_asked_for(share, ok):
    assert (problems(**with_second(node("10.0.0.2", object_store_bytes=int(64 * GIB * share)))) == []) is ok


@pytest.mark.parametrize("session", [{"session_name": ""}, {}])
def test_without_a_session_none_is_compared(session):
    wanted = {key: value for key, value in WANTED.items() if key != "session_name"}
    checks = cluster_checks({**CLUSTER, "session_name": "session_2"}, {**wanted, **session})
    assert all(check["ok"] for check in checks)
    assert "same-cluster" not in {check["name"] for check in checks}
