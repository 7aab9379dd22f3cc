# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: training_plan
short_description: Everything that follows from a declared training
version_added: 0.1.0
author: rlops contributors (@rlops)
description:
  - Turns the declaration of a training into its id, Hydra arguments, entry point, runtime environment and directories. Fails with the variable's name when the declaration describes no training.
positional: accelerator_overrides
options:
  _input:
    description: The declaration; see the role ppo_training.
    type: dict
    required: true
  accelerator_overrides:
    description: Overrides that any training on the accelerator needs.
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
  description: "C(id), C(run_dir), C(checkpoint_dir), C(overrides), C(arguments), C(entrypoint), C(runtime_env), C(total_steps)."
  type: dict
"""

from ansible.errors import AnsibleFilterError

from ansible_collections.rlops.verl.plugins.module_utils._training import DeclarationError, plan


def training_plan(declared: dict, accelerator_overrides: dict) -> dict:
    try:
        return plan(declared, accelerator_overrides)
    except DeclarationError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    def filters(self) -> dict:
        return {"training_plan": training_plan}
