# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import pytest

from ansible_collections.rlops.verl.tests.tools import make_lock

RESOLVED = """\
--index-url https://index.example/simple
numpy==2.2.6 ; python_full_version < '3.11' \\
    --hash=sha256:aa \\
    --hash=sha256:bb
    # via torch
nvidia-cublas==13.1.1.3 ; sys_platform == 'linux' \\
    --hash=sha256:cc
    # via torch
torch==2.13.0 \\
    --hash=sha256:dd
    # via -r some.in
torchdata==0.11.0 \\
    --hash=sha256:ee
    # via verl
"""


def test_entries_keep_a_package_with_its_hashes_and_comment():
    found = list(make_lock.entries(RESOLVED))
    assert [entry.name for entry in found] == ["numpy", "nvidia-cublas", "torch", "torchdata"]
    assert found[-1].text == "torchdata==0.11.0 \\\n    --hash=sha256:ee\n    # via verl\n"


def test_torch_and_cuda_and_every_index_are_left_out():
    lock = make_lock.locked(RESOLVED, "some.in", "Exact versions.")
    assert [entry.name for entry in make_lock.entries(lock)] == ["numpy", "torchdata"]
    assert lock.startswith("# Exact versions.\n# Made from some.in by `make lock`.\nnumpy==")
    assert "index" not in lock


def test_a_lock_made_from_a_lock_is_the_same():
    once = make_lock.locked(RESOLVED, "some.in", "Exact versions.")
    assert make_lock.locked(once, "some.in", "Exact versions.") == once


@pytest.mark.parametrize("name", ["torch", "triton", "nvidia-nccl-cu13", "cuda-bindings", "cuda-toolkit"])
def test_comes_apart(name):
    assert make_lock.APART.match(name)


@pytest.mark.parametrize("name", ["torchdata", "tensordict", "torchvision-not-asked-for", "tritonclient", "numpy"])
def test_does_not_come_apart(name):
    assert not make_lock.APART.match(name)
