# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Preflight: what was declared and what the hosts offer, judged before anything is changed."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping
from typing import Any

from ansible_collections.rlops.verl.plugins.module_utils import _ports, _python, _ray_node
from ansible_collections.rlops.verl.plugins.module_utils._sizes import SizeError, human, object_store_bytes, size_bytes
from ansible_collections.rlops.verl.plugins.module_utils._verdict import check

Checks = list[dict[str, Any]]


def _choice(variable: str, value: object, choices: list[str]) -> dict[str, Any]:
    close = difflib.get_close_matches(str(value), choices, n=1)
    hint = f" Did you mean {close[0]}?" if close and close[0] != str(value) else ""
    return check(
        variable,
        str(value) in choices,
        value,
        f"one of {', '.join(choices)}",
        f"Set {variable} to a value that this version of the collection supports.{hint}",
    )


def declaration_checks(declared: Mapping[str, Any], releases: Mapping[str, Mapping[str, Any]]) -> Checks:
    """Judge the cluster-wide variables alone. ``releases`` is the manifest: release to accelerator to pins."""
    release, accelerator = str(declared["release"]), str(declared["accelerator"])
    checks = [_choice("verl_release", release, sorted(releases))]
    known = [releases[release]] if release in releases else list(releases.values())
    accelerators = sorted({accelerator for pins in known for accelerator in pins})
    checks.append(_choice("verl_accelerator", accelerator, accelerators))
    slots = declared["slots_per_node"]
    checks.append(
        check(
            "verl_slots_per_node",
            # Text, too: that is how it comes from a command line.
            not isinstance(slots, bool) and re.fullmatch(r"[0-9]+", str(slots)) is not None,
            repr(slots) if isinstance(slots, str) else slots,
            "a whole number, the GPUs of the node or its worker slots on CPU",
            "Set verl_slots_per_node.",
        )
    )
    prefix = str(declared["prefix"])
    checks.append(
        check(
            "verl_prefix",
            prefix.startswith("/")
            and prefix.rstrip("/") not in ("", "/usr", "/etc", "/var", "/opt", "/home", "/root")
            # It becomes part of command lines, units and search paths.
            and all(character.isalnum() or character in "/._@+-" for character in prefix),
            prefix or "nothing",
            "an absolute path of a directory that belongs to the cluster alone, of letters, digits and ._@+-",
            "Set verl_prefix, for example to /opt/verl.",
        )
    )
    wrong = _ports.problems(declared["ports"])
    checks.append(
        check(
            "ports",
            not wrong,
            "; ".join(wrong) or "no collision",
            "a free port of its own for each of Ray's services",
            "Change ray_cluster_ports." if wrong else "",
        )
    )
    return checks


def node_checks(node: Mapping[str, Any], wanted: Mapping[str, Any]) -> Checks:
    """Judge one host.

    ``node`` is what the module node_info returns. ``wanted`` has ``distribution``, ``python`` (a release's range:
    min, below, prefer), ``named_python`` (the only interpreter that was looked for, or nothing), ``minimum`` and
    ``advised`` (sizes memory, disk, disk_installed, shm; processors), ``installed`` (whether the release is),
    ``object_store``, ``ports`` (name to number) and ``temp_dir`` (of Ray).
    """
    return [
        *_system(wanted),
        _interpreter(node, wanted),
        *_sizes(node, wanted),
        _object_store(node, wanted["object_store"]),
        *_directories(node),
        _temp_dir(str(wanted["temp_dir"])),
        _free_ports(node, wanted["ports"]),
    ]


def _system(wanted: Mapping[str, Any]) -> Checks:
    system = wanted["distribution"]
    known = system["name"] in ("Debian", "Ubuntu")
    return [
        check(
            "operating-system",
            system["system"] == "Linux",
            f"{system['system']} ({system['name']} {system['version']})",
            "Linux",
            "Run on a Linux host.",
        ),
        check(
            "distribution",
            known,
            f"{system['name']} {system['version']}",
            "Debian or Ubuntu, which this collection is tested on",
            "Expect to install packages of the operating system by hand.",
            level="warning",
        ),
        check(
            "architecture",
            system["architecture"] in ("x86_64", "aarch64"),
            system["architecture"],
            "x86_64 or aarch64",
            "Ray and PyTorch have no builds for this processor.",
        ),
    ]


def interpreter_of(node: Mapping[str, Any], python: Mapping[str, Any]) -> _python.Interpreter | None:
    """The interpreter that the release would use on the host."""
    found = [_python.Interpreter(p["path"], p["version"], p["complete"]) for p in node["pythons"]]
    return _python.choose(found, python["min"], python["below"], python["prefer"])


