# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: combine_checkpoints
short_description: Find the newest checkpoint that is whole on all hosts together
version_added: 0.1.0
author: rlops contributors (@rlops)
description:
  - Joins what M(rlops.verl.verl_checkpoint_info) found on each host and says of every step whether it is whole, and if
    not, why, naming ranks and hosts.
  - Shards that do not belong together (other ranks, other world sizes, other steps) are reported, never mixed.
  - Fails only when O(step) is neither a number nor V(newest).
positional: components, step
options:
  _input:
    description: The C(audit) of each host, by the host's name.
    type: dict
    required: true
  components:
    description: Components that have to be whole (C(actor), C(critic)). Empty for every one that occurs in the run.
    type: list
    elements: str
    default: []
  step:
    description: The step to choose, its number or V(newest).
    type: str
    default: newest
"""

EXAMPLES = r"""
- name: Show the newest step that is whole
  ansible.builtin.debug:
    msg: "{{ ({inventory_hostname: checkpoints.audit} | rlops.verl.combine_checkpoints(['actor'])).newest }}"
"""

RETURN = r"""
_value:
  description:
    - "A dictionary. C(newest): the newest step that is whole. C(chosen): the step that was asked for, null when it
      cannot be merged. C(checks): checks for M(rlops.verl.verdict). C(steps): for each step C(whole), C(mergeable),
      C(resumable), C(problems) and C(components), these with C(world_size), C(ranks) (kind and rank to hosts),
      C(rank_0_hosts), C(problems), C(merge_problems) and C(warnings)."
    - "Further C(hosts), C(exists), C(unreadable), C(components), C(tracked) (the step that verl's tracker names) and
      C(warnings)."
  type: dict
"""

from ansible.errors import AnsibleFilterError

from ansible_collections.rlops.verl.plugins.module_utils._checkpoint_checks import checkpoint_checks
from ansible_collections.rlops.verl.plugins.module_utils._checkpoint_summary import WrongStepError, combine


def combine_checkpoints(audits: dict, components: list | None = None, step: int | str = "newest") -> dict:
    try:
        summary = combine(audits, components or [], step)
        return {**summary, "checks": checkpoint_checks(summary, step)}
    except WrongStepError as error:
        raise AnsibleFilterError(str(error)) from None


class FilterModule:
    def filters(self) -> dict:
        return {"combine_checkpoints": combine_checkpoints}
