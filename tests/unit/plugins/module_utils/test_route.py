# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The kernel of this host is asked; every Linux has at least its own loopback interface."""

from __future__ import annotations

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.rlops.verl.plugins.module_utils import _route
from ansible_collections.rlops.verl.plugins.module_utils._route import Route


def record(name: bytes, address: bytes) -> bytes:
    """A struct ifreq: name, then a sockaddr_in of family, port, address and filling."""
    return name.ljust(16, b"\0") + b"\2\0" + b"\0\0" + address + b"\xff" * 16


NAMES = st.from_regex(rb"\A[a-z][a-z0-9.@-]{0,14}\Z")


@given(st.dictionaries(st.binary(min_size=4, max_size=4), NAMES), st.binary(max_size=39))
def test_every_record_is_read_and_a_cut_one_left_out(interfaces, rest):
    data = b"".join(record(name, address) for address, name in interfaces.items())
    expected = {socket.inet_ntoa(address): name.decode() for address, name in interfaces.items()}
    assert _route.parse_ifconf(data + rest) == expected


@pytest.mark.parametrize(("name", "interface"), [(b"eth0:1", "eth0"), (b"eth0\0junk", "eth0"), (b"e" * 16, "e" * 16)])
def test_names_of_interfaces(name, interface):
    assert _route.parse_ifconf(record(name, b"\x0a\0\0\7")) == {"10.0.0.7": interface}


def test_own_addresses_belong_to_interfaces_of_this_host():
    found = _route.addresses()
    assert found["127.0.0.1"] == "lo"
    assert set(found.values()) <= {name for _index, name in socket.if_nameindex()}


@pytest.mark.parametrize("destination", ["127.0.0.1", "localhost"])
def test_the_way_to_oneself_is_the_loopback_interface(destination):
    assert _route.route_to(destination) == Route("127.0.0.1", "lo")


def test_every_own_address_is_reached_from_its_interface():
    for address, interface in _route.addresses().items():
        assert _route.route_to(address).interface == interface


def test_the_other_side_sees_the_source_address():
    with socket.create_server(("", 0)) as server:
        for address in _route.addresses():
            with socket.create_connection((address, server.getsockname()[1])):
                connection, peer = server.accept()
                connection.close()
            assert peer[0] == _route.source_address(address)


def test_a_destination_without_a_route_is_an_error_of_the_system():
    with pytest.raises(OSError, match="Permission denied"):
        _route.route_to("255.255.255.255")  # a broadcast, which a plain socket may not send


def test_an_address_that_no_interface_has_is_an_error(monkeypatch):
    monkeypatch.setattr(_route, "addresses", lambda: {"192.0.2.1": "eth0"})
    with pytest.raises(OSError, match="^no interface has the address 127.0.0.1$"):
        _route.route_to("127.0.0.1")