def _interpreter(node: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    python, system, named = wanted["python"], wanted["distribution"], wanted["named_python"]
    chosen = interpreter_of(node, python)
    span = f"Python >= {python['min']} and < {python['below']}"
    seen = ", ".join(f"{p['version']} at {p['path']}" for p in node["pythons"])
    if chosen is None and named:
        return check(
            "verl_python",
            False,
            f"{named}, {f'which is {seen}' if seen else 'no Python that runs on this host'}",
            span,
            "Correct verl_python, or leave it empty: the best fitting Python of the host is then taken.",
        )
    if chosen is None:
        return check(
            "python",
            False,
            seen or "no Python",
            span,
            "Install a Python of that range (a distribution package such as python3.12, pyenv or uv), and name it in "
            "verl_python if it lies in an unusual place.",
        )
    installable = node["is_root"] and system["name"] in ("Debian", "Ubuntu")
    return check(
        "python",
        chosen.complete or installable,
        f"{chosen.version} at {chosen.path}" + ("" if chosen.complete else " without the modules venv and ensurepip"),
        f"{span}, with venv and ensurepip",
        f"Install python{chosen.minor}-venv on this host, as root.",
    )


def _sizes(node: Mapping[str, Any], wanted: Mapping[str, Any]) -> Checks:
    disk = min((path["free_bytes"] for path in node["paths"]), default=0)
    have = {"memory": node["memory_bytes"], "disk": disk, "shm": node["shm_bytes"]}
    names = {"memory": "RAM", "disk": "free disk below verl_prefix", "shm": "/dev/shm"}
    remedies = {
        "processors": "Use a larger host",
        "memory": "Use a larger host or raise the limit of the container",
        "disk": "Make room there",
        "shm": "Enlarge /dev/shm",
    }
    # What the release takes is not wanted a second time.
    other = "disk" if wanted["installed"] else "disk_installed"
    checks = []
    for level, key, word in (("error", "minimum", "at least"), ("warning", "advised", "advised are")):
        for variable, text in wanted[key].items():
            if variable == other:
                continue
            name = variable.removesuffix("_installed")
            if name == "processors":
                ok, found, limit = node["processors"] >= int(text), str(node["processors"]), str(text)
                title = "processors"
            else:
                size = size_bytes(text, name=f"preflight_{key}.{variable}")
                ok, found, limit = have[name] >= size, human(have[name]), human(size)
                title = names[name]
            checks.append(
                check(
                    f"{name}-{key}",
                    ok,
                    f"{found} of {title}" if name != "processors" else f"{found} processors",
                    f"{word} {limit}",
                    f"{remedies[name]}, or lower preflight_{key}.{variable} if you know better.",
                    level,
                )
            )
    return checks


def _object_store(node: Mapping[str, Any], value: object) -> dict[str, Any]:
    try:
        size = object_store_bytes(value, node["memory_bytes"], node["shm_bytes"])
    except SizeError as error:
        return check(error.name, False, error.found, error.wanted, error.remedy)
    free = node["shm_free_bytes"]
    # Ray takes room there as it needs it. What this cluster's Ray has taken is no one else's.
    running = any(listener["own"] for listener in node["listeners"])
    return check(
        "ray_cluster_object_store",
        running or size <= free,
        f"{value}: {human(size)}",
        "" if running else f"at most the free room of /dev/shm, {human(free)}",
        "Remove what other programs have left in /dev/shm, or change ray_cluster_object_store.",
    )


def _directories(node: Mapping[str, Any]) -> Checks:
    checks = []
    for path in node["paths"]:
        place = path["path"] if path["existing"] == path["path"] else f"{path['path']} (below {path['existing']})"
        if not path["is_directory"]:
            problem = f"{path['existing']}, which is not a directory"
        elif not path["writable"]:
            problem = f"{place}, not writable for user {node['user']}"
        elif path["free_inodes"] != -1 and path["free_inodes"] < 100_000:
            problem = f"{place} on a file system with {path['free_inodes']} free inodes"
        else:
            problem = ""
        checks.append(
            check(
                f"directory {path['path']}",
                not problem,
                problem or f"{place}, writable",
                "a directory that can be written to, with 100000 free inodes or more",
                "Change verl_prefix, or the rights of that directory.",
            )
        )
    return checks


def _temp_dir(path: str) -> dict[str, Any]:
    size, limit = len(os.fsencode(path.rstrip("/"))), _ray_node.LONGEST_TEMP_DIR
    return check(
        "ray_cluster_temp_dir",
        size <= limit,
        f"{path} with {size} bytes",
        f"at most {limit} bytes, since the paths of Ray's sockets below it have a limit",
        "Choose a shorter verl_prefix or ray_cluster_temp_dir.",
    )


def _free_ports(node: Mapping[str, Any], ports: Mapping[str, int]) -> dict[str, Any]:
    names = {number: name for name, number in ports.items()}
    taken: dict[str, list[str]] = {}
    for listener in node["listeners"]:
        if not listener["own"]:
            pid, number = listener["pid"], listener["port"]
            who = f"process {pid}, {listener['command']}" if pid else "a program of another user"
            taken.setdefault(who, []).append(f"{number} ({names[number]})")
    found = "; ".join(f"{', '.join(numbers)} taken by {who}" for who, numbers in taken.items())
    return check(
        "free-ports",
        not taken,
        found or f"{len(ports)} ports free or in use by this cluster's Ray",
        "ports that no other program listens on",
        "End that program, or choose other numbers in ray_cluster_ports." if taken else "",
    )
