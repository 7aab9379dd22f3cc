# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The working directory of a Ray job as the package that Ray's nodes unpack.

Ray's REST API takes no directory, only the address of a package. What Ray's own client does with a directory is done
here without Ray (2.60: ``ray/_private/runtime_env/packaging.py``): its files become an uncompressed zip archive, with
no directory around them, which is named after its content. The name is made in another way, so a package that Ray's
client has sent is not found again.
"""

from __future__ import annotations

import hashlib
import io
import os
import pkgutil
import stat
import sys
import zipfile
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ansible_collections.rlops.verl.plugins.module_utils._sizes import human
from ansible_collections.rlops.verl.plugins.module_utils._verdict import check
from ansible_collections.rlops.verl.plugins.module_utils._working_dir_files import (
    EXCLUDE_IT,
    Member,
    WorkingDirError,
    readable,
    scan,
)

# Ray's dashboard takes no larger body (ray_constants.DASHBOARD_CLIENT_MAX_SIZE), whatever GCS could store.
LARGEST_PACKAGE = 100 * 1024**2
# What a verl job imports. The working directory comes first on its search path.
PACKAGES = (
    *("accelerate", "datasets", "hydra", "megatron", "numpy", "omegaconf", "peft", "ray", "sglang", "tensordict"),
    *("torch", "transformers", "verl", "vllm"),
)


@dataclass(frozen=True)
class Package:
    """What is sent: members and their contents, in the same order."""

    members: Sequence[Member]
    contents: Sequence[bytes]

    @cached_property
    def digest(self) -> str:
        """32 hexadecimal digits for names, permissions and contents. Times and owners do not count."""
        digest = hashlib.sha256()
        for member, content in zip(self.members, self.contents):
            digest.update(f"{member.path}\0{member.mode:o}\0{len(content)}\0".encode())
            digest.update(content)
        return digest.hexdigest()[:32]

    @property
    def name(self) -> str:
        return f"_ray_pkg_{self.digest}.zip"

    @property
    def uri(self) -> str:
        return f"gcs://{self.name}"

    def archive(self) -> bytes:
        """The zip archive; equal packages have equal archives."""
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
            for member, content in zip(self.members, self.contents):
                info = zipfile.ZipInfo(member.path)  # its time is the oldest that the format has
                info.create_system = 3  # Unix, so that the attributes are a mode
                info.external_attr = ((stat.S_IFDIR if member.is_dir else stat.S_IFREG) | member.mode) << 16
                archive.writestr(info, content)
        return buffer.getvalue()


def is_directory(working_dir: object) -> bool:
    """Whether a ``working_dir`` is meant as a directory of this host, rather than the address of a package."""
    return isinstance(working_dir, str) and working_dir != "" and "://" not in working_dir


def prepare(path: str, excludes: Sequence[str]) -> tuple[list[dict[str, Any]], Package | None]:
    """Judge a directory and read what is sent of it; there is no package when a check of level ``error`` failed."""
    try:
        members = scan(path, excludes)
        size = size_check(path, members)
        checks = [content_check(path, members), size, modules_check(members, standard_library())]
        return checks, read(members) if size["ok"] else None
    except WorkingDirError as error:
        return [check("working-dir", False, error.found, error.wanted, error.remedy)], None


def read(members: Sequence[Member]) -> Package:
    """Read the members' contents. Raises WorkingDirError."""
    contents = []
    for member in members:
        content = b""
        if not member.is_dir:
            with readable(member.path), open(member.source, "rb") as file:
                content = file.read()
        contents.append(content)
    return Package(members, contents)


def content_check(path: str, members: Sequence[Member]) -> dict[str, Any]:
    return check(
        "working-dir",
        bool(members),
        f"{path} with {count(members)} to send",
        "at least one file",
        f"Put the files of the job there, or change ppo_training_excludes and the .gitignore and .rayignore of {path}.",
        level="warning",
    )


