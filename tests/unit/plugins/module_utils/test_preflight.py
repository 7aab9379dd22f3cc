# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from ansible_collections.rlops.verl.plugins.module_utils import _preflight, _ray_node
from ansible_collections.rlops.verl.plugins.module_utils._sizes import SizeError
from ansible_collections.rlops.verl.plugins.module_utils._verdict import malformed

ROOT = Path(__file__).resolve().parents[4]
GIB = 1024**3


def variables(path: str) -> dict:
    return yaml.safe_load((ROOT / "roles" / path).read_text(encoding="utf-8"))


def problems(checks: list[dict]) -> list[dict]:
    assert malformed(checks) is None
    return [check for check in checks if not check["ok"]]


# --- the declaration -------------------------------------------------------------------------------------------------

PORTS = variables("ray_cluster/vars/main.yml")["__ray_cluster_default_ports"]
RELEASES = {"0.9.1": {"cpu": {}, "cuda": {}}, "0.8.0": {"rocm": {}}}
DECLARED = {"release": "0.9.1", "accelerator": "cpu", "slots_per_node": 8, "prefix": "/opt/verl", "ports": PORTS}


def undeclared(**changes: object) -> list[dict]:
    return problems(_preflight.declaration_checks({**DECLARED, **changes}, RELEASES))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"accelerator": "cuda"},
        {"release": "0.8.0", "accelerator": "rocm"},
        {"slots_per_node": "8"},
        {"slots_per_node": 0},
        {"prefix": "/opt/verl/"},
        {"prefix": "/verl"},
    ],
)
def test_declarations_that_fit(changes):
    assert undeclared(**changes) == []


def test_the_release_of_the_manifest_fits():
    manifest = variables("verl_runtime/vars/main.yml")["verl_runtime_releases"]
    assert problems(_preflight.declaration_checks(DECLARED, manifest)) == []


@pytest.mark.parametrize(
    ("changes", "name", "found", "wanted", "remedy"),
    [
        ({"release": "0.9.2"}, "verl_release", "0.9.2", "one of 0.8.0, 0.9.1", "Did you mean 0.9.1?"),
        ({"accelerator": "cdua"}, "verl_accelerator", "cdua", "one of cpu, cuda", "Did you mean cuda?"),
        # Known, but not to this release.
        ({"accelerator": "rocm"}, "verl_accelerator", "rocm", "one of cpu, cuda", "Set verl_accelerator to a value"),
        ({"slots_per_node": "two"}, "verl_slots_per_node", "'two'", "a whole number", "Set verl_slots_per_node."),
        ({"slots_per_node": -1}, "verl_slots_per_node", "-1", "a whole number", "Set verl_slots_per_node."),
        ({"slots_per_node": 2.5}, "verl_slots_per_node", "2.5", "a whole number", "Set verl_slots_per_node."),
        ({"slots_per_node": True}, "verl_slots_per_node", "True", "a whole number", "Set verl_slots_per_node."),
        ({"slots_per_node": ""}, "verl_slots_per_node", "''", "a whole number", "Set verl_slots_per_node."),
        *(
            ({"prefix": prefix}, "verl_prefix", prefix or "nothing", "an absolute path", "Set verl_prefix")
            for prefix in ("", "verl", "~/verl", "/", "//", "/opt", "/home/", "/root", "/a b", "/a:b", "/a$b", "/a'b")
        ),
        (
            {"ports": {**PORTS, "gcs": 80, "client": 8265}},
            "ports",
            "ray_cluster_ports.gcs: found 80, wanted a number from 1024 to 65535; "
            "ray_cluster_ports: found 8265 for dashboard and client, wanted another port for each",
            "a free port of its own",
            "Change ray_cluster_ports.",
        ),
    ],
)
def test_one_declared_value_that_does_not_fit(changes, name, found, wanted, remedy):
    (check,) = undeclared(**changes)
    assert (check["name"], check["level"], check["found"]) == (name, "error", found)
    assert check["wanted"].startswith(wanted)
    assert remedy in check["remedy"]


def test_an_unknown_release_leaves_the_accelerators_of_all():
    assert [check["name"] for check in undeclared(release="7", accelerator="rocm")] == ["verl_release"]


# --- a host ----------------------------------------------------------------------------------------------------------

