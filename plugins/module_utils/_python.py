# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Which Python interpreter of a host a release of verl can use."""

from __future__ import annotations

import glob
import json
import os
import shutil
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

COMMANDS = ("python3.12", "python3.11", "python3.10", "python3.13", "python3.14", "python3")
# Looked at beside the search path, which a connection without a login shell may not have set.
PLACES = (
    "/usr/bin",
    "/usr/local/bin",
    "/opt/python*/bin",
    "~/.local/bin",
    "~/.pyenv/versions/*/bin",
    "~/.local/share/uv/python/*/bin",
)

# Run by each candidate. ensurepip is a module of its own in Debian: without it a venv has no pip.
PROBE = (
    "import importlib.util as u, json, platform, sys;"
    "print(json.dumps([sys.executable, platform.python_version(), all(map(u.find_spec, ('venv', 'ensurepip')))]))"
)


@dataclass(frozen=True)
class Interpreter:
    """``complete`` means that it can make a virtual environment with pip."""

    path: str
    version: str
    complete: bool

    @property
    def minor(self) -> str:
        return ".".join(self.version.split(".")[:2])

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "minor": self.minor}


def candidates(python: str | None, search_path: str, places: Iterable[str] = PLACES) -> list[str]:
    """Paths of interpreters, each file once: the one that ``python`` (path or command) names, or all that are found."""
    if python:
        path = shutil.which(python, path=search_path)
        return [path] if path else []
    directories = search_path.split(os.pathsep)
    for pattern in places:
        directories.extend(sorted(glob.glob(os.path.expanduser(pattern)), reverse=True))
    paths: dict[str, str] = {}
    for command in COMMANDS:
        for directory in directories:
            path = os.path.join(directory, command)
            if os.path.isfile(path) and os.access(path, os.X_OK):
                paths.setdefault(os.path.realpath(path), path)
    return list(paths.values())


def parse_probe(output: str) -> Interpreter | None:
    """The answer of a candidate; None when it did not answer as a Python does (a pyenv shim without a version, say).

    The path is the interpreter's own word: a shim leads to different interpreters in different directories.
    """
    try:
        executable, version, complete = json.loads(output)
        return Interpreter(str(executable), str(version), bool(complete))
    except (ValueError, TypeError):
        return None


def version_key(version: str) -> tuple[int, ...]:
    """``3.11.7`` as a tuple that compares; suffixes such as ``rc1`` or ``+`` are left out."""
    numbers = []
    for part in version.split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        numbers.append(int(digits) if digits else 0)
    return tuple(numbers)


def in_range(version: str, minimum: str, below: str) -> bool:
    return version_key(minimum) <= version_key(version) < version_key(below)


def choose(found: Iterable[Interpreter], minimum: str, below: str, prefer: list[str]) -> Interpreter | None:
    """The interpreter to use: complete before incomplete, then by preferred minor version, then as they were found."""
    fitting = [interpreter for interpreter in found if in_range(interpreter.version, minimum, below)]

    def rank(interpreter: Interpreter) -> tuple[bool, int]:
        preference = prefer.index(interpreter.minor) if interpreter.minor in prefer else len(prefer)
        return not interpreter.complete, preference

    return min(fitting, key=rank, default=None)
