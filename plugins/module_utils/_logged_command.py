# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Run a long command with its output in a file, and never leave it behind."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Outcome:
    """``returncode`` is negative when a signal ended it, None when the time was over."""

    returncode: int | None
    seconds: float


def run_logged(
    command: Sequence[str],
    environment: Mapping[str, str],
    directory: str,
    log_path: str,
    timeout: float,
    inherited: Sequence[int] = (),
) -> Outcome:
    """Run the command to its end. It dies with this process, even when that is killed. Raises OSError.

    ``inherited`` are descriptors that it keeps open: a lock held through one is free only when both are gone.
    """
    libc = ctypes.CDLL(None)
    parent = os.getpid()

    def die_with_parent() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)

    started = time.monotonic()
    with open(log_path, "wb") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            cwd=directory,
            start_new_session=True,
            pass_fds=tuple(inherited),
            preexec_fn=die_with_parent,
        )
    try:
        returncode: int | None = process.wait(timeout)
    except subprocess.TimeoutExpired:
        returncode = None
    finally:
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return Outcome(returncode, time.monotonic() - started)
