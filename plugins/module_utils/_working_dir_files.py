# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Which files of a job's working directory are sent.

As in Ray's own client (2.60: ``ray/_private/runtime_env/packaging.py``), except that git's order of precedence holds
among patterns: those that were given, then the files with patterns, the nearest first. Ray's client lets nothing back
in (``!``) that any of them excludes.
"""

from __future__ import annotations

import ntpath
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from ansible_collections.rlops.verl.plugins.module_utils import _gitignore

# ray_constants.RAY_RUNTIME_ENV_DEFAULT_EXCLUDES
DEFAULT_EXCLUDES = (".git", ".venv", "venv", "__pycache__")
# In one directory, what is meant for Ray comes first.
IGNORE_FILES = (".rayignore", ".gitignore")
EXCLUDE_IT = "exclude it with ppo_training_excludes (excludes of the job's runtime environment)"


class WorkingDirError(Exception):
    """A directory that cannot be sent: what was found, what was wanted, what to do."""

    def __init__(self, found: str, wanted: str, remedy: str):
        super().__init__(f"found {found}, wanted {wanted}. {remedy}")
        self.found, self.wanted, self.remedy = found, wanted, remedy


@dataclass(frozen=True)
class Member:
    """A file of the directory, or an empty directory below it, whose ``path`` ends in a slash.

    ``path`` is relative, ``source`` is where it lies, ``mode`` are its permission bits, ``size`` is in bytes.
    """

    path: str
    source: str
    mode: int
    size: int

    @property
    def is_dir(self) -> bool:
        return self.path.endswith("/")


@dataclass(frozen=True)
class _Rules:
    """Patterns, and the directory that they were written in: relative, with a slash at its end, or empty."""

    base: str
    patterns: Sequence[_gitignore.Pattern]


def scan(path: str, excludes: Sequence[str]) -> list[Member]:
    """What is sent of a directory, sorted by path. Raises WorkingDirError.

    Links are followed. What is neither file nor directory, such as a socket or a link to nowhere, is left out.
    """
    wanted = "the absolute path of a directory"
    remedy = "Correct ppo_training_working_dir (working_dir of the job's runtime environment), or make the directory."
    if not path.startswith("/"):
        raise WorkingDirError(f"{path}, a relative path", wanted, remedy)
    if not os.path.isdir(path):
        reason = "which is no directory" if os.path.exists(path) else "which does not exist"
        raise WorkingDirError(f"{path}, {reason}", wanted, remedy)
    given = _Rules("", _gitignore.parse([*DEFAULT_EXCLUDES, *excludes]))
    return sorted(_walk(path, "", (given,), (os.path.realpath(path),)), key=lambda member: member.path)


@contextmanager
def readable(path: str) -> Iterator[None]:
    """Say what could not be read."""
    try:
        yield
    except OSError as error:
        raise WorkingDirError(
            f"{path}, which cannot be read ({error.strerror})",
            "files that this user may read",
            f"Make it readable, or {EXCLUDE_IT}.",
        ) from error


def _walk(root: str, base: str, rules: tuple[_Rules, ...], around: tuple[str, ...]) -> Iterator[Member]:
    """Members below ``base``.

    ``rules`` are in their order of precedence; ``around`` are the real paths of the directories from the root down to
    here, by which a link that leads back is noticed.
    """
    here = os.path.join(root, base)
    with readable(base or root):
        names = sorted(os.listdir(here))
    rules = (rules[0], *_rules_of(root, base, names), *rules[1:])
    for name in names:
        path, source = base + name, os.path.join(here, name)
        is_dir = os.path.isdir(source)
        if not (is_dir or os.path.isfile(source)) or _ignored(rules, path, is_dir):
            continue
        _check_name(path)
        with readable(path):
            info = os.stat(source)
            is_empty = is_dir and not os.listdir(source)
        mode = stat.S_IMODE(info.st_mode) & 0o777
        if is_empty:
            yield Member(f"{path}/", source, mode, 0)
        elif is_dir:
            real = os.path.realpath(source)
            if real in around:
                raise WorkingDirError(
                    f"{path}, a link to a directory around it",
                    "directories that come to an end",
                    f"Remove the link, or {EXCLUDE_IT}.",
                )
            yield from _walk(root, f"{path}/", rules, (*around, real))
        else:
            yield Member(path, source, mode, info.st_size)


def _rules_of(root: str, base: str, names: Sequence[str]) -> Iterator[_Rules]:
    for name in IGNORE_FILES:
        file = os.path.join(root, base, name)
        if name in names and os.path.isfile(file):
            with readable(base + name), open(file, encoding="utf-8", errors="surrogateescape", newline="") as text:
                yield _Rules(base, _gitignore.parse_file(text.read()))


def _ignored(rules: Sequence[_Rules], path: str, is_dir: bool) -> bool:
    for rule in rules:
        answer = _gitignore.ignored(rule.patterns, path[len(rule.base) :], is_dir)
        if answer is not None:
            return answer
    return False


def _check_name(path: str) -> None:
    """Refuse names that Ray's nodes leave out when they unpack, or that a zip archive does not take."""
    try:
        path.encode()
    except UnicodeEncodeError:
        raise WorkingDirError(
            f"{path.encode(errors='surrogateescape')!r}", "names in UTF-8", f"Rename it, or {EXCLUDE_IT}."
        ) from None
    if "\\" in path or ntpath.splitdrive(path)[0]:
        raise WorkingDirError(
            path, "names that are no Windows paths, which Ray does not unpack", f"Rename it, or {EXCLUDE_IT}."
        )
