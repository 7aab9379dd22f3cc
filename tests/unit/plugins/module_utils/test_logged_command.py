# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.rlops.verl.plugins.module_utils._logged_command import run_logged
from ansible_collections.rlops.verl.plugins.module_utils._wait import wait_for


def run(tmp_path: Path, script: str, timeout: float = 60):
    return run_logged(
        ["sh", "-c", script], {"NAME": "value", "PATH": os.environ["PATH"]}, str(tmp_path), f"{tmp_path}/log", timeout
    )


def gone(pid: int) -> bool:
    """Whether the process has ended; one that nobody has waited for yet counts as ended."""
    try:
        return (
            " (sh) Z " in Path(f"/proc/{pid}/stat").read_text()
            or " (sleep) Z " in Path(f"/proc/{pid}/stat").read_text()
        )
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_output_and_errors_go_to_the_log(tmp_path):
    outcome = run(tmp_path, "echo $NAME; pwd; echo oh >&2; exit 3")
    assert outcome.returncode == 3
    assert (tmp_path / "log").read_text() == f"value\n{tmp_path}\noh\n"


def test_a_signal_is_told(tmp_path):
    assert run(tmp_path, "kill -9 $$").returncode == -9


def test_no_time_is_left_and_no_process_either(tmp_path):
    outcome = run(tmp_path, "sleep 600 & echo $!; wait", timeout=1)
    assert outcome.returncode is None
    wait_for("the child is gone", lambda: gone(int((tmp_path / "log").read_text())), bool, 10)


def test_a_program_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        run_logged([f"{tmp_path}/absent"], {}, str(tmp_path), f"{tmp_path}/log", 1)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_command_dies_with_its_parent(tmp_path, number):
    code = (
        "import sys\n"
        "from ansible_collections.rlops.verl.plugins.module_utils._logged_command import run_logged\n"
        "run_logged(['sh', '-c', 'echo $$ > pid; exec sleep 600'], {}, sys.argv[1], sys.argv[1] + '/log', 600)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    parent = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], env=environment)
    pid_file = tmp_path / "pid"
    wait_for("the command runs", lambda: pid_file.exists() and pid_file.read_text().strip(), bool, 30)
    parent.send_signal(number)
    parent.wait()
    wait_for("the command is gone", lambda: gone(int(pid_file.read_text())), bool, 10)
