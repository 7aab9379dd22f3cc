# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.rlops.verl.plugins.filter import object_store_bytes

GIB = 1024**3


@pytest.mark.parametrize(("shm", "size"), [(64, 30 * GIB), (20, 19 * GIB)])
def test_the_example_is_a_share_of_the_memory_that_shm_bounds(example, shm, size):
    node = {"memory_bytes": 100 * GIB, "shm_bytes": shm * GIB}
    assert example(object_store_bytes, node=node) == {"msg": size}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            "64G",
            "ray_cluster_object_store: found 64G (64.0 GiB), wanted at most the size of /dev/shm on this host, "
            "32.0 GiB. Change ray_cluster_object_store to a smaller size or a share such as 30%, or enlarge /dev/shm.",
        ),
        (
            "64 bananas",
            "ray_cluster_object_store: found '64 bananas' with the unknown unit 'bananas', wanted a size such as 64G, "
            "64GiB, 500MB or a number of bytes, or 30% of RAM. Change ray_cluster_object_store.",
        ),
    ],
)
def test_a_size_that_cannot_be_is_an_error_of_the_filter(value, message):
    with pytest.raises(AnsibleFilterError) as caught:
        object_store_bytes.object_store_bytes(value, {"memory_bytes": 100 * GIB, "shm_bytes": 32 * GIB})
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("node", "missing"),
    [({}, "memory_bytes and shm_bytes"), ({"memory_bytes": GIB, "skipped": True}, "shm_bytes")],
)
def test_a_node_that_was_not_looked_at_is_an_error_of_the_filter(node, missing):
    with pytest.raises(AnsibleFilterError) as caught:
        object_store_bytes.object_store_bytes("30%", node)
    assert caught.value.message == (
        f"object_store_bytes: found a node without {missing}, wanted what rlops.verl.node_info returned. "
        "Give what was registered of it."
    )
