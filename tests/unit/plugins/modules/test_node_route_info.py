# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The module in networks that the kernel makes for each test."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

RUN = """
import json, sys
from ansible.module_utils.testing import patch_module_args
from ansible_collections.rlops.verl.plugins.modules import node_route_info
with patch_module_args({"to": sys.argv[1], "_ansible_check_mode": True}):
    node_route_info.main()
"""
LOOPBACK = "ip link set lo up"
# Two cables, each with both ends here: one to a network of its own, one to a network with a way on.
CABLES = f"""{LOOPBACK}
for name in data mgmt; do ip link add $name type veth peer name $name-end; ip link set $name-end up; done
ip address add 10.20.0.2/24 dev data && ip link set data up
ip address add 10.30.0.2/24 dev mgmt && ip address add 10.30.0.9/24 dev mgmt label mgmt:1 && ip link set mgmt up"""
DEFAULT = f"{CABLES}\nip route add default via 10.30.0.1"


def info(network: str, to: str) -> dict:
    """The module's answer in a new network that the commands have set up."""
    root = [] if os.geteuid() == 0 else ["--map-root-user"]
    script = f'set -e\n{network}\necho made\nexec "$@"'
    answer = subprocess.run(
        ["unshare", "--net", *root, "sh", "-c", script, "sh", sys.executable, "-c", RUN, to],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    made, _line, output = answer.stdout.partition("\n")
    if made != "made":
        pytest.skip(f"no network can be made here: {answer.stderr.strip()}")
    return json.loads(output)


@pytest.mark.parametrize(
    ("network", "to", "address", "interface"),
    [
        (DEFAULT, "10.20.0.7", "10.20.0.2", "data"),
        (DEFAULT, "10.30.0.7", "10.30.0.2", "mgmt"),
        (DEFAULT, "192.0.2.1", "10.30.0.2", "mgmt"),
        (DEFAULT, "10.20.0.2", "10.20.0.2", "data"),
        (DEFAULT, "10.30.0.9", "10.30.0.9", "mgmt"),
        (DEFAULT, "127.0.0.1", "10.30.0.2", "mgmt"),
        (DEFAULT, "localhost", "10.30.0.2", "mgmt"),
        (DEFAULT, "127.1.2.3", "10.30.0.2", "mgmt"),
        (CABLES, "127.0.0.1", "127.0.0.1", "lo"),
        (CABLES, "10.20.0.7", "10.20.0.2", "data"),
        (LOOPBACK, "localhost", "127.0.0.1", "lo"),
    ],
)
def test_the_way_to_a_host(network, to, address, interface):
    answer = info(network, to)
    assert (answer["changed"], answer["address"], answer["interface"]) == (False, address, interface)


@pytest.mark.parametrize(
    ("to", "words"),
    [("192.0.2.1", "Network is unreachable"), ("no.such.host.invalid", ""), ("2001:db8::1", ""), ("::1", "")],
)
def test_a_host_without_a_way_is_named(to, words):
    answer = info(CABLES, to)
    assert answer["failed"]
    assert answer["msg"].startswith(f"to: found '{to}', wanted a host that this one has an IPv4 route to (")
    assert words in answer["msg"]
