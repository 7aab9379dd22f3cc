# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: node_checks
short_description: Judge what a host offers
version_added: 0.1.0
author: rlops contributors (@rlops)
description:
  - Checks operating system, Python, memory, disk, shared memory, directories and ports of a host, and returns all
    results.
positional: wanted
options:
  _input:
    description: What M(rlops.verl.node_info) returned with O(rlops.verl.node_info#module:find_pythons=true).
    type: dict
    required: true
  wanted:
    description:
      - "What is wanted. C(distribution): the host's C(system), C(name), C(version) and C(architecture). C(python): see
        P(rlops.verl.choose_python#filter). C(named_python): the only interpreter that was looked for, or nothing.
        C(minimum) and C(advised): sizes C(memory), C(disk), C(disk_installed) and C(shm), such as C(64G), and a number
        of C(processors), each as far as it is limited. C(installed): whether the release is installed, which decides
        between C(disk) and C(disk_installed). C(object_store): a size or a share of the memory. C(ports): name to
        number. C(temp_dir): Ray's."
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Judge the host
  rlops.verl.verdict:
    stage: preflight
    checks: "{{ node | rlops.verl.node_checks(wanted) }}"
"""

RETURN = r"""
_value:
  description:
    - The checks, each a dictionary with C(name), C(ok), C(level), C(found), C(wanted) and C(remedy), for
      M(rlops.verl.verdict).
    - What falls short of C(advised), and a distribution that the collection is not tested on, are warnings.
  type: list
  elements: dict
"""

from ansible_collections.rlops.verl.plugins.module_utils._preflight import node_checks


class FilterModule:
    def filters(self) -> dict:
        return {"node_checks": node_checks}
