# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Checking a model with ``rlops_model_check``: how it is called, what it answers, when its last answer still holds."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.rlops.verl.plugins.module_utils._verdict import malformed

PACKAGE = "rlops_model_check"
CHECK_ENVIRONMENT = {
    "CUDA_VISIBLE_DEVICES": "",
    "HIP_VISIBLE_DEVICES": "",
    "HF_HUB_OFFLINE": "1",
    "MKL_THREADING_LAYER": "GNU",
    "PYTHONDONTWRITEBYTECODE": "1",
    "TOKENIZERS_PARALLELISM": "false",
}


def check_command(python: str, model: str, base: str | None, tokenizer: str | None, prompt: str | None) -> list[str]:
    command = [python, "-m", PACKAGE, "--json", "--model", model]
    for option, value in (("--base", base), ("--tokenizer-source", tokenizer), ("--prompt", prompt)):
        if value:
            command += [option, value]
    return command


def check_environment(inherited: Mapping[str, str], package_parent: str, own: Mapping[str, object]) -> dict[str, str]:
    """The environment of the check; what the user sets wins, and the package is found before anything else."""
    environment = {**inherited, **CHECK_ENVIRONMENT, **{name: str(value) for name, value in own.items()}}
    path = environment.get("PYTHONPATH")
    environment["PYTHONPATH"] = f"{package_parent}{os.pathsep}{path}" if path else package_parent
    return environment


def fingerprint(files: Mapping[str, tuple[int, int]]) -> str:
    """Identifies a directory by path, size and mtime in ns of its files, without reading them."""
    lines = [f"{path} {size} {mtime}" for path, (size, mtime) in sorted(files.items())]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def parse_answer(output: Sequence[str]) -> tuple[list[dict[str, Any]], dict[str, Any]] | None:
    """Checks and details from the last line of the output that is an answer, None when there is none."""
    for line in reversed(output):
        if not line.startswith('{"checks"'):
            continue
        try:
            answer = json.loads(line)
        except ValueError:
            continue
        if malformed(answer.get("checks")) is None and isinstance(answer.get("details"), dict):
            return answer["checks"], answer["details"]
    return None


def reusable(verdict: object, inputs: Mapping[str, Any]) -> bool:
    """Whether a verdict is a good one on these very inputs. A bad one is never reused: its cause may be gone."""
    return (
        isinstance(verdict, dict)
        and verdict.get("ok") is True
        and malformed(verdict.get("checks")) is None
        and isinstance(verdict.get("details"), dict)
        and verdict["details"].get("inputs") == inputs
    )
