# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The gate: is the cluster that answers the one that was declared, whole?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.rlops.verl.plugins.module_utils._sizes import human
from ansible_collections.rlops.verl.plugins.module_utils._verdict import check

# Ray rounds sizes; a store that is a little smaller than asked for is the one that was asked for.
_STORE_TOLERANCE = 0.01


def cluster_checks(cluster: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Compare a cluster (from ray_cluster_info) with what was declared.

    ``wanted`` has ``ray_version``, ``session_name`` (of the head's own session; empty: not compared) and ``nodes``,
    inventory name to ``address``, ``slots`` and ``object_store_bytes``.
    """
    if not cluster["reachable"]:
        return [
            check(
                "cluster-reachable",
                False,
                cluster["problem"],
                "an answer of Ray's API",
                "Look at ray_node.log in ray_cluster_run_dir of the head, or at its unit rlops-ray, and run again.",
            )
        ]
    checks = [check("cluster-reachable", True, "the API answers")]
    checks.append(
        check(
            "ray-version",
            cluster["ray_version"] == wanted["ray_version"],
            cluster["ray_version"],
            wanted["ray_version"],
            "Restart Ray on the head from the current environment: run playbooks/cluster.yml.",
        )
    )
    if wanted.get("session_name"):
        checks.append(
            check(
                "same-cluster",
                cluster["session_name"] == wanted["session_name"],
                cluster["session_name"],
                f"{wanted['session_name']}, the session of this head",
                "Another Ray cluster listens on the declared ports. Change ray_cluster_ports, or stop that cluster.",
            )
        )
    alive = {node["address"]: node for node in cluster["nodes"] if node["alive"]}
    for name, declared in wanted["nodes"].items():
        checks.extend(_node_checks(name, declared, alive.get(declared["address"])))
    strangers = sorted(set(alive) - {declared["address"] for declared in wanted["nodes"].values()})
    checks.append(
        check(
            "no-other-node",
            not strangers,
            ", ".join(strangers) or "none",
            "no node that is not in the inventory",
            "Add it to the inventory, or stop Ray there.",
        )
    )
    return checks


def _node_checks(name: str, declared: Mapping[str, Any], node: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    address = declared["address"]
    if node is None:
        return [
            check(
                f"node {name}",
                False,
                f"not among the living nodes of the cluster ({address})",
                "alive",
                f"Look at the log of Ray on {name}, and run playbooks/cluster.yml again.",
            )
        ]
    store, wanted_store = node["object_store_bytes"], declared["object_store_bytes"]
    return [
        check(f"node {name}", True, f"alive at {address}"),
        check(
            f"slots of {name}",
            node["slots"] == declared["slots"],
            node["slots"],
            declared["slots"],
            f"Correct verl_slots_per_node for {name}, or run playbooks/cluster.yml so that Ray is restarted with it.",
        ),
        check(
            f"object store of {name}",
            abs(store - wanted_store) <= wanted_store * _STORE_TOLERANCE,
            human(store),
            human(wanted_store),
            f"Run playbooks/cluster.yml so that Ray is restarted on {name} with the declared object store.",
        ),
    ]