PYTHON_311 = {"path": "/usr/bin/python3.11", "version": "3.11.7", "complete": True}
PATH = {
    "path": "/opt/verl", "existing": "/opt/verl", "is_directory": True, "writable": True,
    "free_bytes": 200 * GIB, "free_inodes": 10**6,
}  # fmt: skip
NODE = {
    "memory_bytes": 64 * GIB, "shm_bytes": 32 * GIB, "shm_free_bytes": 32 * GIB, "processors": 16, "is_root": False,
    "user": "verl", "paths": [PATH], "listeners": [], "pythons": [PYTHON_311],
}  # fmt: skip
DEBIAN = {"system": "Linux", "name": "Debian", "version": "12", "architecture": "x86_64"}
DEFAULTS = variables("preflight/defaults/main.yml")
WANTED = {
    "distribution": DEBIAN,
    "python": {"min": "3.10", "below": "3.13", "prefer": ["3.11", "3.12"]},
    "named_python": "",
    "installed": False,
    "minimum": DEFAULTS["preflight_minimum"],
    "advised": DEFAULTS["preflight_advised"],
    "object_store": "30%",
    "ports": {"gcs": 6379, "dashboard": 8265},
    "temp_dir": "/opt/verl/run/ray",
}


def missing(node: dict | None = None, **wanted: object) -> list[dict]:
    return problems(_preflight.node_checks({**NODE, **(node or {})}, {**WANTED, **wanted}))


def at(**changes: object) -> dict:
    return {"paths": [{**PATH, **changes}]}


def python(**changes: object) -> dict:
    return {"pythons": [{**PYTHON_311, **changes}]}


def listening(port: int, pid: int = 7, own: bool = False) -> dict:
    return {"port": port, "pid": pid, "command": "nginx" if pid else "", "own": own}


@pytest.mark.parametrize(
    ("node", "wanted"),
    [
        ({}, {}),
        ({"memory_bytes": 12 * GIB, "shm_bytes": GIB, "processors": 2, **at(free_bytes=10 * GIB)}, {}),
        (at(path="/opt/verl/env", existing="/opt/verl"), {}),
        (at(free_inodes=-1), {}),  # a file system that does not count them
        (at(free_inodes=100_000), {}),
        ({**python(complete=False), "is_root": True}, {}),  # the package can be installed
        ({"listeners": [listening(6379, own=True)]}, {}),
        ({}, {"distribution": {**DEBIAN, "name": "Ubuntu", "architecture": "aarch64"}}),
        ({}, {"minimum": {}, "advised": {}}),
        ({"memory_bytes": 7 * GIB}, {"advised": {}}),  # a machine of 8 GB
        (at(free_bytes=4 * GIB), {"installed": True}),
        (at(free_bytes=1), {"installed": True, "minimum": {"disk": "6G"}, "advised": {}}),
        ({"shm_free_bytes": 19.2 * GIB}, {}),  # just enough for 30% of the memory
        ({"shm_free_bytes": 0, "listeners": [listening(6379, own=True)]}, {}),  # what its own Ray has taken
        ({}, {"named_python": "python3.11"}),
        ({}, {"temp_dir": "/" + "x" * (_ray_node.LONGEST_TEMP_DIR - 1) + "/"}),
    ],
)
def test_hosts_that_fit(node, wanted):
    assert missing(node, **wanted) == []


