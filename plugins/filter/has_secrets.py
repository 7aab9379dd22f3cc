# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: has_secrets
short_description: Whether an environment file has variables that nobody shall see
version_added: 0.1.0
author: rlops contributors (@rlops)
description:
  - Tells by the names of the variables, such as C(HF_TOKEN) and C(WANDB_API_KEY), whether the file has to be kept out
    of logs and diffs.
options:
  _input:
    description: The text of an environment file.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Write the file
  ansible.builtin.copy:
    content: "{{ text }}"
    dest: /etc/ray.env
    mode: "0600"
  diff: "{{ not text | rlops.verl.has_secrets }}"
  vars:
    text: "{{ {'HF_TOKEN': 'hf_x'} | rlops.verl.env_file }}"
"""

RETURN = r"""
_value:
  description: Whether a variable is secret.
  type: bool
"""

from ansible_collections.rlops.verl.plugins.module_utils._ray_node import parse_env_file
from ansible_collections.rlops.verl.plugins.module_utils._secrets import is_secret


def has_secrets(text: str) -> bool:
    return any(map(is_secret, parse_env_file(text)))


class FilterModule:
    def filters(self) -> dict:
        return {"has_secrets": has_secrets}
