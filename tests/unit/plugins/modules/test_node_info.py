# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import json
import os
import platform
import pwd
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from ansible.module_utils.testing import patch_module_args

from ansible_collections.rlops.verl.plugins.module_utils import _proc, _ray_node
from ansible_collections.rlops.verl.plugins.modules import node_info


@pytest.fixture
def info(capsys):
    """Run the module; returns its answer."""

    def call(**arguments: object) -> dict:
        with patch_module_args(arguments), pytest.raises(SystemExit):
            node_info.main()
        return json.loads(capsys.readouterr().out)

    return call


def test_the_host_is_described(info):
    answer = info(_ansible_check_mode=True)
    assert not answer["changed"]
    memory = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    physical = int(memory["MemTotal"].split()[0]) * 1024
    assert answer["memory_bytes"] == pytest.approx(min(physical, _proc.memory_limit() or physical), rel=0.01)
    assert [answer["is_root"], answer["user"]] == [os.geteuid() == 0, pwd.getpwuid(os.geteuid()).pw_name]
    assert [answer["paths"], answer["listeners"], answer["pythons"]] == [[], [], []]


@pytest.mark.parametrize(("limit", "counts"), [(2 * 1024**2, True), (2**63 - 4096, False), (None, False)])
def test_memory_is_what_a_container_may_use(info, monkeypatch, limit, counts):
    monkeypatch.setattr(_proc, "memory_limit", lambda: limit)
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert info()["memory_bytes"] == (limit if counts else physical)


def test_only_the_processors_that_may_be_used_count(info):
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert info()["processors"] == 1
    finally:
        os.sched_setaffinity(0, allowed)
    assert info()["processors"] == len(allowed)


def test_room_is_what_this_user_may_still_take(info, monkeypatch):
    # Sizes of blocks, numbers of blocks, numbers of inodes, flags, longest name.
    room = [8192, 4096, 100, 90, 80, 70, 60, 50, 0, 255]
    monkeypatch.setattr(os, "statvfs", lambda path: os.statvfs_result(room))
    answer = info(paths=["/"])
    assert [answer["shm_bytes"], answer["shm_free_bytes"]] == [409600, 327680]
    assert [answer["paths"][0]["free_bytes"], answer["paths"][0]["free_inodes"]] == [327680, 50]
    room[5:8] = [0, 0, 0]
    assert info(paths=["/"])["paths"][0]["free_inodes"] == -1, "the file system does not count them"


def test_a_host_without_shared_memory(info, monkeypatch):
    monkeypatch.setattr(os.path, "isdir", lambda path: path != "/dev/shm")
    answer = info()
    assert [answer["shm_bytes"], answer["shm_free_bytes"]] == [0, 0]


def test_paths_are_looked_at_or_their_nearest_parent(tmp_path, info):
    file = tmp_path / "file"
    file.touch()
    absent = tmp_path / "a" / "b" / "c"
    found = info(paths=[str(tmp_path), str(absent), str(file), f"{tmp_path}/x/../file/"])["paths"]
    assert [(item["path"], item["existing"], item["is_directory"]) for item in found] == [
        (str(tmp_path), str(tmp_path), True),
        (str(absent), str(tmp_path), True),
        (str(file), str(file), False),
        (str(file), str(file), False),
    ]
    assert [found[0]["writable"], found[1]["writable"], file.parent.exists(), absent.exists()] == [True] * 3 + [False]


def test_a_directory_this_user_may_not_write_to(tmp_path, info):
    if os.geteuid() == 0:  # whom only a read-only file system stops
        mount = ["mount", "-t", "tmpfs", "-o", "ro,size=64k", "tmpfs", tmp_path]
        if subprocess.run(mount, stderr=subprocess.DEVNULL, check=False).returncode:
            pytest.skip("nothing can be mounted here")
    else:
        tmp_path.chmod(0o500)
    try:
        assert not info(paths=[str(tmp_path / "new")])["paths"][0]["writable"]
    finally:
        if os.geteuid() == 0:
            subprocess.run(["umount", tmp_path], check=True)


def listening(address: str = "127.0.0.1") -> socket.socket:
    return socket.create_server((address, 0), family=socket.AF_INET6 if ":" in address else socket.AF_INET)


def test_only_ports_that_were_asked_for_and_are_listened_on(info):
    with listening() as one, listening() as two, socket.socket() as bound, listening() as other:
        bound.bind(("127.0.0.1", 0))
        with socket.create_connection(one.getsockname()):
            ports = [server.getsockname()[1] for server in (one, two, bound)]
            found = info(ports=ports)["listeners"]
            assert [item["port"] for item in found] == sorted(ports[:2])
            assert {(item["pid"], item["own"]) for item in found} == {(os.getpid(), False)}
            assert len(found[0]["command"]) <= 100
            assert found[0]["command"][:50] == Path("/proc/self/cmdline").read_text().replace("\0", " ")[:50].strip()
        assert info(ports=[other.getsockname()[1]])["listeners"] != []
    assert info(ports=ports)["listeners"] == [], "none listens any longer"


