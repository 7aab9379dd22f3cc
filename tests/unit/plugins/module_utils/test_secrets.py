# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import pytest

from ansible_collections.rlops.verl.plugins.module_utils._secrets import (
    HIDDEN,
    hidden,
    hidden_runtime_env,
    is_secret,
    parted,
)


@pytest.mark.parametrize(
    "name",
    [
        "WANDB_API_KEY",
        "OPENAI_APIKEY",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_ACCESS_KEY_ID",
        "SSH_PRIVATE_KEY",
        "HF_TOKEN",
        "HF_TOKEN_READ",
        "hf_token",
        "TOKEN",
        "KEY",
        "CLIENT_SECRET",
        "DB_PASSWORD",
        "DB_PASSWD",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "REGISTRY_CREDENTIAL",
    ],
)
def test_names_of_secrets(name):
    assert is_secret(name)


@pytest.mark.parametrize(
    "name",
    [
        "HF_TOKEN_PATH",
        "AWS_SHARED_CREDENTIALS_FILE",
        "TOKENIZERS_PARALLELISM",
        "MAX_TOKENS",
        "KEYBOARD",
        "MONKEY",
        "SECRETARY",
        "PASSWORDLESS",
        "HF_HOME",
        "",
    ],
)
def test_names_that_look_like_it(name):
    assert not is_secret(name)


def test_only_values_of_secrets_are_hidden():
    assert hidden({"HF_TOKEN": "x", "HF_HOME": "/h", "A_KEY": None, 1: 2}) == {
        "HF_TOKEN": HIDDEN,
        "HF_HOME": "/h",
        "A_KEY": HIDDEN,
        1: 2,
    }


def test_a_runtime_environment_is_copied_without_its_secrets():
    runtime_env = {"env_vars": {"HF_TOKEN": "x", "A": "b"}, "working_dir": "/code"}
    shown = hidden_runtime_env(runtime_env)
    assert shown == {"env_vars": {"HF_TOKEN": HIDDEN, "A": "b"}, "working_dir": "/code"}
    assert runtime_env["env_vars"]["HF_TOKEN"] == "x"


@pytest.mark.parametrize("runtime_env", [{}, {"env_vars": None}, {"env_vars": "HF_TOKEN"}, {"excludes": []}])
def test_a_runtime_environment_without_variables_stays_as_it_is(runtime_env):
    assert hidden_runtime_env(runtime_env) == runtime_env


def test_secrets_are_parted_from_the_rest():
    assert parted({"A": 1, "HF_TOKEN": "x", 5: "y"}) == ({"A": 1, 5: "y"}, {"HF_TOKEN": "x"})
    assert parted({}) == ({}, {})
