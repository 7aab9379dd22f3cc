# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: object_store_bytes
short_description: Size of Ray's object store in bytes
version_added: 0.1.0
author: rlops contributors (@rlops)
description:
  - Turns a size such as C(30%) or C(64G) into the bytes that Ray takes.
  - A share of the memory is bounded by 95 percent of C(/dev/shm). A size in bytes that does not fit into C(/dev/shm) is
    an error, and so is anything below 75 MiB, which Ray refuses.
positional: node
options:
  _input:
    description:
      - A share of the host's memory such as C(30%), or a size with a unit. C(G) and C(GiB) are powers of 1024, C(GB) is
        decimal, and without a unit it is bytes.
    type: str
    required: true
  node:
    description: What M(rlops.verl.node_info) returned. C(memory_bytes) and C(shm_bytes) are read.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Size the object store
  ansible.builtin.debug:
    msg: "{{ '30%' | rlops.verl.object_store_bytes(node) }}"
"""

RETURN = r"""
_value:
  description: The size in bytes.
  type: int
"""

from ansible.errors import AnsibleFilterError

from ansible_collections.rlops.verl.plugins.module_utils._sizes import SizeError
from ansible_collections.rlops.verl.plugins.module_utils._sizes import object_store_bytes as in_bytes


def object_store_bytes(value: object, node: dict) -> int:
    missing = [name for name in ("memory_bytes", "shm_bytes") if name not in node]
    if missing:
        raise AnsibleFilterError(
            f"object_store_bytes: found a node without {' and '.join(missing)}, wanted what rlops.verl.node_info "
            "returned. Give what was registered of it."
        )
    try:
        return in_bytes(value, node["memory_bytes"], node["shm_bytes"])
    except SizeError as error:
        raise AnsibleFilterError(str(error)) from None


class FilterModule:
    def filters(self) -> dict:
        return {"object_store_bytes": object_store_bytes}