@pytest.mark.skipif(not os.path.exists("/proc/net/if_inet6"), reason="there is no IPv6")
def test_listeners_on_ipv6_are_seen(info):
    with listening("::1") as server:
        port = server.getsockname()[1]
        assert [item["port"] for item in info(ports=[port])["listeners"]] == [port]


LISTEN = """
import socket, sys, time
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize(
    ("temp_dir", "own"),
    [("/opt/ray", True), ("/opt/ray/", True), ("/opt/ra", False), ("/opt/ray2", False), ("/", False), (None, False)],
)
@pytest.mark.parametrize("mark", ["environment", "command line"])
def test_the_ports_of_the_own_ray_node_are_told_from_others(info, mark, temp_dir, own):
    environment = {"RLOPS_RAY_NODE": "/opt/ray"} if mark == "environment" else {}
    arguments = ["--logs=/opt/ray/session_1/logs"] if mark == "command line" else ["x" * 100]
    child = subprocess.Popen(
        [sys.executable, "-c", LISTEN, *arguments],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip
    with child:
        port = int(child.stdout.readline())
        found = info(ports=[port], ray_temp_dir=temp_dir)["listeners"]
        child.stdin.close()
    assert [(item["port"], item["pid"], item["own"]) for item in found] == [(port, child.pid, own)]
    assert found[0]["command"].startswith(f"{sys.executable} -c")


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_the_python_that_is_asked_for_is_the_only_one(tmp_path, info, monkeypatch):
    shim = program(tmp_path / "bin" / "mine", f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    version = platform.python_version()
    expected = {
        "path": sys.executable, "version": version, "minor": ".".join(version.split(".")[:2]), "complete": True
    }  # fmt: skip
    assert info(find_pythons=True, python=str(shim))["pythons"] == [expected]
    assert info(python=str(shim))["pythons"] == []
    monkeypatch.setenv("PATH", str(shim.parent))
    assert info(find_pythons=True, python="mine")["pythons"] == [expected]


def test_a_python_that_cannot_make_environments_is_not_complete(tmp_path, info):
    answer = '["/opt/python", "3.12.1", false]'
    fake = program(tmp_path / "python3", f"#!/bin/sh\necho '{answer}'\n")
    assert info(find_pythons=True, python=str(fake))["pythons"] == [
        {"path": "/opt/python", "version": "3.12.1", "minor": "3.12", "complete": False}
    ]


@pytest.mark.parametrize(
    "text",
    ["#!/bin/sh\necho no version set >&2\nexit 127\n", "#!/bin/sh\necho hello\n", "#!/nowhere/python\n", "no program"],
)
def test_what_does_not_answer_as_a_python_is_left_out(tmp_path, info, text):
    fake = program(tmp_path / "python3", text)
    assert info(find_pythons=True, python=str(fake))["pythons"] == []


def test_an_absent_python_is_left_out(info):
    assert info(find_pythons=True, python="/nowhere/python3")["pythons"] == []


def test_every_python_of_the_search_path_is_found_once(tmp_path, info, monkeypatch):
    good = f'#!/bin/sh\nexec {sys.executable} "$@"\n'
    one, two = program(tmp_path / "a" / "python3", good), program(tmp_path / "b" / "python3.12", good)
    broken = program(tmp_path / "b" / "python3.11", "#!/nowhere/python\n")
    monkeypatch.setenv("PATH", os.pathsep.join(map(str, (one.parent, two.parent, "/usr/bin", "/bin"))))
    paths = [item["path"] for item in info(find_pythons=True)["pythons"]]
    assert paths.count(sys.executable) == 1
    assert str(broken) not in paths


def test_the_rest_of_a_crashed_node_is_known_by_its_state_file(info, tmp_path):
    """Ray's agents overwrite their environment with their title, so that only session and start time tell them."""
    state = tmp_path / "ray_node.json"
    child = subprocess.Popen(
        [sys.executable, "-c", LISTEN],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    with child:
        port = int(child.stdout.readline())
        ticks = _proc.processes()[child.pid].start_ticks
        state.write_text(_ray_node.NodeRecord(child.pid, ticks, _proc.boot_id(), "").to_json())
        files = (str(state), str(tmp_path / "absent"), None)
        found = [info(ports=[port], ray_temp_dir="/opt/ray", ray_state_file=file)["listeners"] for file in files]
        child.stdin.close()
    assert [[(item["pid"], item["own"]) for item in items] for items in found] == [
        [(child.pid, own)] for own in (True, False, False)
    ]
