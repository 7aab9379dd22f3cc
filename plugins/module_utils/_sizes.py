# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Sizes as people write them (``64G``, ``30%``) and as Ray takes them (bytes)."""

from __future__ import annotations

import re

_UNITS = {"": 1, "B": 1}
for _power, _letter in enumerate("KMGTP", start=1):
    # A bare letter and "GiB" are powers of 1024, as in the tools of memory and disk; "GB" is decimal, as SI says.
    _UNITS[_letter] = _UNITS[_letter + "IB"] = 1024**_power
    _UNITS[_letter + "B"] = 1000**_power

# More than any size has, and few enough for a float.
_MOST_DIGITS = 30
_FORM = re.compile(r"\s*([0-9]+(?:_[0-9]+)*(?:\.[0-9]+)?)\s*([A-Za-z%]*)\s*")


class SizeError(ValueError):
    """A size that cannot be used: which variable, what was found, what was wanted, what to do."""

    def __init__(self, name: str, found: str, wanted: str, remedy: str = ""):
        self.name, self.found, self.wanted = name, found, wanted
        self.remedy = remedy or f"Change {name}."
        super().__init__(f"{name}: found {found}, wanted {wanted}. {self.remedy}")


def size_bytes(value: object, total: int | None = None, name: str = "size") -> int:
    """Bytes of a size such as ``64G`` (GiB), ``64GB`` (decimal), ``1_000_000`` or ``30%`` of ``total`` bytes.

    Raises SizeError naming the variable ``name`` for anything else, zero and negative sizes included.
    """
    wanted = "a size such as 64G, 64GiB, 500MB or a number of bytes" + ("" if total is None else ", or 30% of RAM")
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise SizeError(name, repr(value), wanted)
    match = _FORM.fullmatch(str(value))
    if match is None or len(match[1]) > _MOST_DIGITS:
        raise SizeError(name, repr(value), wanted)
    number, unit = float(match[1].replace("_", "")), match[2].upper()
    if unit == "%":
        if total is None or not 0 < number <= 100:
            raise SizeError(name, repr(value), wanted)
        size = int(total * number / 100)
    elif unit not in _UNITS:
        raise SizeError(name, f"{value!r} with the unknown unit {match[2]!r}", wanted)
    else:
        # A float would lose digits of a large number of bytes.
        exact = unit == "" and "." not in match[1]
        size = int(match[1].replace("_", "")) if exact else int(number * _UNITS[unit])
    if size <= 0:
        raise SizeError(name, repr(value), f"{wanted}, larger than zero")
    return size


def human(size: int | float) -> str:
    """``68719476736`` as ``64.0 GiB``."""
    number = float(size)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(number) < 1024 or unit == "TiB":
            return f"{int(number)} B" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1024
    raise AssertionError("unreachable")


# Ray refuses a smaller object store (ray_constants.OBJECT_STORE_MINIMUM_MEMORY_BYTES).
SMALLEST_OBJECT_STORE = 78_643_200
# What a share of RAM may take of /dev/shm, which other programs use too.
SHM_SHARE = 0.95


def object_store_bytes(value: object, memory: int, shm: int, name: str = "ray_cluster_object_store") -> int:
    """Bytes of the object store on a host with ``memory`` bytes of RAM and ``shm`` bytes of /dev/shm.

    A share of RAM is bounded by /dev/shm, as Ray's own default is. A size that was asked for in so many bytes is not:
    one that does not fit is an error, since Ray would refuse it or put the store on disk. Memory may be less than
    /dev/shm in a container.
    """
    size = size_bytes(value, memory, name)
    if "%" in str(value):
        size = min(size, int(shm * SHM_SHARE))
    elif size > memory:
        raise SizeError(
            name,
            f"{value} ({human(size)})",
            f"at most the memory of this host, {human(memory)}",
            f"Change {name} to a smaller size or a share such as 30%.",
        )
    elif size > shm:
        raise SizeError(
            name,
            f"{value} ({human(size)})",
            f"at most the size of /dev/shm on this host, {human(shm)}",
            f"Change {name} to a smaller size or a share such as 30%, or enlarge /dev/shm.",
        )
    if size < SMALLEST_OBJECT_STORE:
        raise SizeError(
            name,
            f"{value}, which is {human(size)} on this host with {human(memory)} of RAM and {human(shm)} of /dev/shm",
            f"at least {human(SMALLEST_OBJECT_STORE)}",
            f"Change {name} to a larger size, or enlarge /dev/shm.",
        )
    return size
