#!/usr/bin/python
# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: node_route_info
short_description: Find the own address and interface on the way to another host
version_added: 0.1.0
description:
  - Asks the kernel which of this host's IPv4 addresses, and which interface, lead to a destination. Sends nothing to
    the destination and needs no command on the host.
  - That address is the one the other host can answer to, whatever C(hostname -i), C(/etc/hosts) or the default route
    say.
  - Fails when the destination has no IPv4 address, or when there is no route to it.
author:
  - rlops contributors (@rlops)
options:
  to:
    description:
      - Address or name of the destination. One of the host's own addresses gives that address and its interface.
      - A loopback address, or a name that C(/etc/hosts) gives one, means this host itself. The answer is then the
        address of the default route, since no other host could use the loopback address; without a default route it is
        the loopback address.
    type: str
    required: true
attributes:
  check_mode:
    description: Can run in check_mode and return changed status prediction without modifying target.
    support: full
  diff_mode:
    description: Will return details on what has changed (or possibly needs changing in check_mode), when in diff mode.
    support: none
"""

EXAMPLES = r"""
- name: Find the way to the head
  rlops.verl.node_route_info:
    to: 10.0.0.1
  register: route
"""

RETURN = r"""
address:
  description: The own IPv4 address.
  returned: success
  type: str
  sample: 10.0.0.2
interface:
  description: The interface that has it.
  returned: success
  type: str
  sample: ens5
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.rlops.verl.plugins.module_utils._route import Route, addresses, route_to

# An address that nobody has (RFC 5737): the way there is the default route.
NOWHERE = "198.51.100.1"


def find(destination: str) -> Route:
    own = addresses()
    if destination in own and not destination.startswith("127."):
        # The kernel routes to an own address by the loopback interface; others reach it by the one that has it.
        return Route(destination, own[destination])
    route = route_to(destination)
    if not route.address.startswith("127."):
        return route
    try:
        return route_to(NOWHERE)
    except OSError:
        return Route("127.0.0.1", "lo")


def main() -> None:
    module = AnsibleModule(argument_spec={"to": {"type": "str", "required": True}}, supports_check_mode=True)
    destination = module.params["to"]
    try:
        route = find(destination)
    except OSError as error:
        module.fail_json(
            msg=f"to: found {destination!r}, wanted a host that this one has an IPv4 route to ({error}). Correct the "
            "address, or the network of this host."
        )
    module.exit_json(changed=False, address=route.address, interface=route.interface)


if __name__ == "__main__":
    main()
