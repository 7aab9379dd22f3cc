# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The environment of verl: the locked packages, the CPU build of torch, switched as a whole."""

from __future__ import annotations

import re
from pathlib import Path

from packaging.markers import Marker

ROOT = Path(__file__).resolve().parents[3]


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def locked(name: str, interpreter: dict[str, str]) -> dict[str, str]:
    """Distribution to version, of a lock in the role, as far as it is meant for the interpreter."""
    text = (ROOT / "roles/verl_runtime/files/locks" / f"{name}.txt").read_text()
    pins = re.findall(r"^([\w.-]+)==(\S+)(?: ; (.+?))? \\$", text, re.M)
    return {canonical(n): version for n, version, marker in pins if not marker or Marker(marker).evaluate(interpreter)}


def test_current_leads_to_the_environment_of_the_verdict(host, prefix, verdict):
    current = host.file(f"{prefix}/env/current")
    assert current.is_symlink
    assert current.linked_to == verdict("runtime")["details"]["environment"]


def test_no_half_made_environment_is_left(host, prefix, verdict):
    made = verdict("runtime")["details"]["environment"].rpartition("/")[2]
    there = set(host.file(f"{prefix}/env").listdir())
    assert there >= {"current", made}
    assert [name for name in there if not host.file(f"{prefix}/env/{name}/rlops-runtime.json").exists] == []


def test_what_is_installed_is_what_is_locked(host, prefix, declared, python):
    interpreter, installed = python(
        "import json; from importlib.metadata import distributions; from packaging.markers import default_environment;"
        "print(json.dumps([default_environment(), {d.metadata['Name']: d.version for d in distributions()}]))"
    )
    installed = {canonical(name): version for name, version in installed.items()}
    wanted = locked("bootstrap", interpreter)
    wanted |= locked(f"{declared('verl_release')}-{declared('verl_accelerator')}", interpreter)
    assert len(wanted) > 50
    assert {name: installed.get(name) for name in wanted if installed.get(name) != wanted[name]} == {}
    # Beside the locks there are PyTorch and the collection's own packages, and nothing of CUDA.
    assert installed.keys() - wanted.keys() == {"torch", "rlops-verl-cpu"}


def test_torch_is_the_cpu_build(python):
    version, cuda, available = python(
        "import json, torch; print(json.dumps([torch.__version__, torch.version.cuda, torch.cuda.is_available()]))"
    )
    assert version.endswith("+cpu")
    assert cuda is None
    assert not available


def test_the_environment_has_the_size_of_a_cpu_environment(host, prefix):
    megabytes = int(host.check_output("du -smL %s", f"{prefix}/env/current").split()[0])
    assert 500 < megabytes < 4000
