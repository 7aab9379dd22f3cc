# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Run tests/runtime in a node's own environment, with its torch, ray and verl: ``make runtime-tests``.

The environment is the one that the runtime's verdict names. Nothing is installed into it: pytest lies beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from ansible_collections.rlops.verl.tests.e2e.demo_result import ask

ROOT = Path(__file__).resolve().parents[2]
PINS = ROOT / "requirements" / "test.txt"


def environment(ansible: str, inventory: str) -> Path:
    """The environment of the first host of the inventory, which is this machine."""
    state = ask(ansible, inventory, "verl_state_dir")
    verdict = Path(state or "", "runtime.json")
    try:
        return Path(json.loads(verdict.read_text(encoding="utf-8"))["details"]["environment"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        sys.exit(f"runtime-tests: environment: found none in {verdict} ({error!r}), wanted the one of `make demo`")


def pytest_beside(python: Path) -> Path:
    """A folder with pytest for this Python, made once."""
    version = subprocess.run([python, "-V"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()[1]
    folder = ROOT / ".cache" / "runtime-tests" / version
    complete = folder / ".complete"
    if not complete.exists() or complete.stat().st_mtime < PINS.stat().st_mtime:
        shutil.rmtree(folder, ignore_errors=True)
        install = ["-m", "pip", "install", "-qq", "--disable-pip-version-check", "--constraint", str(PINS)]
        subprocess.run([python, *install, "--target", folder, "pytest"], check=True)
        complete.touch()
    return folder


def main() -> int:
    parser = argparse.ArgumentParser(description="Run tests/runtime in a node's own environment.")
    parser.add_argument("--ansible", default="ansible", help="the ansible program")
    parser.add_argument("--inventory", required=True)
    parser.add_argument("--python", type=Path, help="Python of the environment, instead of asking the inventory")
    arguments, more = parser.parse_known_args()
    python = arguments.python or environment(arguments.ansible, arguments.inventory) / "bin" / "python"
    # verl takes its platform from the environment when it is imported, once for all tests.
    settings = {"PYTHONPATH": str(pytest_beside(python)), "VERL_PLATFORM": "cpu"}
    print(f"runtime-tests: {python}", flush=True)
    command = [python, "-m", "pytest", "tests/runtime", *more]
    return subprocess.run(command, cwd=ROOT, env=os.environ | settings, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
