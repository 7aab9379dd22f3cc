# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

from ansible_collections.rlops.verl.plugins.filter import node_checks
from ansible_collections.rlops.verl.plugins.module_utils._verdict import malformed

GIB = 1024**3
NODE = {
    "memory_bytes": 64 * GIB, "shm_bytes": 32 * GIB, "shm_free_bytes": 32 * GIB,
    "processors": 16, "is_root": False, "user": "verl",
    "pythons": [{"path": "/usr/bin/python3.11", "version": "3.11.7", "complete": True}], "listeners": [],
    "paths": [
        {"path": "/opt/verl", "existing": "/opt", "is_directory": True, "writable": True, "free_bytes": 99 * GIB,
         "free_inodes": -1},
    ],
}  # fmt: skip
WANTED = {
    "distribution": {"system": "Linux", "name": "Debian", "version": "12", "architecture": "x86_64"},
    "python": {"min": "3.10", "below": "3.13", "prefer": ["3.11"]},
    "named_python": "", "installed": False,
    "minimum": {"memory": "8G", "disk": "6G", "shm": "1G", "processors": 2}, "advised": {"memory": "32G"},
    "object_store": "30%", "ports": {"gcs": 6379}, "temp_dir": "/opt/verl/run/ray",
}  # fmt: skip


def failed(example, **changes: object) -> list[tuple[str, str]]:
    """Name and level of what fails in the example."""
    task = example(node_checks, node={**NODE, **changes}, wanted=WANTED)
    assert task["stage"] == "preflight"
    assert len(task["checks"]) == 13
    assert malformed(task["checks"]) is None
    return [(check["name"], check["level"]) for check in task["checks"] if not check["ok"]]


def test_a_host_that_offers_what_is_wanted_passes(example):
    assert failed(example) == []


def test_all_that_a_host_lacks_is_told_at_once(example):
    assert failed(example, memory_bytes=16 * GIB, processors=1, pythons=[]) == [
        ("python", "error"),
        ("processors-minimum", "error"),
        ("memory-advised", "warning"),
    ]
