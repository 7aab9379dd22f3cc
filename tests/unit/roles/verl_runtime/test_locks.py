# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What must hold for every lock that a node is installed from."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from ansible_collections.rlops.verl.tests.tools.make_lock import APART, entries

LOCKS = sorted((Path(__file__).resolve().parents[4] / "roles/verl_runtime/files/locks").glob("*.txt"))
PYTHONS = ("3.10.13", "3.11.7", "3.12.1")


def pins(lock: Path, python: str, machine: str) -> dict[str, str]:
    """Name and version of what the lock installs on Linux with this Python and processor."""
    environment = {
        "implementation_name": "cpython",
        "platform_machine": machine,
        "platform_python_implementation": "CPython",
        "python_full_version": python,
        "python_version": python.rpartition(".")[0],
        "sys_platform": "linux",
    }
    found: dict[str, str] = {}
    for entry in entries(lock.read_text()):
        requirement = Requirement(entry.text.partition("\\")[0])
        if requirement.marker is None or requirement.marker.evaluate(environment):
            name = canonicalize_name(requirement.name)
            assert name not in found, f"{lock.name} has {name} twice for Python {python} on {machine}"
            found[name] = str(requirement.specifier).removeprefix("==")
    return found


def wanted(lock: Path) -> list[Requirement]:
    lines = lock.with_suffix(".in").read_text().splitlines()
    return [Requirement(line) for line in lines if line and not line.startswith("#")]


def test_there_are_locks():
    assert {lock.stem for lock in LOCKS} >= {"0.9.1-cpu", "bootstrap"}


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.stem)
def test_every_line_belongs_to_a_pin_with_hashes(lock):
    text = lock.read_text()
    for entry in entries(text):
        assert re.match(rf"{re.escape(entry.name)}==[^\s*]+", entry.text), entry.text
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry.text), f"{entry.name} has no hash"
    foreign = [line for line in text.splitlines() if not re.match(r"#|    # via |    --hash=sha256:|[\w.-]+==", line)]
    assert foreign == [], "no index, no links, no options"


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.stem)
def test_neither_torch_nor_cuda_can_come_from_it(lock):
    assert [entry.name for entry in entries(lock.read_text()) if APART.match(entry.name)] == []


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.stem)
def test_it_has_what_its_source_asks_for(lock, python, machine):
    found = pins(lock, python, machine)
    for requirement in wanted(lock):
        name = canonicalize_name(requirement.name)
        if APART.match(name):
            continue
        assert requirement.specifier.contains(found[name]), f"{name}: {found[name]}, wanted {requirement.specifier}"


@pytest.mark.parametrize("python", PYTHONS)
def test_what_torch_needs_is_there_without_torch(python):
    (lock,) = (lock for lock in LOCKS if lock.stem == "0.9.1-cpu")
    needs = "filelock fsspec jinja2 markupsafe mpmath networkx setuptools sympy typing-extensions"
    assert set(needs.split()) <= pins(lock, python, "x86_64").keys()


def test_the_build_backend_is_the_same_in_both():
    versions = {lock.stem: pins(lock, "3.12.1", "x86_64")["setuptools"] for lock in LOCKS}
    assert len(set(versions.values())) == 1, versions
