# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Say in one last line how a run of the whole pipeline ended: ``demo: ok model=PATH`` or ``demo: failed stage=NAME``.

It reads the verdicts that the stages left in the state directory, not the playbook's output. Standard library only.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

STAGES = ("preflight", "runtime", "cluster", "training", "checkpoint", "model")

# Names for what can go wrong outside of the stages.
INVENTORY = "inventory"
SUMMARY = "summary"


@dataclass(frozen=True)
class Outcome:
    """How the run ended: the model, or the stage that failed and why."""

    model: str = ""
    stage: str = ""
    reasons: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return bool(self.model)

    def line(self) -> str:
        return f"demo: ok model={self.model}" if self.ok else f"demo: failed stage={self.stage}"


def moment(text: object) -> datetime | None:
    """An ISO 8601 time with its zone, or None."""
    try:
        value = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return value if value.tzinfo else None


def sentence(check: Mapping[str, Any]) -> str:
    text = f"{check.get('name')}: found {check.get('found')}, wanted {check.get('wanted')}. {check.get('remedy', '')}"
    return text.strip()


def complaint(verdict: Mapping[str, Any] | None, started: datetime) -> tuple[str, ...] | None:
    """Why a stage does not count as passed in the run that began at ``started``; None when it does."""
    checked_at = moment((verdict or {}).get("checked_at"))
    if verdict is None or checked_at is None or checked_at < started:
        return ("it did not come to an end in this run",)
    if verdict.get("ok") is True:
        return None
    failed = [c for c in verdict.get("checks", []) if not c.get("ok") and c.get("level") == "error"]
    return tuple(map(sentence, failed)) or ("its verdict is not ok",)


def outcome(verdicts: Mapping[str, Mapping[str, Any] | None], started: datetime, exit_code: int) -> Outcome:
    """Judge a run by the verdicts of its stages, the time it began and the exit code of the playbook.

    The first stage in order that has no good verdict from this run is the one that failed.
    """
    for stage in STAGES:
        reasons = complaint(verdicts.get(stage), started)
        if reasons is not None:
            return Outcome(stage=stage, reasons=reasons)
    if exit_code != 0:
        return Outcome(stage=SUMMARY, reasons=(f"all stages passed, but the playbook ended with {exit_code}",))
    model = ((verdicts["model"] or {}).get("details") or {}).get("model_path")
    if not model:
        return Outcome(stage="model", reasons=("its verdict has no details.model_path",))
    return Outcome(model=str(model))


def rendered(output: str, variable: str) -> str | None:
    """The path that a variable holds in the output of ``ansible HOST -m debug -a var=NAME``, or None."""
    start = output.find("{")
    try:
        value = json.loads(output[start:])[variable] if start >= 0 else None
    except (ValueError, KeyError, TypeError):
        return None
    return value if isinstance(value, str) and os.path.isabs(value) else None


def about_variables(arguments: str) -> list[str]:
    """What sets or decrypts variables among the arguments of ansible-playbook, as a shell reads them."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    names = {"-e": ("--extra-vars",), "--vault-id": (), "--vault-password-file": ("--vault-pass-file",)}
    for name, others in names.items():
        parser.add_argument(name, *others, action="append", default=[], dest=name)
    known, _others = parser.parse_known_args(shlex.split(arguments))
    return [word for name in names for value in getattr(known, name) for word in (name, value)]


def ask(ansible: str, inventory: str, variable: str, arguments: str = "") -> str | None:
    """Ask Ansible for a variable, a path, of the first host of the inventory."""
    command = [ansible, "all[0]", "-i", inventory, "-m", "ansible.builtin.debug", "-a", f"var={variable}"]
    command += about_variables(arguments)
    environment = os.environ | {"ANSIBLE_CALLBACK_RESULT_FORMAT": "json", "ANSIBLE_NOCOLOR": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    value = rendered(done.stdout, variable)
    if value is None:
        print(done.stdout + done.stderr, end="")
    return value


def read(state: Path) -> dict[str, dict[str, Any] | None]:
    """The verdicts in the state directory; None for a stage that has none that can be read."""
    verdicts: dict[str, dict[str, Any] | None] = {}
    for stage in STAGES:
        try:
            document = json.loads((state / f"{stage}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            document = None
        verdicts[stage] = document if isinstance(document, dict) else None
    return verdicts


def main() -> int:
    parser = argparse.ArgumentParser(description="Say in one last line how a run of the whole pipeline ended.")
    parser.add_argument("--ansible", default="ansible", help="the ansible program")
    parser.add_argument("--inventory", required=True)
    parser.add_argument("--started", required=True, type=datetime.fromisoformat, help="when the run began, in UTC")
    parser.add_argument("--exit-code", required=True, type=int, help="how the playbook ended")
    parser.add_argument("--arguments", default="", help="further ones that the playbook got, as for a shell")
    arguments = parser.parse_args()
    state = ask(arguments.ansible, arguments.inventory, "verl_state_dir", arguments.arguments)
    if state is None:
        reason = f"verl_state_dir of the first host of {arguments.inventory} is not known"
        result = Outcome(stage=INVENTORY, reasons=(reason,))
    else:
        result = outcome(read(Path(state)), arguments.started, arguments.exit_code)
    for reason in result.reasons:
        print(f"{result.stage}: {reason}")
    print(result.line(), flush=True)
    return 0 if result.ok else arguments.exit_code or 1


if __name__ == "__main__":
    sys.exit(main())
