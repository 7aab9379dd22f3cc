# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: node_checks
short_description: Judge what a host offers
version_added: 0.1.0
author: rlops contributors (@rlops)
description:
  - Checks operating system, Python, memory, disk, shared memory, directories and ports of a host, and returns all results.
positional: wanted
options:
  _input:
    description: What M(rlops.verl.node_info) returned.
    type: dict
    required: true
  wanted:
    description: "What is wanted: C(distribution), C(python), C(minimum), C(advised), C(object_store), C(ports)."
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Judge the host
  ansible.builtin.set_fact:
    checks: "{{ node | rlops.verl.node_checks(wanted) }}"
"""

RETURN = r"""
_value:
  description: The checks, for M(rlops.verl.verdict).
  type: list
"""

from ansible_collections.rlops.verl.plugins.module_utils._preflight import node_checks


class FilterModule:
    def filters(self) -> dict:
        return {"node_checks": node_checks}
