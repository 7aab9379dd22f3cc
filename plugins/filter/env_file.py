# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: env_file
short_description: Variables as an environment file
version_added: 0.1.0
author: rlops contributors (@rlops)
description:
  - Writes variables in the form of an environment file that systemd reads, sorted by name and quoted where needed.
  - Fails for names and values that such a file cannot hold.
options:
  _input:
    description:
      - Names and values. Numbers become text, and V(true) and V(false) become C(1) and C(0).
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Show the file
  ansible.builtin.debug:
    msg: "{{ {'NUMEXPR_MAX_THREADS': '96'} | rlops.verl.env_file }}"
"""

RETURN = r"""
_value:
  description: The text of the file, one C(NAME=value) a line.
  type: str
"""

from ansible.errors import AnsibleFilterError

from ansible_collections.rlops.verl.plugins.module_utils._cluster_env import env_file as in_lines


def env_file(variables: dict) -> str:
    try:
        return in_lines(variables)
    except ValueError as error:
        raise AnsibleFilterError(str(error)) from None


class FilterModule:
    def filters(self) -> dict:
        return {"env_file": env_file}
