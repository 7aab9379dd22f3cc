# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

from ansible_collections.rlops.verl.plugins.filter import cluster_checks
from ansible_collections.rlops.verl.plugins.module_utils._verdict import malformed

NODE = {"address": "10.0.0.1", "alive": True, "slots": 8, "object_store_bytes": 64 * 1024**3}
CLUSTER = {
    "reachable": True, "problem": "", "ray_version": "2.60.0", "session_name": "session_1", "nodes": [NODE],
}  # fmt: skip


def judged(example, **changes: object) -> tuple[str, dict]:
    """The stage of the example, and its checks as name to result."""
    task = example(cluster_checks, cluster={**CLUSTER, **changes})
    assert malformed(task["checks"]) is None
    return task["stage"], {check["name"]: check["ok"] for check in task["checks"]}


def test_the_declared_cluster_passes(example):
    names = ("cluster-reachable", "ray-version", "node gpu1", "slots of gpu1", "object store of gpu1", "no-other-node")
    assert judged(example) == ("cluster", dict.fromkeys(names, True))


def test_what_differs_fails(example):
    _stage, checks = judged(example, nodes=[{**NODE, "slots": 4}, {**NODE, "address": "10.0.0.2"}])
    assert [name for name, ok in checks.items() if not ok] == ["slots of gpu1", "no-other-node"]


def test_a_silent_cluster_is_one_failed_check(example):
    assert judged(example, reachable=False, problem="refused")[1] == {"cluster-reachable": False}
