# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""How a checkpoint directory is looked at: the interface that the audit takes, and the reader of this host's disk."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Entry:
    """One name in a directory; links are followed. ``kind`` is file, directory or other (device, socket, dead link)."""

    name: str
    kind: str
    size: int = 0
    mtime_ns: int = 0


class Reader(Protocol):
    """All methods raise OSError."""

    def entries(self, path: str) -> list[Entry]:
        """The directory's entries, sorted by name."""

    def read_at(self, path: str, offset: int, length: int) -> bytes:
        """Bytes of a file, fewer only at its end."""


class DiskReader:
    """Reads the disk of this host."""

    def entries(self, path: str) -> list[Entry]:
        return sorted((self._entry(item) for item in os.scandir(path)), key=lambda entry: entry.name)

    @staticmethod
    def _entry(item: os.DirEntry[str]) -> Entry:
        try:
            status = item.stat()
        except OSError:
            return Entry(item.name, "other")
        if stat.S_ISDIR(status.st_mode):
            return Entry(item.name, "directory")
        if stat.S_ISREG(status.st_mode):
            return Entry(item.name, "file", status.st_size, status.st_mtime_ns)
        return Entry(item.name, "other")

    def read_at(self, path: str, offset: int, length: int) -> bytes:
        with open(path, "rb") as file:
            file.seek(offset)
            return file.read(length)
