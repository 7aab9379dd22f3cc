# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: declaration_checks
short_description: Judge the cluster-wide variables
version_added: 0.1.0
author: rlops contributors (@rlops)
description:
  - Checks release, accelerator, slots, prefix and ports of a declaration against the release manifest, and returns all
    results. It needs no host.
positional: releases
options:
  _input:
    description: "The declaration: C(release), C(accelerator), C(slots_per_node), C(prefix), C(ports) (name to number)."
    type: dict
    required: true
  releases:
    description: The release manifest of the role P(rlops.verl.verl_runtime#role), release to accelerator to pins.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Judge what was declared
  rlops.verl.verdict:
    stage: preflight
    checks: "{{ declared | rlops.verl.declaration_checks(verl_runtime_releases) }}"
"""

RETURN = r"""
_value:
  description:
    - The checks, each a dictionary with C(name), C(ok), C(level), C(found), C(wanted) and C(remedy), for
      M(rlops.verl.verdict).
  type: list
  elements: dict
"""

from ansible_collections.rlops.verl.plugins.module_utils._preflight import declaration_checks


class FilterModule:
    def filters(self) -> dict:
        return {"declaration_checks": declaration_checks}