@pytest.mark.parametrize(
    ("node", "wanted", "name", "found", "remedy"),
    [
        ({}, {"distribution": {**DEBIAN, "system": "Darwin"}}, "operating-system", "Darwin (Debian 12)", "Linux host"),
        ({}, {"distribution": {**DEBIAN, "architecture": "riscv64"}}, "architecture", "riscv64", "no builds"),
        (
            {"memory_bytes": 7 * GIB - 1},
            {"advised": {}},
            "memory-minimum",
            "7.0 GiB of RAM",
            "preflight_minimum.memory",
        ),
        ({"processors": 1}, {}, "processors-minimum", "1 processors", "lower preflight_minimum.processors"),
        ({"shm_bytes": 255 * 1024**2}, {}, "shm-minimum", "255.0 MiB of /dev/shm", "lower preflight_minimum.shm"),
        (
            {"paths": [PATH, {**PATH, "free_bytes": GIB}, PATH]},
            {"advised": {}},
            "disk-minimum",
            "1.0 GiB of free disk below verl_prefix",
            "lower preflight_minimum.disk if",
        ),
        (
            at(free_bytes=0.9 * GIB),
            {"installed": True, "advised": {}},
            "disk-minimum",
            "921.6 MiB of free disk below verl_prefix",
            "lower preflight_minimum.disk_installed if",
        ),
        (
            {},
            {"object_store": "33G"},
            "ray_cluster_object_store",
            "33G (33.0 GiB)",
            "Change ray_cluster_object_store to a smaller size",
        ),
        (
            {"shm_free_bytes": 19 * GIB},
            {},
            "ray_cluster_object_store",
            "30%: 19.2 GiB",
            "Remove what other programs have left in /dev/shm, or change ray_cluster_object_store.",
        ),
        ({}, {"object_store": "much"}, "ray_cluster_object_store", "'much'", "Change ray_cluster_object_store."),
        (at(writable=False), {}, "directory /opt/verl", "/opt/verl, not writable for user verl", "Change verl_prefix"),
        (
            at(existing="/opt", writable=False),
            {},
            "directory /opt/verl",
            "/opt/verl (below /opt), not writable for user verl",
            "the rights of that directory",
        ),
        (at(is_directory=False), {}, "directory /opt/verl", "/opt/verl, which is not a directory", "verl_prefix"),
        (
            at(free_inodes=99_999),
            {},
            "directory /opt/verl",
            "/opt/verl on a file system with 99999 free inodes",
            "verl_prefix",
        ),
        (
            {},
            {"temp_dir": "/" + "é" * 22},
            "ray_cluster_temp_dir",
            "/éééééééééééééééééééééé with 45 bytes",
            "Choose a shorter verl_prefix or ray_cluster_temp_dir.",
        ),
        (
            {"listeners": [listening(6379), listening(8265)]},
            {},
            "free-ports",
            "6379 (gcs), 8265 (dashboard) taken by process 7, nginx",
            "other numbers in ray_cluster_ports",
        ),
        (
            {"listeners": [listening(6379, pid=0), listening(8265)]},
            {},
            "free-ports",
            "6379 (gcs) taken by a program of another user; 8265 (dashboard) taken by process 7, nginx",
            "End that program",
        ),
        ({"pythons": []}, {}, "python", "no Python", "name it in verl_python"),
        (
            {"pythons": []},
            {"named_python": "/nope/python3.11"},
            "verl_python",
            "/nope/python3.11, no Python that runs on this host",
            "Correct verl_python",
        ),
        (
            python(version="3.9.2", path="/usr/bin/python3.9"),
            {"named_python": "python3.9"},
            "verl_python",
            "python3.9, which is 3.9.2 at /usr/bin/python3.9",
            "Correct verl_python",
        ),
        (python(version="3.13.0"), {}, "python", "3.13.0 at /usr/bin/python3.11", "Install a Python of that range"),
        (
            python(complete=False),
            {},
            "python",
            "3.11.7 at /usr/bin/python3.11 without the modules venv and ensurepip",
            "Install python3.11-venv on this host, as root.",
        ),
    ],
)
def test_one_thing_that_a_host_lacks(node, wanted, name, found, remedy):
    (check,) = missing(node, **wanted)
    assert (check["name"], check["level"], check["found"]) == (name, "error", found)
    assert check["wanted"]
    assert remedy in check["remedy"]


@pytest.mark.parametrize(
    ("node", "wanted", "name", "found"),
    [
        ({"memory_bytes": 10 * GIB}, {}, "memory-advised", "10.0 GiB of RAM"),
        (at(free_bytes=9 * GIB), {}, "disk-advised", "9.0 GiB of free disk below verl_prefix"),
        (at(free_bytes=3 * GIB), {"installed": True}, "disk-advised", "3.0 GiB of free disk below verl_prefix"),
        ({}, {"distribution": {**DEBIAN, "name": "Fedora"}}, "distribution", "Fedora 12"),
    ],
)
def test_what_is_advised_is_a_warning(node, wanted, name, found):
    (check,) = missing(node, **wanted)
    assert (check["name"], check["level"], check["found"]) == (name, "warning", found)


def test_what_is_wanted_is_said_in_sizes_for_people():
    checks = {check["name"]: check["wanted"] for check in missing({"memory_bytes": GIB})}
    assert (checks["memory-minimum"], checks["memory-advised"]) == ("at least 7.0 GiB", "advised are 12.0 GiB")


def test_checks_have_the_same_names_once_the_release_is_installed():
    """A verdict with other checks would count as a change in the second run."""
    names = [
        [check["name"] for check in _preflight.node_checks(NODE, {**WANTED, "installed": installed})]
        for installed in (False, True)
    ]
    assert names[0] == names[1]


def test_another_program_that_listens_does_not_excuse_a_full_dev_shm():
    found = missing({"shm_free_bytes": 0, "listeners": [listening(6379)]})
    assert {check["name"] for check in found} == {"free-ports", "ray_cluster_object_store"}


def test_an_incomplete_python_of_another_distribution_cannot_be_completed():
    node = {**python(complete=False), "is_root": True}
    found = missing(node, distribution={**DEBIAN, "name": "Fedora"})
    assert {(check["name"], check["level"]) for check in found} == {("distribution", "warning"), ("python", "error")}


def test_without_paths_there_is_no_room():
    assert {check["name"] for check in missing({"paths": []})} == {"disk-minimum", "disk-advised"}


def test_a_wrong_limit_is_an_error_that_names_its_variable():
    with pytest.raises(SizeError, match="^preflight_advised.memory: found 'lots', wanted a size"):
        missing(advised={"memory": "lots"})


def test_the_interpreter_is_the_preferred_one():
    node = {
        "pythons": [{**PYTHON_311, "version": version, "path": version} for version in ("3.12.1", "3.11.7", "3.9.2")]
    }
    assert _preflight.interpreter_of(node, WANTED["python"]).path == "3.11.7"
    assert _preflight.interpreter_of({"pythons": []}, WANTED["python"]) is None
