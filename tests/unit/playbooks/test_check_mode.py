# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The whole pipeline in check mode on a host that has nothing yet, run for real."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[3]


def free_ports() -> dict[str, int]:
    """Ports for Ray that nobody listens on now; those of the inventory may be in use by its cluster.

    Above the workers' range, which stays as it is.
    """
    names = yaml.safe_load((ROOT / "roles/ray_cluster/vars/main.yml").read_text())["__ray_cluster_default_ports"]
    sockets = {name: socket.socket() for name in names if not name.startswith("worker_")}
    for one in sockets.values():
        one.bind(("127.0.0.1", 0))
    ports = {name: one.getsockname()[1] for name, one in sockets.items()}
    for one in sockets.values():
        one.close()
    return ports


def test_it_shows_what_would_run_and_changes_nothing(tmp_path):
    # A short path, for Ray's sockets.
    prefix = f"/tmp/rlops-{os.getpid()}"
    declared = tmp_path / "declared.json"
    declared.write_text(json.dumps({"verl_prefix": prefix, "ray_cluster_ports": free_ports()}))
    command = [Path(sys.executable).with_name("ansible-playbook"), ROOT / "site.yml", "-i", ROOT / "inventories/local"]
    done = subprocess.run(
        [*command, "--check", "--diff", "-e", f"@{declared}"],
        cwd=ROOT,
        env=os.environ | {"ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    assert re.search(r"^\+ +trainer\.save_freq=2$", done.stdout, re.M)
    assert re.search(r"^\+status: submitted as tiny-arithmetic-[0-9a-f]{10}$", done.stdout, re.M)
    assert not Path(prefix).exists()
