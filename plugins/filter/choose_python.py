# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: choose_python
short_description: Choose the Python interpreter for a release
version_added: 0.1.0
author: rlops contributors (@rlops)
description:
  - Chooses, among the interpreters of a host, the one that a release of verl shall use.
positional: python
options:
  _input:
    description: What M(rlops.verl.node_info) returned.
    type: dict
    required: true
  python:
    description: "The release's range: C(min), C(below), C(prefer)."
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Choose an interpreter
  ansible.builtin.set_fact:
    python: "{{ node | rlops.verl.choose_python({'min': '3.10', 'below': '3.13', 'prefer': ['3.11']}) }}"
"""

RETURN = r"""
_value:
  description: "The interpreter with C(path), C(version), C(minor) and C(complete); empty when none fits."
  type: dict
"""

from ansible_collections.rlops.verl.plugins.module_utils._preflight import interpreter_of


def choose_python(node: dict, python: dict) -> dict:
    chosen = interpreter_of(node, python)
    return chosen.as_dict() if chosen is not None else {}


class FilterModule:
    def filters(self) -> dict:
        return {"choose_python": choose_python}
