#!/usr/bin/python
# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: verl_model_check
short_description: Check that a merged model is whole, trained, loads and generates
version_added: 0.1.0
description:
  - Runs the package C(rlops_model_check) in the environment of verl, on the CPU. It compares names and shapes of all
    tensors with the model that C(config.json) describes, looks for NaN and infinity, compares weights with those of the
    base model and the tokenizer with that of the checkpoint, loads the model with the fitting Auto class and lets it
    generate a few tokens.
  - The module returns checks, for M(rlops.verl.verdict) to record and to judge. It fails only when it could not look.
  - A good verdict on the very same files, by the same environment, is reused. Then nothing is run.
author:
  - rlops contributors (@rlops)
options:
  model:
    description: Directory of the model.
    type: path
    required: true
  python:
    description: Python interpreter of the environment that verl is installed in.
    type: path
    required: true
  package_parent:
    description: Directory that holds the package C(rlops_model_check).
    type: path
    required: true
  verdict:
    description:
      - File that M(rlops.verl.verdict) records the checks of this model in, also those of last time.
      - The output of the check is kept beside it, with C(.log) in the place of C(.json).
    type: path
    required: true
  base:
    description: Directory of the model that the training started from. Without it the weights are not compared.
    type: path
  tokenizer_source:
    description: Directory with the tokenizer that was trained with, C(.../global_step_N/actor/huggingface).
    type: path
  prompt:
    description: What the model is asked, by its chat template. Empty for a question of the package.
    type: str
    default: ""
  env:
    description: Environment variables for the check. They win over those that the module sets itself.
    type: dict
    default: {}
  timeout:
    description: Seconds that the check may take.
    type: int
    default: 3600
attributes:
  check_mode:
    description: Can run in check_mode and return changed status prediction without modifying target.
    support: full
    details:
      - In check mode nothing is run. The answer is that of last time, or none.
  diff_mode:
    description: Will return details on what has changed (or possibly needs changing in check_mode), when in diff mode.
    support: none
"""

EXAMPLES = r"""
- name: Check a model
  rlops.verl.verl_model_check:
    model: /opt/verl/models/ppo/global_step_40/actor
    python: /opt/verl/env/current/bin/python
    package_parent: /opt/verl/lib
    base: /data/models/Qwen3-8B
    verdict: /opt/verl/state/model.json
  register: checked

- name: Record the verdict
  rlops.verl.verdict:
    stage: model
    path: /opt/verl/state/model.json
    checks: "{{ checked.checks }}"
    details: "{{ checked.details }}"
"""

RETURN = r"""
checks:
  description: The checks, each with C(name), C(ok), C(level), C(found), C(wanted) and C(remedy).
  returned: when they are known
  type: list
  elements: dict
details:
  description:
    - Facts about the model. C(model_path); C(merge) with C(source), C(step), C(component), C(engine) and C(digest) of
      its merge;
      C(architecture), C(class), C(tensors), C(parameters), C(types), C(vocabulary); C(base) with the numbers of
      C(compared) and C(changed) tensors and the C(largest_difference); C(generation) with C(prompt), C(tokens) and
      C(text); C(inputs), which identifies everything that the checks depend on.
  returned: when they are known
  type: dict
known:
  description: Whether there are checks. In check mode there may be none.
  returned: always
  type: bool
reused:
  description: Whether the checks are those of last time.
  returned: always
  type: bool
"""

import json
import os

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.rlops.verl.plugins.module_utils import _checkpoint_merge, _model_check
from ansible_collections.rlops.verl.plugins.module_utils._atomic_directory import files_below
from ansible_collections.rlops.verl.plugins.module_utils._logged_command import run_logged


def fingerprint(directory: str | None, suffix: str = "") -> str | None:
    if not directory:
        return None
    files = {
        name: (status.st_size, status.st_mtime_ns)
        for name, status in files_below(directory).items()
        if name.endswith(suffix)
    }
    return _model_check.fingerprint(files)


def read_json(path: str) -> dict:
    """The JSON object in a file, empty when there is none."""
    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def read_inputs(params: dict) -> dict:
    """Everything that the checks depend on."""
    return {
        "model": fingerprint(params["model"]),
        "base": params["base"],
        "base_files": fingerprint(params["base"]),
        "tokenizer_files": fingerprint(params["tokenizer_source"]),
        "prompt": params["prompt"],
        # A link such as env/current leads to another environment after an upgrade.
        "python": os.path.join(os.path.realpath(os.path.dirname(params["python"])), os.path.basename(params["python"])),
        "package": fingerprint(os.path.join(params["package_parent"], _model_check.PACKAGE), ".py"),
    }


def run_check(module: AnsibleModule) -> tuple[list, dict]:
    """Run the package; fails when there is no answer."""
    params = module.params
    log_path = f"{os.path.splitext(params['verdict'])[0]}.log"
    command = _model_check.check_command(
        params["python"], params["model"], params["base"], params["tokenizer_source"], params["prompt"]
    )
    environment = _model_check.check_environment(os.environ, params["package_parent"], params["env"])
    try:
        os.makedirs(os.path.dirname(log_path), exist_ok=True)
        # The package is found by PYTHONPATH; the current directory comes before that and must not hold any modules.
        outcome = run_logged(command, environment, params["package_parent"], log_path, params["timeout"])
        with open(log_path, encoding="utf-8", errors="replace") as file:
            output = file.read().splitlines()
    except OSError as error:
        module.fail_json(msg=f"check of {params['model']}: {error.filename or params['python']}: {error.strerror}")
    answer = _model_check.parse_answer(output)
    if outcome.returncode == 0 and answer is not None:
        return answer
    reason = (
        f"not done within {params['timeout']} s" if outcome.returncode is None else f"exit code {outcome.returncode}"
    )
    tail = "\n".join(output[-12:])
    module.fail_json(
        msg=f"check of {params['model']}: not done ({reason}). Its output is {log_path}; it ends with:\n{tail}",
        log_path=log_path,
    )


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "model": {"type": "path", "required": True},
            "python": {"type": "path", "required": True},
            "package_parent": {"type": "path", "required": True},
            "verdict": {"type": "path", "required": True},
            "base": {"type": "path"},
            "tokenizer_source": {"type": "path"},
            "prompt": {"type": "str", "default": ""},
            "env": {"type": "dict", "default": {}},
            "timeout": {"type": "int", "default": 3600},
        },
        supports_check_mode=True,
    )
    model = module.params["model"]
    last, inputs = read_json(module.params["verdict"]), read_inputs(module.params)
    if _model_check.reusable(last, inputs):
        module.exit_json(changed=False, known=True, reused=True, checks=last["checks"], details=last["details"])
    if module.check_mode:
        module.exit_json(changed=False, known=False, reused=False)
    if not os.path.isdir(model):
        module.fail_json(msg=f"model: found no directory {model}, wanted the directory of a model")
    checks, details = run_check(module)
    manifest = read_json(os.path.join(model, _checkpoint_merge.MANIFEST))
    merge = (
        {name: manifest.get(name) for name in ("source", "step", "component", "engine", "digest")} if manifest else {}
    )
    module.exit_json(
        changed=False,
        known=True,
        reused=False,
        checks=checks,
        details={**details, "merge": merge, "inputs": inputs},
    )


if __name__ == "__main__":
    main()
