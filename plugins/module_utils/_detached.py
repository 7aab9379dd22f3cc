# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Start a program that outlives the module and the connection that started it."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path


def start_detached(
    command: Sequence[str], environment: Mapping[str, str], log_path: str | Path, directory: str | Path
) -> subprocess.Popen[bytes]:
    """Start the command in a session and directory of its own, with exactly this environment, its output in the file.

    A file of an earlier start is replaced. Raises OSError when the program, the file or the directory cannot be opened.
    """
    with open(log_path, "wb") as log:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            cwd=directory,
            start_new_session=True,
        )
