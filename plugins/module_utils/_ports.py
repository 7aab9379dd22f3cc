# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The ports of a Ray node: one dictionary that the start command, preflight and the firewall read."""

from __future__ import annotations

from collections.abc import Mapping

NAMES = (
    "gcs",
    "dashboard",
    "client",
    "node_manager",
    "object_manager",
    "runtime_env_agent",
    "dashboard_agent_http",
    "dashboard_agent_grpc",
    "metrics_export",
    "autoscaler_metrics",
    "dashboard_metrics",
    "worker_min",
    "worker_max",
)


def problems(ports: Mapping[str, object], name: str = "ray_cluster_ports") -> list[str]:
    """What is wrong with a dictionary of ports: names, numbers, collisions, the range of the workers."""
    found = []
    for missing in [port for port in NAMES if port not in ports]:
        found.append(f"{name}.{missing}: found nothing, wanted a port number")
    for unknown in [str(port) for port in ports if port not in NAMES]:
        found.append(f"{name}.{unknown}: no such port, wanted one of {', '.join(NAMES)}")
    numbers: dict[str, int] = {}
    for port in NAMES:
        if port not in ports:
            continue
        value = ports[port]
        try:
            number = int(str(value))
        except ValueError:
            number = 0
        if isinstance(value, bool) or not 1024 <= number <= 65535:
            found.append(f"{name}.{port}: found {value!r}, wanted a number from 1024 to 65535")
        else:
            numbers[port] = number
    low, high = numbers.pop("worker_min", None), numbers.pop("worker_max", None)
    if low is not None and high is not None:
        if high - low < 100:
            found.append(
                f"{name}.worker_max: found {high}, wanted at least {low + 100}: each worker process takes ports of the "
                "range worker_min to worker_max"
            )
        for port, number in numbers.items():
            if low <= number <= high:
                found.append(
                    f"{name}.{port}: found {number} inside the workers' range {low}-{high}, wanted one outside"
                )
    by_number: dict[int, list[str]] = {}
    for port, number in numbers.items():
        by_number.setdefault(number, []).append(port)
    for number, names in by_number.items():
        if len(names) > 1:
            found.append(f"{name}: found {number} for {' and '.join(names)}, wanted another port for each")
    return found


def fixed(ports: Mapping[str, object], head: bool) -> dict[str, int]:
    """The ports that this kind of node listens on, without the workers' range. Raises ValueError with the problems."""
    wrong = problems(ports)
    if wrong:
        raise ValueError(f"{'; '.join(wrong)}. Change ray_cluster_ports.")
    of_the_head = ("gcs", "dashboard", "client", "autoscaler_metrics", "dashboard_metrics")
    return {
        name: int(str(ports[name]))
        for name in NAMES
        if not name.startswith("worker_") and (head or name not in of_the_head)
    }
