# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: cluster_checks
short_description: Judge a Ray cluster against its declaration
version_added: 0.1.0
author: rlops contributors (@rlops)
description:
  - Compares what M(rlops.verl.ray_cluster_info) found with the nodes, slots, versions and session that were declared.
positional: wanted
options:
  _input:
    description: What M(rlops.verl.ray_cluster_info) returned.
    type: dict
    required: true
  wanted:
    description:
      - "What is wanted: C(ray_version), C(session_name) (empty: not compared) and C(nodes), which maps the name of each
        host to its C(address), C(slots) and C(object_store_bytes)."
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Judge the cluster
  rlops.verl.verdict:
    stage: cluster
    checks: "{{ cluster | rlops.verl.cluster_checks(wanted) }}"
  vars:
    wanted:
      ray_version: 2.60.0
      session_name: ""
      nodes:
        gpu1: {address: 10.0.0.1, slots: 8, object_store_bytes: 68719476736}
"""

RETURN = r"""
_value:
  description:
    - The checks, each a dictionary with C(name), C(ok), C(level), C(found), C(wanted) and C(remedy), for
      M(rlops.verl.verdict).
    - A cluster that does not answer gives one failed check. A node that is not in O(wanted) fails, too, and an object
      store may be one percent off, since Ray rounds.
  type: list
  elements: dict
"""

from ansible_collections.rlops.verl.plugins.module_utils._cluster import cluster_checks


class FilterModule:
    def filters(self) -> dict:
        return {"cluster_checks": cluster_checks}
