#!/usr/bin/python
# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: node_info
short_description: Read what a host offers to a training node
version_added: 0.1.0
description:
  - Reads memory, shared memory, processors, room and rights below given paths, who listens on given ports, and the
    Python interpreters of the host. Changes nothing.
  - Whether that is enough is for the filter P(rlops.verl.node_checks#filter) to judge.
author:
  - rlops contributors (@rlops)
options:
  paths:
    description: Directories that will be written to. They need not exist, then their nearest parent is looked at.
    type: list
    elements: path
    default: []
  ports:
    description: TCP ports that will be listened on.
    type: list
    elements: int
    default: []
  ray_temp_dir:
    description:
      - Temporary directory of this host's own Ray node, by which its ports are told from those of other programs.
      - Without it no port counts as the own node's.
    type: path
  ray_state_file:
    description:
      - State file of that Ray node (M(rlops.verl.ray_node)), by which its processes are known after a crash, too.
    type: path
  find_pythons:
    description: Whether the Python interpreters of the host are looked at.
    type: bool
    default: false
  python:
    description:
      - With O(find_pythons), the only interpreter to look at, a path or a command.
      - Without it, those on the search path and in the usual places are looked at.
    type: path
attributes:
  check_mode:
    description: Can run in check_mode and return changed status prediction without modifying target.
    support: full
  diff_mode:
    description: Will return details on what has changed (or possibly needs changing in check_mode), when in diff mode.
    support: none
"""

EXAMPLES = r"""
- name: Look at the host
  rlops.verl.node_info:
    paths: [/opt/verl]
    ports: [6379, 8265]
    find_pythons: true
  register: node
"""

RETURN = r"""
memory_bytes:
  description: Memory in bytes, the physical one or what the control groups of the module (a container) leave of it.
  returned: always
  type: int
shm_bytes:
  description: Size of C(/dev/shm), in bytes. 0 where there is none.
  returned: always
  type: int
shm_free_bytes:
  description: Free room in C(/dev/shm), in bytes. 0 where there is none.
  returned: always
  type: int
processors:
  description: Processors that this process may use.
  returned: always
  type: int
is_root:
  description: Whether the module ran as root.
  returned: always
  type: bool
user:
  description: The user it ran as.
  returned: always
  type: str
paths:
  description: What was found for each path.
  returned: always
  type: list
  elements: dict
  contains:
    path: {description: The path asked for., type: str}
    existing: {description: The path itself or its nearest parent that exists., type: str}
    is_directory: {description: Whether that is a directory., type: bool}
    writable: {description: Whether this user may write there., type: bool}
    free_bytes: {description: "Room for this user, in bytes.", type: int}
    free_inodes: {description: "Free inodes, or -1 where the file system does not count them.", type: int}
listeners:
  description: Ports among O(ports) that something listens on, whatever the address.
  returned: always
  type: list
  elements: dict
  contains:
    port: {description: The port., type: int}
    pid: {description: "Process that listens, 0 where this user may not see it.", type: int}
    command: {description: "The first 100 characters of its command line, empty where it cannot be seen.", type: str}
    own: {description: Whether it belongs to the Ray node of O(ray_temp_dir)., type: bool}
pythons:
  description: The interpreters, each once. Empty without O(find_pythons).
  returned: always
  type: list
  elements: dict
  contains:
    path: {description: Where it is., type: str}
    version: {description: "Its version, such as 3.11.7.", type: str}
    minor: {description: "Its minor version, such as 3.11.", type: str}
    complete: {description: Whether it can make a virtual environment with pip., type: bool}
"""

import os
import pwd
from concurrent.futures import ThreadPoolExecutor

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.rlops.verl.plugins.module_utils import _proc, _python, _ray_node


def memory_bytes() -> int:
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(physical, _proc.memory_limit() or physical)


def look_at_path(path: str) -> dict:
    existing = path
    while not os.path.exists(existing) and os.path.dirname(existing) != existing:
        existing = os.path.dirname(existing)
    room = os.statvfs(existing)
    return {
        "path": path,
        "existing": existing,
        "is_directory": os.path.isdir(existing),
        "writable": os.access(existing, os.W_OK | os.X_OK),
        "free_bytes": room.f_bavail * room.f_frsize,
        "free_inodes": room.f_favail if room.f_files else -1,
    }


def look_at_ports(ports: list[int], temp_dir: str | None, state_file: str | None) -> list[dict]:
    listening = {port: inodes for port, inodes in _proc.listeners().items() if port in ports}
    if not listening:
        return []
    table = _proc.processes()
    owners = _proc.socket_owners(set().union(*listening.values()))
    own: set[int] = set()
    temp_dir = (temp_dir or "").rstrip("/")
    if temp_dir:
        own = set(_ray_node.look(state_file, table, temp_dir).members)
    found = []
    for port, inodes in sorted(listening.items()):
        pid = next((owners[inode] for inode in inodes if inode in owners), 0)
        command = table[pid].short_command if pid in table else ""
        found.append({"port": port, "pid": pid, "command": command, "own": pid in own})
    return found


def look_at_pythons(module: AnsibleModule) -> list[dict]:
    def probe(path: str) -> _python.Interpreter | None:
        try:
            code, output, _errors = module.run_command([path, "-I", "-c", _python.PROBE], handle_exceptions=False)
        except OSError:  # its interpreter is gone, or it is no program
            return None
        return _python.parse_probe(output) if code == 0 else None

    found = {}
    paths = _python.candidates(module.params["python"], os.environ.get("PATH", os.defpath))
    with ThreadPoolExecutor(max_workers=8) as pool:
        interpreters = list(pool.map(probe, paths))
    for interpreter in interpreters:
        if interpreter is not None:
            found.setdefault(interpreter.path, interpreter.as_dict())
    return list(found.values())


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "paths": {"type": "list", "elements": "path", "default": []},
            "ports": {"type": "list", "elements": "int", "default": []},
            "ray_temp_dir": {"type": "path"},
            "ray_state_file": {"type": "path"},
            "find_pythons": {"type": "bool", "default": False},
            "python": {"type": "path"},
        },
        supports_check_mode=True,
    )
    shm = os.statvfs("/dev/shm") if os.path.isdir("/dev/shm") else None
    module.exit_json(
        changed=False,
        memory_bytes=memory_bytes(),
        shm_bytes=shm.f_blocks * shm.f_frsize if shm else 0,
        shm_free_bytes=shm.f_bavail * shm.f_frsize if shm else 0,
        processors=len(os.sched_getaffinity(0)),
        is_root=os.geteuid() == 0,
        user=pwd.getpwuid(os.geteuid()).pw_name,
        paths=[look_at_path(os.path.abspath(path)) for path in module.params["paths"]],
        listeners=look_at_ports(module.params["ports"], module.params["ray_temp_dir"], module.params["ray_state_file"]),
        pythons=look_at_pythons(module) if module.params["find_pythons"] else [],
    )


if __name__ == "__main__":
    main()
