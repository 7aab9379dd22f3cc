# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The cluster of one node: one Ray, on the declared ports and addresses, closed to everybody without the token."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def ray(host, prefix) -> dict[int, str]:
    """Pid to command line of this cluster: the processes that name its directory, and their descendants."""
    table = {}
    for line in host.check_output("ps -ww -eo pid=,ppid=,args=").splitlines():
        pid, parent, command = line.split(None, 2)
        table[int(pid)] = (int(parent), command)
    mine = {pid for pid, (_parent, command) in table.items() if f"{prefix}/run/ray" in command}
    while more := {pid for pid, (parent, _command) in table.items() if parent in mine} - mine:
        mine |= more
    return {pid: table[pid][1] for pid in mine}


@pytest.fixture(scope="module")
def sockets(host, ray) -> set[tuple[str, int]]:
    """Address and port of everything that this cluster listens on."""
    found = set()
    for line in host.check_output("ss -Hltnp").splitlines():
        owners = {int(pid) for pid in re.findall(r"pid=(\d+)", line)}
        if owners & ray.keys():
            address, _colon, port = line.split()[3].rpartition(":")
            found.add((address.strip("[]").removeprefix("::ffff:"), int(port)))
    assert found, "no listening socket of Ray is visible to this user"
    return found


@pytest.fixture(scope="module")
def ports() -> dict[str, int]:
    """The role's ports, which the inventory leaves as they are."""
    return yaml.safe_load((ROOT / "roles/ray_cluster/vars/main.yml").read_text())["__ray_cluster_default_ports"]


@pytest.mark.parametrize("program", ["gcs_server", "raylet"])
def test_it_runs_once(ray, program):
    assert len([command for command in ray.values() if command.split()[0].rpartition("/")[2] == program]) == 1


def test_what_a_job_writes_to_relative_paths_stays_below_the_prefix(host, ray, prefix):
    places = {host.run("readlink /proc/%s/cwd", str(pid)).stdout.strip() for pid in ray} - {""}
    assert places
    assert [place for place in places if not place.startswith(f"{prefix}/")] == []


def test_it_listens_on_declared_ports_alone(sockets, ports):
    fixed = {port for name, port in ports.items() if not name.startswith("worker_")}
    workers = range(ports["worker_min"], ports["worker_max"] + 1)
    undeclared = {port for _address, port in sockets if port not in fixed and port not in workers}
    assert undeclared == set()
    assert fixed - {port for _address, port in sockets} == set()


def test_dashboard_and_job_api_are_for_this_host_alone(sockets, ports):
    assert {address for address, port in sockets if port == ports["dashboard"]} == {"127.0.0.1"}


def test_the_token_is_readable_by_its_owner_alone(host, prefix):
    token = host.file(f"{prefix}/etc/ray_token")
    assert token.mode == 0o600
    assert re.fullmatch("[0-9a-f]{64}", token.content_string)
    assert token.user == host.user().name


def test_the_token_is_nowhere_else(host, prefix):
    """Neither on a command line nor in any file: logs, runs, verdicts."""
    token = host.file(f"{prefix}/etc/ray_token").content_string
    assert token not in host.check_output("ps -eo args")
    found = host.run("grep -rlFf %s --exclude-dir=env %s", f"{prefix}/etc/ray_token", prefix)
    assert found.stdout.split() == [f"{prefix}/etc/ray_token"]


@pytest.mark.parametrize("path", ["/api/version", "/api/jobs/", "/nodes?view=summary"])
def test_nothing_is_answered_without_the_token(host, prefix, verdict, path):
    url = verdict("cluster")["details"]["dashboard_url"] + path
    ask = "curl --silent --output /dev/null --write-out '%%{http_code}'"
    assert host.check_output(f"{ask} %s", url) == "401"
    assert host.check_output(f"{ask} --header 'Authorization: Bearer 0123' %s", url) in ("401", "403")
    with_token = f'{ask} --header "Authorization: Bearer $(cat %s)" %s'
    assert host.check_output(with_token, f"{prefix}/etc/ray_token", url) == "200"


@pytest.mark.parametrize("path, mode", [("run", 0o700), ("etc/cluster.env", 0o600)])
def test_modes(host, prefix, path, mode):
    assert host.file(f"{prefix}/{path}").mode == mode


def test_the_node_has_the_declared_slots_and_environment(host, prefix, declared, verdict):
    (node,) = verdict("cluster")["details"]["nodes"].values()
    assert node["slots"] == declared("verl_slots_per_node")
    lines = host.file(f"{prefix}/etc/cluster.env").content_string.splitlines()
    environment = dict(line.split("=", 1) for line in lines)
    interface = environment["GLOO_SOCKET_IFNAME"].strip('"')
    assert f'"{node["address"]}"' in host.check_output("ip -j address show %s", interface)
    assert environment["VERL_PLATFORM"] == declared("verl_accelerator")


def test_no_job_is_left_running(host, prefix, verdict):
    url = verdict("cluster")["details"]["dashboard_url"] + "/api/jobs/"
    command = 'curl --silent --header "Authorization: Bearer $(cat %s)" %s'
    jobs = json.loads(host.check_output(command, f"{prefix}/etc/ray_token", url))
    assert [job["status"] for job in jobs if job["status"] in ("PENDING", "RUNNING")] == []
