# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The processes of one Ray node that is supervised without systemd.

A node is started as ``ray start --block`` in a session of its own. The leader's pid (with its start time and the boot
id, so that a recycled pid is not mistaken for it) and a digest of what it was started with are kept in a state file.
Its processes are found again by that session, by Ray's temporary directory on their command line and by an
environment variable: Ray starts job drivers in sessions of their own.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ansible_collections.rlops.verl.plugins.module_utils import _proc
from ansible_collections.rlops.verl.plugins.module_utils._proc import Process, family

MARKER = "RLOPS_RAY_NODE"
VITAL_HEAD = ("gcs_server", "raylet")
VITAL_WORKER = ("raylet",)
# How Ray's workers name themselves, but for idle ones and agents of the node.
_WORK = re.compile(r"ray::(?!IDLE|DashboardAgent|RuntimeEnvAgent)")
LONGEST_TEMP_DIR = 43  # 107 bytes of a socket's path, less "/session_<date>_<pid>/sockets/plasma_store"


@dataclass(frozen=True)
class NodeRecord:
    """What the state file keeps."""

    pid: int
    start_ticks: int
    boot_id: str
    digest: str

    @classmethod
    def from_json(cls, text: str) -> NodeRecord | None:
        """None for a file that is empty, cut off or not ours: then the node is looked for by its other marks."""
        try:
            data = json.loads(text)
            return cls(int(data["pid"]), int(data["start_ticks"]), str(data["boot_id"]), str(data["digest"]))
        except (ValueError, KeyError, TypeError, OverflowError):
            return None

    @classmethod
    def read(cls, path: str | Path | None) -> NodeRecord | None:
        """None, too, where there is no file that can be read."""
        try:
            return cls.from_json(Path(path).read_text(encoding="utf-8")) if path else None
        except (OSError, UnicodeDecodeError):
            return None

    def to_json(self) -> str:
        return json.dumps(self.__dict__, sort_keys=True) + "\n"


@dataclass(frozen=True)
class NodeState:
    """What runs of a node.

    ``running`` means leader and vital processes live; ``members`` are all processes of the node, whoever leads, and
    ``work`` names those of them that do something for a job: Ray's tasks, actors and job supervisors.
    """

    running: bool
    digest: str
    members: tuple[int, ...]
    missing: tuple[str, ...]
    work: tuple[str, ...] = ()


def start_digest(command: list[str], environment: Mapping[str, str]) -> str:
    """Digest of everything a running node would have to be restarted for."""
    text = json.dumps([command, sorted(environment.items())])
    return hashlib.sha256(text.encode()).hexdigest()


def parse_env_file(text: str) -> dict[str, str]:
    """Variables of an environment file as systemd reads it (the plain and the quoted form that cluster_env writes)."""
    variables = {}
    for line in text.split("\n"):  # not splitlines, which knows ends of lines that systemd does not
        line = line.strip()
        if not line or line.startswith(("#", ";")) or "=" not in line:
            continue
        name, _equals, value = line.partition("=")
        value = value.strip()
        if len(value) >= 2 and value[0] == value[-1] == '"':
            value = value[1:-1].replace('\\"', '"').replace("\\\\", "\\")
        variables[name.strip()] = value
    return variables


def node_state(
    record: NodeRecord | None,
    boot_id: str,
    table: Mapping[int, Process],
    temp_dir: str,
    vital: tuple[str, ...],
    marked: Callable[[int], bool],
    own_pid: int,
) -> NodeState:
    """Which processes belong to the node and whether it is whole."""
    leader = table.get(record.pid) if record is not None else None
    if record is not None and (
        record.boot_id != boot_id or (leader is not None and leader.start_ticks != record.start_ticks)
    ):
        record = leader = None  # the pid, and any session of that name, are another's now
    if leader is not None and leader.zombie:
        leader = None
    # Not below a longer path that ends in the same names.
    in_temp_dir = re.compile(rf"(?<![\w.+@~-]){re.escape(temp_dir)}/session_")
    own_family = _ancestors(table, own_pid)
    roots = []
    for process in table.values():
        if process.zombie or process.pid in own_family:
            continue
        in_session = record is not None and process.session == record.pid and process.start_ticks >= record.start_ticks
        if in_session or in_temp_dir.search(process.command) or marked(process.pid):
            roots.append(process.pid)
    members = family(dict(table), roots) - own_family
    commands = [table[pid].command.split(" ", 1)[0] for pid in members if not table[pid].zombie]
    names = [command.rpartition("/")[2] for command in commands]
    missing = tuple(name for name in vital if name not in names)
    return NodeState(
        running=leader is not None and not missing,
        digest=record.digest if record is not None else "",
        members=tuple(sorted(members)),
        missing=missing,
        work=tuple(sorted({command for command in commands if _WORK.match(command)})),
    )


def look(
    state_file: str | Path | None, table: Mapping[int, Process], temp_dir: str, vital: tuple[str, ...] = ()
) -> NodeState:
    """The state of this host's node among the processes of ``table``, by its state file if there is one."""
    marker = f"{MARKER}={temp_dir}"
    return node_state(
        NodeRecord.read(state_file),
        _proc.boot_id(),
        table,
        temp_dir,
        vital,
        lambda pid: _proc.has_environment(pid, marker),
        os.getpid(),
    )


def _ancestors(table: Mapping[int, Process], pid: int) -> set[int]:
    """The process itself and its parents: a module run from inside a Ray job must not take itself for the node."""
    line = set()
    while pid in table and pid not in line:
        line.add(pid)
        pid = table[pid].parent
    return line


def decide(wanted: str, state: NodeState, digest: str) -> str:
    """The action that leads to the wanted state: ``none``, ``start``, ``restart`` or ``stop``."""
    if wanted == "stopped":
        return "stop" if state.members else "none"
    if state.running and state.digest == digest:
        return "none"
    return "restart" if state.members else "start"
