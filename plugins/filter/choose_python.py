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
  - Complete interpreters come before those without C(venv) or C(ensurepip), then the order of C(prefer) counts, then
    that in which they were found.
positional: python
options:
  _input:
    description: What M(rlops.verl.node_info) returned with O(rlops.verl.node_info#module:find_pythons=true).
    type: dict
    required: true
  python:
    description:
      - "The release's range: the lowest version C(min), the first one that is too new C(below), and the minor versions
        C(prefer), best first."
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Show the interpreter
  ansible.builtin.debug:
    msg: "{{ (node | rlops.verl.choose_python({'min': '3.10', 'below': '3.13', 'prefer': ['3.11']})).path }}"
"""

RETURN = r"""
_value:
  description:
    - The interpreter with C(path), C(version), C(minor) and C(complete), as in the input. Empty when none is in the
      range.
  type: dict
"""

from ansible_collections.rlops.verl.plugins.module_utils._preflight import interpreter_of


def choose_python(node: dict, python: dict) -> dict:
    chosen = interpreter_of(node, python)
    return chosen.as_dict() if chosen is not None else {}


class FilterModule:
    def filters(self) -> dict:
        return {"choose_python": choose_python}
