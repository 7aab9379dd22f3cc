# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from ansible_collections.rlops.verl.plugins.module_utils import _sizes
from ansible_collections.rlops.verl.plugins.module_utils._sizes import SizeError, human, object_store_bytes, size_bytes

GIB = 1024**3
UNITS = [("", 1), ("B", 1)]
for power, letter in enumerate("KMGTP", start=1):
    UNITS += [(letter, 1024**power), (f"{letter}iB", 1024**power), (f"{letter}B", 1000**power)]


@pytest.mark.parametrize(
    ("value", "size"),
    [
        (1, 1),
        (64.0, 64),
        ("64G", 64 * GIB),
        ("64GiB", 64 * GIB),
        ("64GB", 64 * 10**9),
        ("1.5k", 1536),
        (" 2 mib ", 2 * 1024**2),
        ("1_000_000", 10**6),
        ("1_024K", 1024**2),
        ("9007199254740993", 2**53 + 1),  # not a float
        ("30%", 30 * GIB),
        ("12.5 %", 12.5 * GIB),
        ("100%", 100 * GIB),
    ],
)
def test_sizes(value, size):
    assert size_bytes(value, 100 * GIB) == size


@pytest.mark.parametrize(
    "value", [None, True, [1], b"1G", "", "G", "-1G", "1e9", "1,5G", "G1", "1__0", "_1", "1 2", "٣"]
)
def test_what_is_no_size_is_refused(value):
    with pytest.raises(SizeError) as caught:
        size_bytes(value, name="my_size")
    assert str(caught.value) == (
        f"my_size: found {value!r}, wanted a size such as 64G, 64GiB, 500MB or a number of bytes. Change my_size."
    )


@pytest.mark.parametrize("value", [0, -1, "0", "0.0G", 0.5, "0.0001K", "0.000000000001%"])
def test_sizes_are_larger_than_zero(value):
    with pytest.raises(SizeError, match="^my_size: found .*, wanted a size such as .*Change my_size"):
        size_bytes(value, GIB, "my_size")


def test_an_unknown_unit_is_named():
    with pytest.raises(SizeError, match="^size: found '5 Gbit' with the unknown unit 'Gbit', wanted a size"):
        size_bytes("5 Gbit")


@pytest.mark.parametrize(("value", "total"), [("30%", None), ("0%", GIB), ("101%", GIB)])
def test_a_share_is_of_something_and_at_most_all(value, total):
    with pytest.raises(SizeError, match=f"found '{value}'"):
        size_bytes(value, total)


def test_shares_are_wanted_only_where_they_can_be():
    with pytest.raises(SizeError) as without:
        size_bytes("x")
    with pytest.raises(SizeError) as with_total:
        size_bytes("x", GIB)
    assert "30% of RAM" not in str(without.value)
    assert "30% of RAM" in str(with_total.value)


LIKE_SIZES = st.from_regex(r"\A\s?[0-9_]{1,6}(\.[0-9]{1,3})? ?([KMGTPkgXx]?i?[Bb]?|%)\Z")
ANYTHING = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.integers()) | LIKE_SIZES


@given(ANYTHING, st.none() | st.integers(1, 2**50))
@example("9" * 400 + "G", None)
@example("9" * 5000, None)
def test_any_value_is_a_size_or_an_error_that_names_the_variable(value, total):
    try:
        size = size_bytes(value, total, "my_size")
    except SizeError as error:
        assert error.name == "my_size"
        assert str(error) == f"my_size: found {error.found}, wanted {error.wanted}. {error.remedy}"
    else:
        assert isinstance(size, int) and not isinstance(size, bool)
        assert size > 0


@given(st.integers(1, 2**70))
def test_bytes_come_back(size):
    assert [size_bytes(form) for form in (size, str(size), f"{size:_}", f" {size} ")] == [size] * 4


@given(st.integers(1, 2**53), st.sampled_from(UNITS), st.sampled_from([str.upper, str.lower, str]))
def test_units_multiply(number, unit, case):
    name, factor = unit
    assume(factor % 1000 or number * factor <= 2**53)
    assert size_bytes(case(f"{number}{name}")) == number * factor


@given(st.integers(1, 10**6), st.integers(1, 10**6), st.sampled_from([name for name, _factor in UNITS[2:]]))
def test_a_larger_number_is_no_smaller_size(one, other, unit):
    small, large = sorted((one, other))
    assert size_bytes(f"{small / 100}{unit}") <= size_bytes(f"{large / 100}{unit}")


@given(st.integers(1, 2**46))
def test_a_share_of_all_is_all_and_half_is_half(total):
    assert size_bytes("100%", total) == total
    assert size_bytes("50%", total + 1) == (total + 1) // 2


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1536, "1.5 KiB"),
        (68719476736, "64.0 GiB"),
        (5000 * 1024**4, "5000.0 TiB"),
        (-2048, "-2.0 KiB"),
    ],
)
def test_sizes_for_people(size, text):
    assert human(size) == text


@given(st.integers(1, 2**60))
def test_what_people_read_is_the_size_to_a_digit(size):
    assert abs(size_bytes(human(size)) - size) <= size / 20


# --- the object store ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "memory", "shm", "size"),
    [
        ("30%", 100 * GIB, 100 * GIB, 30 * GIB),
        ("30%", 100 * GIB, 20 * GIB, 19 * GIB),  # /dev/shm is the bound, less a little
        ("20G", 100 * GIB, 20 * GIB, 20 * GIB),
        (78_643_200, GIB, GIB, _sizes.SMALLEST_OBJECT_STORE),
    ],
)
def test_object_stores(value, memory, shm, size):
    assert object_store_bytes(value, memory, shm) == size


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            "3G",
            "my_store: found 3G (3.0 GiB), wanted at most the size of /dev/shm on this host, 2.0 GiB. "
            "Change my_store to a smaller size or a share such as 30%, or enlarge /dev/shm.",
        ),
        (
            "1%",
            "my_store: found 1%, which is 41.0 MiB on this host with 4.0 GiB of RAM and 2.0 GiB of /dev/shm, "
            "wanted at least 75.0 MiB. Change my_store to a larger size, or enlarge /dev/shm.",
        ),
        (
            "5G",
            "my_store: found 5G (5.0 GiB), wanted at most the memory of this host, 4.0 GiB. "
            "Change my_store to a smaller size or a share such as 30%.",
        ),
        ("74M", "my_store: found 74M, which is 74.0 MiB on this host"),
        ("half", "my_store: found 'half', wanted a size"),
    ],
)
def test_object_stores_that_ray_would_refuse(value, message):
    with pytest.raises(SizeError) as caught:
        object_store_bytes(value, 4 * GIB, 2 * GIB, "my_store")
    assert str(caught.value).startswith(message)


def test_the_variable_of_the_role_is_named_by_default():
    with pytest.raises(SizeError, match="^ray_cluster_object_store: found .* Change ray_cluster_object_store to"):
        object_store_bytes("1G", GIB, 0)


@given(LIKE_SIZES, st.integers(1, 2**42), st.integers(0, 2**42))
def test_an_object_store_lies_between_rays_bounds(value, memory, shm):
    try:
        size = object_store_bytes(value, memory, shm, "my_store")
    except SizeError as error:
        assert error.name == "my_store"
    else:
        assert _sizes.SMALLEST_OBJECT_STORE <= size <= shm
