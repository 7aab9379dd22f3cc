# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Real processes and sockets where the kernel gives what is needed, a small tree in the place of /proc elsewhere."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ansible_collections.rlops.verl.plugins.module_utils import _proc
from ansible_collections.rlops.verl.plugins.module_utils._proc import Process


def process(pid: int, parent: int, command: str = "x") -> Process:
    return Process(pid, parent, pid, 0, False, command)


def stat_line(name: str, state: str = "S") -> str:
    """A line in which each field after the state has its number in proc(5) as its value."""
    return " ".join(["7", f"({name})", state, *map(str, range(4, 53))])


@given(st.text())
@example(") R 1 2 3")
@example("a) (b")
@example("((sd-pam))")
def test_stat_is_read_whatever_the_command_is_called(name):
    assert _proc.parse_stat(7, stat_line(name), "run me") == Process(7, 4, 6, 22, False, "run me")
    assert _proc.parse_stat(7, stat_line(name), "").command == f"[{name}]"


@pytest.mark.parametrize(("state", "zombie"), [("R", False), ("S", False), ("D", False), ("Z", True), ("X", True)])
def test_zombies_are_told_from_the_living(state, zombie):
    assert _proc.parse_stat(7, stat_line("x", state), "").zombie is zombie


@pytest.mark.parametrize(("length", "shown"), [(100, "x" * 100), (101, "x" * 97 + "...")])
def test_long_commands_are_cut(length, shown):
    assert process(1, 0, "x" * length).short_command == shown


@pytest.fixture
def child():
    """A process with a difficult name in a session of its own, which has a child in turn."""
    program = (
        "import subprocess, sys; open('/proc/self/comm', 'w').write('a) Z (b');"
        "below = subprocess.Popen(['sleep', '600']); print(below.pid, flush=True); sys.stdin.read(); below.kill()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, "two words"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True, text=True,
        env={"MARK": "/run/ray", "OTHER": "x=y"},
    ) as started:  # fmt: skip
        try:
            started.below = int(started.stdout.readline())
            yield started
        finally:
            started.stdin.close()


def test_a_real_process(child):
    table = _proc.processes()
    found = table[child.pid]
    assert (found.pid, found.parent, found.session, found.zombie) == (child.pid, os.getpid(), child.pid, False)
    assert found.command.startswith(f"{sys.executable} -c import subprocess")
    assert found.command.endswith(" two words")
    assert found.start_ticks >= table[os.getpid()].start_ticks > 0
    assert _proc.processes()[child.pid] == found
    assert _proc.family(table, [child.pid]) == {child.pid, child.below}
    assert {child.pid, child.below} < _proc.family(table, [os.getpid()])


def test_a_real_zombie():
    with subprocess.Popen(["true"]) as ended:
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        found = _proc.processes()[ended.pid]
    assert (found.zombie, found.command) == (True, "[true]")
    assert ended.pid not in _proc.processes()


@pytest.mark.parametrize(
    ("assignment", "has"),
    [("MARK=/run/ray", True), ("OTHER=x=y", True), ("MARK=/run/ra", False), ("ARK=/run/ray", False), ("MARK", False)],
)
def test_a_real_environment_has_whole_assignments(child, assignment, has):
    assert _proc.has_environment(child.pid, assignment) is has


def test_an_environment_that_cannot_be_read_has_nothing(tmp_path):
    (tmp_path / "7/environ").mkdir(parents=True)
    assert not _proc.has_environment(7, "A=1", tmp_path)
    assert not _proc.has_environment(8, "A=1", tmp_path)


def test_processes_that_ended_or_may_not_be_read_are_left_out(tmp_path):
    for name in ("7", "8", "9", "self", "net"):
        (tmp_path / name).mkdir()
    for name in ("7", "8", "self"):
        (tmp_path / name / "cmdline").write_bytes(b"run\0me \xff\0")
    (tmp_path / "7/stat").write_text(stat_line("x"))
    (tmp_path / "8/stat").symlink_to("stat")  # cannot be read, not even by root
    assert _proc.processes(tmp_path) == {7: Process(7, 4, 6, 22, False, "run me \N{REPLACEMENT CHARACTER}")}


@pytest.mark.parametrize(
    ("roots", "members"),
    [([], set()), ([3], {3, 4, 5}), ([4, 2], {2, 3, 4, 5}), ([99], set()), ([6], {6, 7}), ([5, 5], {5})],
)
def test_families(roots, members):
    # 6 and 7 are a cycle, as pids that were used again between two reads may be.
    parents = {1: 0, 2: 1, 3: 2, 4: 3, 5: 3, 6: 7, 7: 6}
    assert _proc.family({pid: process(pid, parent) for pid, parent in parents.items()}, roots) == members


# --- sockets ---------------------------------------------------------------------------------------------------------


def inode(of: socket.socket) -> int:
    return os.fstat(of.fileno()).st_ino


