# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Processes, listening ports and the limit of memory, read from /proc and the control groups.

The root of the tree is a parameter, so that tests bring their own.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_LISTEN = "0A"  # TCP_LISTEN in /proc/net/tcp


@dataclass(frozen=True)
class Process:
    pid: int
    parent: int
    session: int
    start_ticks: int
    zombie: bool
    command: str

    @property
    def short_command(self) -> str:
        return self.command if len(self.command) <= 100 else f"{self.command[:97]}..."


def parse_stat(pid: int, stat: str, command: str) -> Process:
    """Read one /proc/PID/stat. The command name stands in parentheses and may itself hold spaces and parentheses."""
    name, _parenthesis, rest = stat.partition("(")[2].rpartition(")")
    fields = rest.split()
    return Process(
        pid=pid,
        parent=int(fields[1]),
        session=int(fields[3]),
        start_ticks=int(fields[19]),
        zombie=fields[0] in ("Z", "X"),
        command=command or f"[{name}]",
    )


def processes(root: str | Path = "/proc") -> dict[int, Process]:
    """All processes that can be seen, by pid."""
    found = {}
    for entry in Path(root).iterdir():
        if not entry.name.isdigit():
            continue
        try:
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
            found[int(entry.name)] = parse_stat(int(entry.name), (entry / "stat").read_text(errors="replace"), command)
        except OSError:
            continue  # it ended while we were looking, or we may not look
    return found


def boot_id(root: str | Path = "/proc") -> str:
    """Tells one run of the kernel from the next, whose pids and start times mean other processes."""
    return (Path(root) / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def has_environment(pid: int, assignment: str, root: str | Path = "/proc") -> bool:
    """True when the process was started with ``NAME=value`` in its environment and we may read it."""
    try:
        return assignment.encode() in (Path(root) / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return False


def memory_limit(root: str | Path = "/proc", groups: str | Path = "/sys/fs/cgroup") -> int | None:
    """Bytes of memory that this process's control group and those above it leave it; None where none has a limit.

    ``groups`` is where systemd, Docker and Kubernetes mount the control groups of version 2, and those of version 1
    below it. A container may be told the path that its group has on the host, and see its own group alone: at the top.
    """
    try:
        lines = (Path(root) / "self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None  # a kernel without control groups
    limits = []
    for line in lines:
        _number, controllers, path = line.split(":", 2)
        if not controllers:
            top, name = Path(groups), "memory.max"
        elif "memory" in controllers.split(","):
            top, name = Path(groups) / "memory", "memory.limit_in_bytes"
        else:
            continue
        parts = path.strip("/").split("/")
        for depth in range(len(parts) + 1):
            try:
                text = top.joinpath(*parts[:depth], name).read_text(encoding="ascii").strip()
            except OSError:
                continue  # the root of version 2 has none, and what cannot be seen from here has none for us
            if text.isdigit():  # "max" is none
                limits.append(int(text))
    return min(limits, default=None)


def family(table: dict[int, Process], roots: Iterable[int]) -> set[int]:
    """The given pids and all their descendants."""
    children: dict[int, list[int]] = {}
    for process in table.values():
        children.setdefault(process.parent, []).append(process.pid)
    members: set[int] = set()
    queue = [pid for pid in roots if pid in table]
    while queue:
        pid = queue.pop()
        if pid not in members:
            members.add(pid)
            queue.extend(children.get(pid, []))
    return members


def parse_listeners(text: str) -> dict[int, set[int]]:
    """Port to socket inodes of one /proc/net/tcp or tcp6 table, listening sockets only."""
    listeners: dict[int, set[int]] = {}
    for line in text.splitlines()[1:]:
        fields = line.split()
        if len(fields) > 9 and fields[3] == _LISTEN:
            listeners.setdefault(int(fields[1].rpartition(":")[2], 16), set()).add(int(fields[9]))
    return listeners


def listeners(root: str | Path = "/proc") -> dict[int, set[int]]:
    """Port to socket inodes of everything that listens on TCP, IPv4 and IPv6."""
    joined: dict[int, set[int]] = {}
    for name in ("tcp", "tcp6"):
        path = Path(root) / "net" / name
        if path.exists():
            for port, inodes in parse_listeners(path.read_text()).items():
                joined.setdefault(port, set()).update(inodes)
    return joined


def socket_owners(wanted: set[int], root: str | Path = "/proc") -> dict[int, int]:
    """Socket inode to pid, as far as this user may look."""
    names = {f"socket:[{inode}]": inode for inode in wanted}
    owners: dict[int, int] = {}
    for entry in Path(root).iterdir():
        if not entry.name.isdigit():
            continue
        try:
            descriptors = os.listdir(entry / "fd")
        except OSError:
            continue  # not ours, or it ended meanwhile
        for descriptor in descriptors:
            try:
                inode = names.get(os.readlink(entry / "fd" / descriptor))
            except OSError:
                continue  # closed meanwhile
            if inode is not None:
                owners[inode] = int(entry.name)
    return owners
