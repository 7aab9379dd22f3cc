# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import pytest

from ansible_collections.rlops.verl.plugins.filter import node_environment

GPU = {"NUMEXPR_MAX_THREADS": "96", "GLOO_SOCKET_IFNAME": "ens5", "NCCL_SOCKET_IFNAME": "ens5"}


def test_the_example(example):
    assert example(node_environment) == {"msg": GPU}


@pytest.mark.parametrize("processors", [96, "96"])
def test_the_number_of_processors_may_be_text(processors):
    assert node_environment.node_environment({}, processors, "ens5", "cuda") == GPU


def test_each_option_arrives_under_its_name():
    assert node_environment.node_environment(
        {"vllm": "0.12.0"},
        processors=96,
        interface="ens5",
        accelerator="cuda",
        attention_backend="FLASHINFER",
        extra={"NCCL_SOCKET_IFNAME": None, "NCCL_IB_DISABLE": True},
    ) == {
        "NUMEXPR_MAX_THREADS": "96",
        "GLOO_SOCKET_IFNAME": "ens5",
        "VLLM_ATTENTION_BACKEND": "FLASHINFER",
        "NCCL_IB_DISABLE": "1",
    }
