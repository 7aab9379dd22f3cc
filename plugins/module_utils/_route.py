# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Which own address and interface lead to another host: the kernel's answer, no command needed."""

from __future__ import annotations

import array
import fcntl
import socket
import struct
from dataclasses import dataclass

_SIOCGIFCONF = 0x8912
_RECORD = 40  # struct ifreq on 64-bit Linux: 16 bytes of name, then a sockaddr
_DISCARD_PORT = 9


@dataclass(frozen=True)
class Route:
    """``address`` of ours (IPv4) and the ``interface`` that has it."""

    address: str
    interface: str


def parse_ifconf(data: bytes) -> dict[str, str]:
    """IPv4 address to interface of an answer to SIOCGIFCONF. A label such as ``eth0:1`` belongs to ``eth0``."""
    found = {}
    for start in range(0, len(data) - _RECORD + 1, _RECORD):
        name = data[start : start + 16].split(b"\0", 1)[0].decode(errors="replace").partition(":")[0]
        found[socket.inet_ntoa(data[start + 20 : start + 24])] = name
    return found


def addresses() -> dict[str, str]:
    """IPv4 address to interface, of this host."""
    buffer = array.array("B", bytes(_RECORD * 1024))
    place, length = buffer.buffer_info()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        answer = fcntl.ioctl(any_socket.fileno(), _SIOCGIFCONF, struct.pack("iL", length, place))
    used: int = struct.unpack("iL", answer)[0]
    return parse_ifconf(buffer.tobytes()[:used])


def source_address(destination: str) -> str:
    """Own address that packets to the destination carry. Raises OSError where there is no route."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        any_socket.connect((destination, _DISCARD_PORT))  # a UDP socket sends nothing by connecting
        return str(any_socket.getsockname()[0])


def route_to(destination: str) -> Route:
    """Address and interface on the way to a host. Raises OSError with the reason where there is none."""
    address = source_address(destination)
    interface = addresses().get(address)
    if interface is None:
        raise OSError(f"no interface has the address {address}")
    return Route(address, interface)
