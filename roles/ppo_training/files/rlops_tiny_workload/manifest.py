# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""``manifest.json``: the sha256 of every file of a workload. Written last, so its presence says: whole."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from . import spec

NAME = "manifest.json"


def write(root: Path) -> None:
    """Describe all files that lie under ``root`` now."""
    content = {"version": spec.VERSION, "files": {name: _digest(root / name) for name in _files(root)}}
    (root / NAME).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def damage(root: Path) -> list[str]:
    """What is wrong with the workload under ``root``, one text per finding; empty if it is whole.

    Files that the manifest does not name are none of its business (Python leaves ``__pycache__`` beside reward.py).
    """
    try:
        content = json.loads((root / NAME).read_text(encoding="utf-8"))
        version, files = content["version"], dict(content["files"])
    except FileNotFoundError:
        return [f"{NAME}: missing"]
    except (ValueError, KeyError, TypeError):
        return [f"{NAME}: not readable"]
    if version != spec.VERSION:
        return [f"{NAME}: found version {version}, wanted {spec.VERSION}"]
    return [
        f"{name}: {problem}" for name, digest in sorted(files.items()) if (problem := _problem(root / name, digest))
    ]


def _problem(path: Path, digest: str) -> str | None:
    if not path.is_file():
        return "missing"
    return None if _digest(path) == digest else "content differs from the manifest"


def _files(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file() and path.name != NAME)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
