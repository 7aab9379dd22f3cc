# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: env_checks
short_description: Judge the environment of Ray's workers
version_added: 0.1.0
author: rlops contributors (@rlops)
description:
  - Compares the variables that each node was given with those that a Ray task on it sees.
positional: found
options:
  _input:
    description: Address to variables, as they were given.
    type: dict
    required: true
  found:
    description: "Address to variables, as Ray tasks saw them."
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Judge the environment
  rlops.verl.verdict:
    stage: environment
    checks: "{{ given | rlops.verl.env_checks(seen) }}"
"""

RETURN = r"""
_value:
  description: The checks, for M(rlops.verl.verdict).
  type: list
"""

from ansible_collections.rlops.verl.plugins.module_utils._cluster_env import env_checks


class FilterModule:
    def filters(self) -> dict:
        return {"env_checks": env_checks}
