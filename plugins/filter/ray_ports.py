# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: ray_ports
short_description: Ports that a Ray node listens on
version_added: 0.1.0
author: rlops contributors (@rlops)
description:
  - Takes those of a dictionary of ports that a head or a worker listens on, without the range of its worker processes.
  - Fails when a port is missing, is no port number, or meets another one.
positional: head
options:
  _input:
    description: Ports by name, all of them, as in C(ray_cluster_ports) of the role P(rlops.verl.ray_cluster#role).
    type: dict
    required: true
  head:
    description: Whether the node is the head.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Show the ports of a worker
  ansible.builtin.debug:
    msg: "{{ ray_cluster_ports | rlops.verl.ray_ports }}"
"""

RETURN = r"""
_value:
  description: Ports by name, as numbers.
  type: dict
"""

from ansible.errors import AnsibleFilterError

from ansible_collections.rlops.verl.plugins.module_utils._ports import fixed


def ray_ports(ports: dict, head: bool = False) -> dict[str, int]:
    try:
        return fixed(ports, head)
    except ValueError as error:
        raise AnsibleFilterError(str(error)) from None


class FilterModule:
    def filters(self) -> dict:
        return {"ray_ports": ray_ports}
