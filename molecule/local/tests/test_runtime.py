# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The environment of verl: the locked packages, the CPU build of torch, switched as a whole."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def locked(release: str, accelerator: str) -> dict[str, str]:
    """Distribution to version, of the lock in the role."""
    lock = ROOT / "roles/verl_runtime/files/locks" / f"{release}-{accelerator}.txt"
    return {canonical(name): version for name, version in re.findall(r"^([\w.-]+)==(\S+)", lock.read_text(), re.M)}


def test_current_leads_to_the_environment_of_the_verdict(host, prefix, verdict):
    current = host.file(f"{prefix}/env/current")
    assert current.is_symlink
    assert current.linked_to == verdict("runtime")["details"]["environment"]


def test_no_half_made_environment_is_left(host, prefix, verdict):
    made = verdict("runtime")["details"]["environment"].rpartition("/")[2]
    assert set(host.file(f"{prefix}/env").listdir()) == {"current", made}


def test_what_is_installed_is_what_is_locked(host, prefix, declared, python):
    installed = python(
        "import json; from importlib.metadata import distributions;"
        "print(json.dumps({d.metadata['Name']: d.version for d in distributions()}))"
    )
    installed = {canonical(name): version for name, version in installed.items()}
    lock = locked(declared("verl_release"), declared("verl_accelerator"))
    assert len(lock) > 50
    wrong = {name: installed.get(name) for name, version in lock.items() if installed.get(name) not in (version, None)}
    assert wrong == {}
    assert {"torch", "ray", "verl", "transformers"} <= installed.keys()
    # Beside the lock there may be what torch and pip bring, but nothing of CUDA.
    assert [name for name in installed if name.startswith(("nvidia", "cuda", "triton"))] == []


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
