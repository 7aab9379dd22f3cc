# Copyright: (c) 2026, rlops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What the tests know of the host: the declared variables and the verdicts of the stages."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture(scope="module")
def declared(host) -> Callable[[str], Any]:
    """The value that a variable of the inventory has on this host."""

    def value(name: str) -> Any:
        return host.ansible("ansible.builtin.debug", f"var={name}")[name]

    return value


@pytest.fixture(scope="module")
def prefix(declared) -> str:
    return declared("verl_prefix")


@pytest.fixture(scope="module")
def verdict(host, declared) -> Callable[[str], dict[str, Any]]:
    """The document that a stage left; the test fails where the stage did not pass."""
    state = declared("verl_state_dir")

    def read(stage: str) -> dict[str, Any]:
        document = json.loads(host.file(f"{state}/{stage}.json").content_string)
        assert document["ok"], document["checks"]
        return document

    return read


@pytest.fixture(scope="module")
def python(host, prefix) -> Callable[[str], Any]:
    """Run a program in the environment in use; what it prints as JSON on its last line."""

    def run(program: str) -> Any:
        done = host.run("HF_HUB_OFFLINE=1 %s -W ignore -c %s", f"{prefix}/env/current/bin/python", program)
        assert done.rc == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return run