def size_check(path: str, members: Sequence[Member], largest: int = LARGEST_PACKAGE) -> dict[str, Any]:
    """Whether Ray takes the package, of at most ``largest`` bytes."""
    size = archive_size(members)
    found = f"{path} with {count(members)}, {human(size)} as a package"
    if size <= largest:
        return check("working-dir-size", True, found, f"at most {human(largest)}")
    heavy = ", ".join(f"{name} {human(part)}" for name, part in heaviest(members))
    return check(
        "working-dir-size",
        False,
        f"{found}, most of it in {heavy}",
        f"at most {human(largest)}, the most that Ray's dashboard takes",
        "Exclude what the job does not need with ppo_training_excludes (excludes of the job's runtime environment), "
        f"such as '/{heaviest(members)[0][0]}'. Large data belong where all nodes find them under the same path.",
    )


def modules_check(members: Sequence[Member], standard_library: Collection[str]) -> dict[str, Any]:
    """Whether a module at the top of the directory would be imported in place of one of Python's or verl's."""
    found = shadowing(members, standard_library)
    return check(
        "working-dir-modules",
        not found,
        ", ".join(found) or "none",
        "no module named like one of Python's own or one that verl imports",
        f"Rename it, or {EXCLUDE_IT}: the processes of the job would import it instead.",
        level="warning",
    )


def count(members: Sequence[Member]) -> str:
    files = sum(not member.is_dir for member in members)
    return "1 file" if files == 1 else f"{files or 'no'} files"


def archive_size(members: Sequence[Member]) -> int:
    """Bytes of the archive: contents, two headers of 30 and 46 bytes with the name each, an end of 22 bytes."""
    return 22 + sum(76 + 2 * len(member.path.encode()) + member.size for member in members)


def heaviest(members: Sequence[Member], limit: int = 3) -> list[tuple[str, int]]:
    """The largest parts of a directory and their bytes, the largest first.

    A part is named as narrowly as it says the same: the directory or file that has most of its bytes.
    """
    sizes: Counter[str] = Counter()
    inside: dict[str, set[str]] = {}
    for member in members:
        parts = member.path.rstrip("/").split("/")
        above = ""
        for depth in range(1, len(parts) + 1):
            name = "/".join(parts[:depth]) + ("/" if depth < len(parts) else "")
            sizes[name] += member.size
            inside.setdefault(above, set()).add(name)
            above = name

    def largest(names: Collection[str]) -> list[str]:
        return sorted(names, key=lambda name: (-sizes[name], name))

    def narrowed(name: str) -> str:
        while name in inside and sizes[largest(inside[name])[0]] * 10 > sizes[name] * 9:
            name = largest(inside[name])[0]
        return name

    return [(name, sizes[name]) for name in map(narrowed, largest(inside.get("", ()))[:limit])]


def shadowing(members: Sequence[Member], standard_library: Collection[str]) -> list[str]:
    """Files and directories at the top that Python finds in place of modules of these names or of PACKAGES."""
    found = set()
    for member in members:
        top, _slash, rest = member.path.partition("/")
        name, _dot, suffix = top.partition(".")
        is_module = not rest and not member.is_dir and (suffix == "py" or suffix.split(".")[-1] == "so")
        # A directory without it is found only where nothing else has the name.
        is_package = rest == "__init__.py"
        if (is_module or is_package) and (name in standard_library or name in PACKAGES):
            found.add(f"{top}/" if is_package else top)
    return sorted(found)


def standard_library() -> Collection[str]:
    """Names of the modules of Python's standard library."""
    names: Collection[str] | None = getattr(sys, "stdlib_module_names", None)
    if names is not None:
        return names
    # Python 3.9 has no list of them.
    found = {module.name for module in pkgutil.iter_modules([os.path.dirname(os.__file__)])}
    return found.union(sys.builtin_module_names) - {"test"}
