# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: node_environment
short_description: Variables of a training node
version_added: 0.1.0
author: rlops contributors (@rlops)
description:
  - Computes the environment of a node from its processors, the interface that leads to the head, and what is installed.
positional: processors, interface, accelerator, attention_backend, extra
options:
  _input:
    description: Installed Python distributions, name in lower case to version. Some variables depend on them.
    type: dict
    required: true
  processors:
    description: Processors of the node.
    type: int
    required: true
  interface:
    description: Interface that leads to the head.
    type: str
    required: true
  accelerator:
    description: "Accelerator, C(cpu) or C(cuda)."
    type: str
    required: true
  attention_backend:
    description: Attention backend for releases of vLLM that take it from the environment.
    type: str
    default: ""
  extra:
    description:
      - Further variables, which win over the computed ones. Values become text, V(true) and V(false) become C(1) and
        C(0), and V(null) takes a variable away.
    type: dict
"""

EXAMPLES = r"""
- name: Show the variables
  ansible.builtin.debug:
    msg: "{{ {'torch': '2.11.0'} | rlops.verl.node_environment(96, 'ens5', 'cuda') }}"
"""

RETURN = r"""
_value:
  description: Names and values, which are text.
  type: dict
"""

from ansible_collections.rlops.verl.plugins.module_utils._cluster_env import environment


def node_environment(
    distributions: dict,
    processors: int,
    interface: str,
    accelerator: str,
    attention_backend: str = "",
    extra: dict | None = None,
) -> dict:
    return environment(int(processors), interface, accelerator, distributions, attention_backend, extra)


class FilterModule:
    def filters(self) -> dict:
        return {"node_environment": node_environment}
