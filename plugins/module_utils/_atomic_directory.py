# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A directory that appears under its name complete or not at all.

It is filled beside its destination as ``<destination>.partial-<random>`` and renamed when everything is on the disk.
Who fills it holds a lock, so that whatever bears such a name while the lock can be had was left by a dead process.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator

from ansible_collections.rlops.verl.plugins.module_utils._wait import wait_for

_CHUNK = 8 << 20


@contextlib.contextmanager
def locked(destination: str, timeout: float) -> Iterator[int]:
    """Hold the lock of the destination, whose parent must exist; gives its descriptor, for children to inherit.

    The file ``<destination>.lock`` is there only while somebody works. Raises _wait.Timeout when another keeps it.
    """
    path = f"{destination}.lock"

    def try_lock() -> int:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The one who held it before may have removed the file between our open and our lock.
            if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                return descriptor
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES, errno.ENOENT):
                os.close(descriptor)
                raise
        os.close(descriptor)
        return -1

    descriptor = wait_for(f"{path} is free", try_lock, lambda held: held >= 0, timeout)
    try:
        yield descriptor
    finally:
        os.unlink(path)
        os.close(descriptor)


def leftovers(destination: str) -> list[str]:
    """Partial directories of this destination."""
    parent, name = os.path.split(destination)
    if not os.path.isdir(parent):
        return []
    return sorted(os.path.join(parent, item) for item in os.listdir(parent) if item.startswith(f"{name}.partial-"))


def make_partial(destination: str) -> str:
    path = f"{destination}.partial-{secrets.token_hex(4)}"
    os.mkdir(path)
    return path


def remove(path: str) -> None:
    shutil.rmtree(path, ignore_errors=True)


def files_below(directory: str) -> dict[str, os.stat_result]:
    """Relative path to status of all files, in order."""
    found = {}
    for place, _directories, names in os.walk(directory):
        for name in names:
            path = os.path.join(place, name)
            found[os.path.relpath(path, directory)] = os.lstat(path)
    return dict(sorted(found.items()))


def sha256_of(path: str) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def settle(directory: str) -> None:
    """Give files the mode that the umask asks for (safetensors writes 0600) and wait until all is on the disk."""
    umask = os.umask(0)
    os.umask(umask)
    for place, _directories, names in os.walk(directory):
        for name in names:
            path = os.path.join(place, name)
            os.chmod(path, 0o666 & ~umask)
            _sync(path)
        _sync(place)


def publish(partial: str, destination: str) -> None:
    """Rename the settled directory to its name, where nothing or an empty directory may be."""
    os.rename(partial, destination)
    _sync(os.path.dirname(destination))


def _sync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
