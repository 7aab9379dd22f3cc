# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: tree_digest
short_description: Digest of the files of a directory
version_added: 0.1.0
author: rlops contributors (@rlops)
description:
  - Names and contents of all files below a directory of the controller as one SHA-256 digest, so that a change of any
    of them is noticed.
  - Links are followed, as by M(ansible.builtin.copy), but for those that lead back to a directory they lie in.
  - What Python and its build tools leave behind is not looked at. Fails when there is no such directory.
options:
  _input:
    description: The directory.
    type: path
    required: true
"""

EXAMPLES = r"""
- name: Name something after its content
  ansible.builtin.debug:
    msg: "package-{{ (role_path ~ '/files/package') | rlops.verl.tree_digest }}"
"""

RETURN = r"""
_value:
  description: The digest in hexadecimal.
  type: str
"""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from ansible.errors import AnsibleFilterError

LEFT_BEHIND = ("__pycache__", "build", "dist", ".pytest_cache")


def tree_digest(path: str) -> str:
    root = Path(path)
    if not root.is_dir():
        raise AnsibleFilterError(f"tree_digest: found {path}, wanted a directory")
    digest = hashlib.sha256()
    for file in sorted(_files(root)):
        content = file.read_bytes()
        digest.update(os.fsencode(file.relative_to(root)) + f"\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def _files(directory: Path, above: tuple[Path, ...] = ()) -> Iterator[Path]:
    here = directory.resolve()
    if here in above:
        return
    for path in directory.iterdir():
        if path.name in LEFT_BEHIND or path.name.endswith(".egg-info"):
            continue
        if path.is_dir():
            yield from _files(path, (*above, here))
        elif path.is_file():
            yield path


class FilterModule:
    def filters(self) -> dict:
        return {"tree_digest": tree_digest}
