# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ansible_collections.rlops.verl.plugins.module_utils import _proc, _ray_node
from ansible_collections.rlops.verl.plugins.module_utils._proc import Process
from ansible_collections.rlops.verl.plugins.module_utils._ray_node import NodeRecord, NodeState, decide, node_state
from ansible_collections.rlops.verl.plugins.module_utils._wait import wait_for

TEMP_DIR = "/run/ray"
RECORD = NodeRecord(100, 5000, "boot", "digest")


# --- the state file --------------------------------------------------------------------------------------------------


@given(st.builds(NodeRecord, st.integers(), st.integers(), st.text(), st.text()))
def test_a_record_comes_back(record):
    assert NodeRecord.from_json(record.to_json()) == record


@given(st.integers(0, len(RECORD.to_json()) - 2))
def test_a_record_that_was_cut_off_is_none(length):
    assert NodeRecord.from_json(RECORD.to_json()[:length]) is None


@given(
    st.dictionaries(
        st.sampled_from(["pid", "start_ticks", "boot_id", "digest"]),
        st.none() | st.floats() | st.text() | st.lists(st.integers()),
    )
)
@example({"pid": float("inf"), "start_ticks": 1, "boot_id": "b", "digest": "d"})
def test_another_document_is_a_record_or_none(document):
    record = NodeRecord.from_json(json.dumps(document))
    assert record is None or len(document) == 4


@pytest.mark.parametrize("text", ["", "null", "[]", "7", '"pid"', "{}", '{"pid": 1, "start_ticks": 2, "boot_id": "b"}'])
def test_what_is_no_record_is_none(text):
    assert NodeRecord.from_json(text) is None


def test_a_digest_knows_command_and_environment_but_no_order():
    digests = {
        _ray_node.start_digest(*started)
        for started in (
            (["ray", "start"], {"A": "1", "B": "2"}),
            (["ray start"], {"A": "1", "B": "2"}),
            (["start", "ray"], {"A": "1", "B": "2"}),
            (["ray", "start"], {"A": "1"}),
            (["ray", "start"], {"A": "2", "B": "1"}),
        )
    }
    assert len(digests) == 5
    assert _ray_node.start_digest(["ray", "start"], {"B": "2", "A": "1"}) in digests


@pytest.mark.parametrize(
    ("text", "variables"),
    [
        ("", {}),
        ("# A=1\n; B=2\n\nnothing\n", {}),
        ("A=1\nB=\nA=2\n", {"A": "2", "B": ""}),
        (" A = 1 \r\nB=2", {"A": "1", "B": "2"}),
        ('A="x y"\nB="say \\"hi\\" \\\\"\nC=""', {"A": "x y", "B": 'say "hi" \\', "C": ""}),
        ('A="\nB=x"y"\nC=a=b', {"A": '"', "B": 'x"y"', "C": "a=b"}),
    ],
)
def test_environment_files(text, variables):
    assert _ray_node.parse_env_file(text) == variables


# --- whose processes -------------------------------------------------------------------------------------------------


def process(pid: int, parent: int, session: int, command: str, start: int = 6000, zombie: bool = False) -> Process:
    return Process(pid, parent, session, start, zombie, command)


NODE = [
    process(100, 1, 100, "/env/bin/python /env/bin/ray start --block", start=5000),
    process(101, 100, 100, "/env/ray/gcs_server --log_dir=/elsewhere"),
    process(102, 100, 100, "/env/ray/raylet --x"),
]
OTHERS = [
    process(1, 0, 1, "/sbin/init", start=1),
    process(50, 1, 50, "sshd", start=10),
    process(60, 50, 50, "python ray_node"),  # this module
]


def state(*processes: Process, record=RECORD, boot_id="boot", vital=_ray_node.VITAL_HEAD, marked=(), own=60):
    table = {process.pid: process for process in (*OTHERS, *processes)}
    return node_state(record, boot_id, table, TEMP_DIR, vital, lambda pid: pid in marked, own)


def without(*pids: int) -> list[Process]:
    return [process for process in NODE if process.pid not in pids]


def test_a_whole_node():
    assert state(*NODE) == NodeState(True, "digest", (100, 101, 102), ())


def test_nothing_runs():
    assert state(record=None) == NodeState(False, "", (), ("gcs_server", "raylet"))


def test_vital_processes_are_missed():
    assert state(*without(101, 102)) == NodeState(False, "digest", (100,), ("gcs_server", "raylet"))
    assert state(*without(101)).missing == ("gcs_server",)
    assert state(*without(101), vital=_ray_node.VITAL_WORKER).running


def test_a_zombie_is_not_alive():
    dead = process(102, 100, 100, "/env/ray/raylet", zombie=True)
    assert state(*without(102), dead).missing == ("raylet",)
    leader = process(100, 1, 100, "[ray]", start=5000, zombie=True)
    assert state(*without(100), leader) == NodeState(False, "digest", (101, 102), ())