@pytest.mark.parametrize(("family", "address"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_real_listeners_and_their_owner(family, address):
    try:
        server = socket.create_server((address, 0), family=family)
    except OSError:
        pytest.skip(f"no {address} here")
    with server, socket.create_connection(server.getsockname()[:2]) as client, socket.socket(family) as bound:
        bound.bind((address, 0))
        found = _proc.listeners()
        assert inode(server) in found[server.getsockname()[1]]
        for silent in (client, bound):
            assert inode(silent) not in found.get(silent.getsockname()[1], set())
        ours = {inode(server), inode(bound)}
        assert _proc.socket_owners(ours) == dict.fromkeys(ours, os.getpid())


def test_every_listener_of_a_port_counts():
    rows = [
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode",
        "   0: 0100007F:18EB 00000000:0000 0A 00000000:00000000 00:00000000 00000000   0      0 11 1 0 100 0 0 10 0",
        "   1: 0200007F:18EB 00000000:0000 0A 00000000:00000000 00:00000000 00000000   0      0 12 1 0 100 0 0 10 0",
        "   2: 0100007F:18EC 0100007F:1234 01 00000000:00000000 00:00000000 00000000   0      0 13 1 0 100 0 0 10 0",
        "   3: cut off",
    ]
    assert _proc.parse_listeners("\n".join(rows)) == {6379: {11, 12}}
    assert _proc.parse_listeners("") == {}


def test_tables_of_both_protocols_are_joined(tmp_path):
    row = "0: {} 0:0 0A 0:0 0:0 0 0 0 {} 1"
    (tmp_path / "net").mkdir()
    (tmp_path / "net/tcp").write_text("header\n" + row.format("00000000:0400", 1) + "\n")
    assert _proc.listeners(tmp_path) == {1024: {1}}
    rows = [row.format(f"{0:032X}:0400", 2), row.format(f"{0:032X}:0401", 3)]
    (tmp_path / "net/tcp6").write_text("\n".join(["header", *rows]))
    assert _proc.listeners(tmp_path) == {1024: {1, 2}, 1025: {3}}


def test_a_descriptor_that_vanishes_hides_no_other(tmp_path):
    for name in ("7", "self"):
        (tmp_path / name / "fd").mkdir(parents=True)
    (tmp_path / "8").mkdir()
    for number in range(0, 30, 3):
        (tmp_path / "7/fd" / str(number)).touch()  # no link, so it cannot be read as one
        (tmp_path / "7/fd" / str(number + 1)).symlink_to(f"socket:[{number}]")
        (tmp_path / "self/fd" / str(number)).symlink_to(f"socket:[{number}]")
    assert _proc.socket_owners({0, 12, 27, 28}, tmp_path) == {0: 7, 12: 7, 27: 7}


# --- the limit of memory ---------------------------------------------------------------------------------------------


def limited(tmp_path, lines: list[str], files: dict[str, str]) -> int | None:
    """The limit for a process with these lines in /proc/self/cgroup; files lie below /sys/fs/cgroup."""
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("".join(f"{line}\n" for line in lines))
    for name, text in files.items():
        file = tmp_path / "groups" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")
    return _proc.memory_limit(tmp_path / "proc", tmp_path / "groups")


NO_LIMIT_V1 = 2**63 - 4096


@pytest.mark.parametrize(
    ("lines", "files", "limit"),
    [
        # A container sees its own group as the root; outside of one, the root has no limit.
        (["0::/"], {"memory.max": "2147483648"}, 2147483648),
        (["0::/"], {}, None),
        (["0::/"], {"memory.max": "max"}, None),
        # The least of the group and all above it.
        (["0::/a/b"], {"a/b/memory.max": "max", "a/memory.max": "7", "memory.max": "9"}, 7),
        (["0::/a/b"], {"a/b/memory.max": "5", "a/memory.max": "7"}, 5),
        (["0::/a"], {"b/memory.max": "3", "a/b/memory.max": "2"}, None),
        # Version 1. Without a limit it has a number, too, that no host reaches.
        (["4:memory:/a", "0::/"], {"memory/a/memory.limit_in_bytes": "5"}, 5),
        (["4:cpu,memory:/a/b"], {"memory/a/memory.limit_in_bytes": "5"}, 5),
        (["4:memory:/"], {"memory/memory.limit_in_bytes": str(NO_LIMIT_V1)}, NO_LIMIT_V1),
        (["4:cpu:/a"], {"memory/a/memory.limit_in_bytes": "5"}, None),
        # Docker tells the path on the host, and mounts the container's own group.
        (["4:memory:/docker/0123"], {"memory/memory.limit_in_bytes": "5"}, 5),
        (["0::/d:e"], {"d:e/memory.max": "5"}, 5),
        ([], {"memory.max": "5"}, None),
    ],
)
def test_the_limit_of_memory(tmp_path, lines, files, limit):
    assert limited(tmp_path, lines, files) == limit


def test_a_kernel_without_control_groups_has_no_limit(tmp_path):
    assert _proc.memory_limit(tmp_path, tmp_path) is None


def test_the_limit_of_this_process_is_one():
    limit = _proc.memory_limit()
    assert limit is None or limit > 0
