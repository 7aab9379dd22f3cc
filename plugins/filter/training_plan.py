# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: training_plan
short_description: Everything that follows from a declared training
version_added: 0.1.0
author: rlops contributors (@rlops)
description:
  - Turns the declaration of a training into its id, Hydra arguments, entry point, runtime environment and directories.
  - Equal declarations have equal ids, whatever the order of their keys. Where the run puts its files follows from the
    id.
  - Fails with the variable's name when the declaration describes no training.
positional: accelerator_overrides
options:
  _input:
    description:
      - "The declaration: C(name), C(release), C(nnodes), C(slots_per_node), C(model_path), C(critic_model_path),
        C(train_files), C(val_files), C(overrides), C(env_vars), C(working_dir), C(excludes), C(runs_dir) and C(python).
        They are the variables of the role P(rlops.verl.ppo_training#role). C(working_dir_digest), from
        M(rlops.verl.ray_working_dir_info), may be added."
      - C(train_files) and C(val_files) are lists, or the path of one file.
    type: dict
    required: true
  accelerator_overrides:
    description: Overrides that any training on the accelerator needs. Those of the declaration win over them.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Show what would run
  ansible.builtin.debug:
    msg: "{{ (declared | rlops.verl.training_plan({})).entrypoint }}"
"""

RETURN = r"""
_value:
  description: What follows from the declaration.
  type: dict
  contains:
    id: {description: Name and digest of what was declared., type: str}
    run_dir: {description: Directory of the run., type: str}
    checkpoint_dir: {description: Directory that checkpoints are saved to., type: str}
    overrides: {description: "All overrides, dotted keys to values.", type: dict}
    arguments: {description: "The arguments for Hydra, not quoted for a shell.", type: list, elements: str}
    entrypoint: {description: The shell command of the job., type: str}
    runtime_env: {description: "Ray's runtime environment of the job, without secret variables.", type: dict}
    secret_env_vars: {description: Variables of the job that are secret by their names., type: dict}
    shown: {description: The job for people. Values of secret variables are hidden., type: dict}
    total_steps: {description: "Number of training steps, null when it follows from the data.", type: int}
"""

from ansible.errors import AnsibleFilterError

from ansible_collections.rlops.verl.plugins.module_utils._hydra import OverrideError, flatten, to_arguments
from ansible_collections.rlops.verl.plugins.module_utils._training import DeclarationError, plan


def training_plan(declared: dict, accelerator_overrides: dict) -> dict:
    files = {name: _listed(declared[name]) for name in ("train_files", "val_files")}
    try:
        # By themselves first: in the plan, any fault is that of the declaration.
        to_arguments(flatten(accelerator_overrides))
        return plan({**declared, **files}, accelerator_overrides)
    except OverrideError as error:
        raise AnsibleFilterError(f"accelerator_overrides: {error}") from None
    except DeclarationError as error:
        raise AnsibleFilterError(str(error)) from None


def _listed(files: str | list[str]) -> list[str]:
    return [file for file in [files] if file] if isinstance(files, str) else files


class FilterModule:
    def filters(self) -> dict:
        return {"training_plan": training_plan}
