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
    description: The variables that each node was given, address to name to value.
    type: dict
    required: true
  found:
    description: Those that a Ray task on each node saw, in the same form. It may hold more than was given.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Judge the environment
  rlops.verl.verdict:
    stage: environment
    checks: "{{ given | rlops.verl.env_checks(seen) }}"
  vars:
    given: {10.0.0.1: {GLOO_SOCKET_IFNAME: ens5}}
    seen: {10.0.0.1: {GLOO_SOCKET_IFNAME: ens5, HOME: /home/verl}}
"""

RETURN = r"""
_value:
  description:
    - The checks, each a dictionary with C(name), C(ok), C(level), C(found), C(wanted) and C(remedy), for
      M(rlops.verl.verdict).
    - One for each node. A node without a task fails.
  type: list
  elements: dict
"""

from ansible_collections.rlops.verl.plugins.module_utils._cluster_env import env_checks


class FilterModule:
    def filters(self) -> dict:
        return {"env_checks": env_checks}
