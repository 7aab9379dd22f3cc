# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.rlops.verl.plugins.filter import ray_ports

WORKER = {
    "node_manager": 6380, "object_manager": 6381, "runtime_env_agent": 6382, "dashboard_agent_http": 52365,
    "dashboard_agent_grpc": 6383, "metrics_export": 6384,
}  # fmt: skip
HEAD = {
    **WORKER, "gcs": 6379, "dashboard": 8265, "client": 10001, "autoscaler_metrics": 6385, "dashboard_metrics": 6386,
}  # fmt: skip
ALL = {**HEAD, "worker_min": 10002, "worker_max": 19999}


def test_the_example_shows_the_ports_of_a_worker(example):
    assert example(ray_ports, ray_cluster_ports=ALL) == {"msg": WORKER}


@pytest.mark.parametrize(("head", "expected"), [(True, HEAD), (False, WORKER)])
def test_a_head_has_more_ports(head, expected):
    assert ray_ports.ray_ports(ALL, head=head) == expected


def test_ports_become_numbers():
    assert ray_ports.ray_ports({name: str(port) for name, port in ALL.items()}) == WORKER


def test_what_is_no_port_is_an_error_of_the_filter():
    with pytest.raises(AnsibleFilterError) as caught:
        ray_ports.ray_ports({**ALL, "gcs": "x"})
    assert caught.value.message == (
        "ray_cluster_ports.gcs: found 'x', wanted a number from 1024 to 65535. Change ray_cluster_ports."
    )