def test_what_a_dead_leader_leaves_behind_still_belongs_to_the_node():
    assert state(*without(100)) == NodeState(False, "digest", (101, 102), ())


def test_after_a_boot_the_record_says_nothing():
    assert state(*NODE, boot_id="next") == NodeState(False, "", (), ("gcs_server", "raylet"))


def test_strangers_with_a_recycled_pid_are_not_the_node():
    strangers = [process(100, 50, 100, "bash", start=9000), process(101, 100, 100, "vim", start=9001)]
    assert state(*strangers).members == ()


def test_older_processes_are_not_of_this_session():
    assert state(*NODE, process(103, 1, 100, "older", start=4999)).members == (100, 101, 102)


def test_processes_elsewhere_are_found_by_directory_by_mark_and_by_their_parents():
    others = [
        process(103, 1, 103, f"python driver --log={TEMP_DIR}/session_1/logs"),
        process(104, 1, 104, "python job"),
        process(105, 104, 105, "nvcc"),
        process(106, 105, 106, "cc1"),
        process(107, 1, 107, "python other job"),
    ]
    assert state(*NODE, *others, marked=[104]).members == (100, 101, 102, 103, 104, 105, 106)
    assert state(*without(100), *others, record=None, marked=[104]).members == (103, 104, 105, 106)


@pytest.mark.parametrize("directory", ["/run/ray2", "/run/ray/session", "/var/run/ray", "/x.y/run/ray", "run/ray"])
def test_another_nodes_directory_is_not_this_ones(directory):
    assert state(process(103, 1, 103, f"raylet --dir={directory}/session_1"), record=None).members == ()


@pytest.mark.parametrize(
    "command", ["{}", "raylet {}", "raylet --dir={}", "raylet --socket=unix:{} x", "sh -c 'cd {}'"]
)
def test_the_directory_may_stand_anywhere_on_a_command_line(command):
    command = command.format(f"{TEMP_DIR}/session_2026/sockets")
    assert state(process(103, 1, 103, command), record=None).members == (103,)


def test_this_process_and_its_parents_are_never_taken_for_the_node():
    job = [process(103, 102, 103, "python job"), process(104, 103, 103, "ansible"), process(105, 103, 103, "worker")]
    found = state(*NODE, *job, own=104, marked=[103, 104, 105])
    assert found.members == (101, 105)
    assert state(process(60, 50, 50, f"x {TEMP_DIR}/session_1"), record=None, marked=[50, 60]).members == ()


@pytest.mark.parametrize(
    ("wanted", "found", "digest", "action"),
    [
        ("started", NodeState(True, "d", (1,), ()), "d", "none"),
        ("started", NodeState(True, "d", (1,), ()), "other", "restart"),
        ("started", NodeState(False, "d", (1,), ("raylet",)), "d", "restart"),
        ("started", NodeState(False, "d", (), ("raylet",)), "d", "start"),
        ("stopped", NodeState(False, "", (1,), ("raylet",)), "d", "stop"),
        ("stopped", NodeState(True, "d", (1,), ()), "d", "stop"),
        ("stopped", NodeState(False, "d", (), ("raylet",)), "d", "none"),
    ],
)
def test_what_has_to_be_done(wanted, found, digest, action):
    assert decide(wanted, found, digest) == action


def test_real_processes_through_the_life_of_a_node(tmp_path):
    """A shell leads, a copy of sleep is the raylet, and another one is a job's driver in a session of its own."""
    raylet, driver = tmp_path / "raylet", tmp_path / "driver"
    for program in (raylet, driver):
        shutil.copy(shutil.which("sleep"), program)
    marker = f"{_ray_node.MARKER}={tmp_path}"
    script = f"{raylet} 600 & setsid {driver} 600 & wait"
    command = ["env", marker, "sh", "-c", script]
    with subprocess.Popen(command, start_new_session=True) as leader:
        record = NodeRecord(leader.pid, _proc.processes()[leader.pid].start_ticks, "boot", "d")

        def read() -> NodeState:
            def marked(pid: int) -> bool:
                return _proc.has_environment(pid, marker)

            vital = ("raylet", "driver")
            return node_state(record, "boot", _proc.processes(), str(tmp_path), vital, marked, os.getpid())

        try:
            whole = wait_for("the node runs", read, lambda found: found.running, 60, interval=0.05)
            assert leader.pid in whole.members
            assert len(whole.members) == 3
            assert decide("started", whole, "d") == "none"
            os.killpg(leader.pid, signal.SIGKILL)
            leader.wait()
            rest = wait_for("the raylet is gone", read, lambda found: found.missing, 60, interval=0.05)
            assert (rest.running, rest.missing, len(rest.members)) == (False, ("raylet",), 1)
            assert decide("started", rest, "d") == "restart"
        finally:
            for pid in read().members:
                os.kill(pid, signal.SIGKILL)
        gone = wait_for("the node is gone", read, lambda found: not found.members, 60, interval=0.05)
    assert decide("started", gone, "d") == "start"
