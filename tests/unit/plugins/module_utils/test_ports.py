# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.rlops.verl.plugins.module_utils import _ports

ROOT = Path(__file__).resolve().parents[4]
PORTS = yaml.safe_load((ROOT / "roles/ray_cluster/vars/main.yml").read_text(encoding="utf-8"))[
    "__ray_cluster_default_ports"
]


def test_the_defaults_of_the_role_have_no_problem():
    assert _ports.problems(PORTS) == []


def test_numbers_may_be_text():
    assert _ports.problems({name: str(port) for name, port in PORTS.items()}) == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"gcs": "six"}, "my_ports.gcs: found 'six', wanted a number from 1024 to 65535"),
        ({"gcs": None}, "my_ports.gcs: found None, wanted a number from 1024 to 65535"),
        ({"gcs": True}, "my_ports.gcs: found True, wanted a number from 1024 to 65535"),
        ({"gcs": 6379.5}, "my_ports.gcs: found 6379.5, wanted a number from 1024 to 65535"),
        ({"gcs": 1023}, "my_ports.gcs: found 1023, wanted a number from 1024 to 65535"),
        ({"worker_max": 65536}, "my_ports.worker_max: found 65536, wanted a number from 1024 to 65535"),
        ({"gsc": 6379}, f"my_ports.gsc: no such port, wanted one of {', '.join(_ports.NAMES)}"),
        ({8265: 8265}, f"my_ports.8265: no such port, wanted one of {', '.join(_ports.NAMES)}"),
        ({"client": 6379}, "my_ports: found 6379 for gcs and client, wanted another port for each"),
        (
            {"worker_max": 10101},
            "my_ports.worker_max: found 10101, wanted at least 10102: each worker process takes ports of the range "
            "worker_min to worker_max",
        ),
        ({"worker_max": 9000}, "my_ports.worker_max: found 9000, wanted at least 10102: each worker process takes"),
        ({"gcs": 10002}, "my_ports.gcs: found 10002 inside the workers' range 10002-19999, wanted one outside"),
        ({"gcs": "19999"}, "my_ports.gcs: found 19999 inside the workers' range 10002-19999, wanted one outside"),
    ],
)
def test_one_problem(change, problem):
    found = _ports.problems({**PORTS, **change}, "my_ports")
    assert len(found) == 1
    assert found[0].startswith(problem)


@pytest.mark.parametrize("change", [{"gcs": 1024}, {"gcs": 65535}, {"worker_max": 10102}, {"gcs": 20000}])
def test_ports_at_the_bounds(change):
    assert _ports.problems({**PORTS, **change}) == []


@pytest.mark.parametrize("name", _ports.NAMES)
def test_a_missing_port_is_named_with_the_variable_of_the_role(name):
    rest = {other: port for other, port in PORTS.items() if other != name}
    assert _ports.problems(rest) == [f"ray_cluster_ports.{name}: found nothing, wanted a port number"]


def test_all_problems_are_told_at_once():
    assert len(_ports.problems({})) == len(_ports.NAMES)
    three = _ports.problems({**PORTS, "gcs": 9, "metrics_export": 8265, "x": 1})
    assert len(three) == 3


PORT = st.integers(1020, 1030) | st.integers(1020, 1030).map(str) | st.none() | st.booleans() | st.text(max_size=3)


@given(st.dictionaries(st.sampled_from(_ports.NAMES), PORT))
def test_ports_without_problems_can_be_listened_on(changes):
    ports = {**PORTS, **changes}
    if not _ports.problems(ports):
        numbers = _ports.fixed(ports, head=True).values()
        assert len(set(numbers)) == len(numbers) == len(_ports.NAMES) - 2
        assert all(1024 <= number <= 65535 for number in numbers)
        assert not set(numbers) & set(range(int(ports["worker_min"]), int(ports["worker_max"]) + 1))


def test_ports_with_problems_cannot_be_listed():
    rest = {name: port for name, port in PORTS.items() if name != "client"}
    with pytest.raises(ValueError) as caught:
        _ports.fixed({**rest, "gcs": "x"}, head=False)
    assert str(caught.value) == (
        "ray_cluster_ports.client: found nothing, wanted a port number; "
        "ray_cluster_ports.gcs: found 'x', wanted a number from 1024 to 65535. Change ray_cluster_ports."
    )


def test_a_head_has_all_ports_and_a_worker_those_of_a_node():
    head = _ports.fixed(PORTS, head=True)
    assert head == {name: port for name, port in PORTS.items() if name not in ("worker_min", "worker_max")}
    assert set(_ports.fixed({**PORTS, "node_manager": "7000"}, head=False).items()) == {
        ("node_manager", 7000),
        ("object_manager", 6381),
        ("runtime_env_agent", 6382),
        ("dashboard_agent_http", 52365),
        ("dashboard_agent_grpc", 6383),
        ("metrics_export", 6384),
    }
